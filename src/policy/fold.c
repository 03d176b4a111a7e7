/* SPDX-License-Identifier: Apache-2.0 */
/* Names as other file systems know them: see fold.h. */
#include "fold.h"

#include "own.h"

/* Characters that HFS+ does not see in a name (U+200B..200F, 202A..202E,
 * 2060..206F, FEFF): how many bytes of one are here. */
static size_t ignored(struct sv v)
{
	const unsigned char *p = (const unsigned char *)v.p;

	if (v.n < 3)
		return 0;
	if (p[0] == 0xe2 && p[1] == 0x80 &&
	    ((p[2] >= 0x8b && p[2] <= 0x8f) || (p[2] >= 0xaa && p[2] <= 0xae)))
		return 3;
	if (p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa0 && p[2] <= 0xaf)
		return 3;
	return p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf ? 3 : 0;
}

/* What ext4 and f2fs take for ASCII letters in a directory that folds case. */
static const struct { const char *from, *to; } foldings[] = {
	{ "\u017f", "s" }, { "\u212a", "k" }, { "\u00df", "ss" },
	{ "\u1e9e", "ss" }, { "\ufb00", "ff" }, { "\ufb01", "fi" },
	{ "\ufb02", "fl" }, { "\ufb03", "ffi" }, { "\ufb04", "ffl" },
	{ "\ufb05", "st" }, { "\ufb06", "st" },
	/* ... and for nothing */
	{ "\u00ad", "" }, { "\u034f", "" }, { "\ufe0f", "" },
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
