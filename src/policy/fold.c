/* SPDX-License-Identifier: Apache-2.0 */
/* Names as other file systems know them: see fold.h. */
#include "fold.h"

#include "own.h"

/* Characters that another system does not see in a name: HFS+ some of those from
 * U+200B on, ext4 and f2fs, where they fold case, all that Unicode calls ignorable. */
static const struct { uint32_t first, last; } unseen[] = {
	{ 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f },
	{ 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

/* How many bytes of one are here. */
static size_t ignored(struct sv v)
{
	const unsigned char *p = (const unsigned char *)v.p;
	size_t n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t code = p[0] & (0xffU >> (n + 1));

	if (p[0] < 0xc0 || v.n < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	for (size_t i = 0; i < countof(unseen); i++)
		if (code >= unseen[i].first && code <= unseen[i].last)
			return n;
	return 0;
}

/* What ext4 and f2fs take for ASCII letters in a directory that folds case. */
static const struct { const char *from, *to; } foldings[] = {
	{ "\u017f", "s" }, { "\u212a", "k" }, { "\u00df", "ss" },
	{ "\u1e9e", "ss" }, { "\ufb00", "ff" }, { "\ufb01", "fi" },
	{ "\ufb02", "fl" }, { "\ufb03", "ffi" }, { "\ufb04", "ffl" },
	{ "\ufb05", "st" }, { "\ufb06", "st" },
};

/* The first character of *name, which becomes what is behind it. */
static struct sv fold_next(struct sv *name, char room[1])
{
	const bool ascii = !(name->p[0] & 0x80);
	size_t skip = ascii ? 0 : ignored(*name);

	for (size_t i = 0; !ascii && !skip && i < countof(foldings); i++) {
		struct sv from = sv_str(foldings[i].from);

		if (!sv_starts(*name, from))
			continue;
		*name = sv_from(*name, from.n);
		return sv_str(foldings[i].to);
	}
	room[0] = ascii_lower(name->p[0]);
	*name = sv_from(*name, skip ? skip : 1);
	return sv_of(room, skip ? 0 : 1);
}

struct sv fold_name(struct sv name, char ret[FOLD_MAX])
{
	size_t n = 0;

	while (name.n) {
		char room[1];
		struct sv one = fold_next(&name, room);

		if (n + one.n >= FOLD_MAX)
			break;
		for (size_t i = 0; i < one.n; i++)
			ret[n + i] = one.p[i];
		n += one.n;
	}
	/* FAT and NTFS drop what they cannot store at the end. */
	while (n > 1 && (ret[n - 1] == '.' || ret[n - 1] == ' '))
		n--;
	return sv_of(ret, n);
}
