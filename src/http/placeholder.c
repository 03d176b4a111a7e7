/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholders: see placeholder.h. */
#include "placeholder.h"

#include "base64.h"
#include "spelling.h"

enum {
	PREFIX_SIZE = sizeof(PLACEHOLDER_PREFIX) - 1,
	BASE64_MAX = (PLACEHOLDER_SIZE + 2 + 2) / 3 * 4,
};
_Static_assert(BASE64_MAX < sizeof(((struct placeholder_scan *)0)->held),
	       "the longest form fits what is held back");

static const char hex[] = "0123456789abcdef";

void placeholder_make(const uint8_t random[PLACEHOLDER_RANDOM],
		      char out[PLACEHOLDER_SIZE])
{
	memcpy(out, PLACEHOLDER_PREFIX, PREFIX_SIZE);
	for (size_t i = 0; i < PLACEHOLDER_RANDOM; i++) {
		out[PREFIX_SIZE + 2 * i] = hex[random[i] >> 4];
		out[PREFIX_SIZE + 2 * i + 1] = hex[random[i] & 15];
	}
}

static bool is_lower_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

bool placeholder_is(struct sv v)
{
	if (v.n != PLACEHOLDER_SIZE || !sv_starts(v, SV(PLACEHOLDER_PREFIX)))
		return false;
	for (size_t i = PREFIX_SIZE; i < v.n; i++)
		if (!is_lower_hex(v.p[i]))
			return false;
	return true;
}

/* At the start of in, in any spelling but base64. */
static bool spelled_at(struct sv in, char out[PLACEHOLDER_SIZE])
{
	struct spelling prefix = spelling_of(SV(PLACEHOLDER_PREFIX));
	size_t n, at;

	if (spelling_match(&prefix, in, true, &at) != SPELLED_YES)
		return false;
	memcpy(out, PLACEHOLDER_PREFIX, PREFIX_SIZE);
	for (size_t i = PREFIX_SIZE; i < PLACEHOLDER_SIZE; i++) {
		size_t k = 0;

		for (; k < 16; k++) {
			struct spelling digit = spelling_of(sv_of(hex + k, 1));

			if (spelling_match(&digit, sv_from(in, at), true,
					   &n) == SPELLED_YES)
				break;
		}
		if (k == 16)
			return false;
		out[i] = hex[k];
		at += n;
	}
	return true;
}

/* Of either alphabet: a placeholder is looked for, not decoded for use. */
static int base64_digit(char c)
{
	return base64_value(c == '-' ? '+' : c == '_' ? '/' : c);
}

/*
 * The random part, when base64 of the prefix at that alignment was found at
 * the start of in.  Returns how far into in it reaches, or 0.
 */
static size_t base64_at(struct sv in, unsigned alignment,
			char out[PLACEHOLDER_SIZE])
{
	size_t start = (8 * alignment + 5) / 6;	/* the digit at in.p[0] */
	size_t end = (8 * (alignment + PLACEHOLDER_SIZE) + 5) / 6;

	if (in.n < end - start)
		return 0;
	memcpy(out, PLACEHOLDER_PREFIX, PREFIX_SIZE);
	/* The prefix's last bits share a digit with what follows. */
	for (size_t i = PREFIX_SIZE - 1; i < PLACEHOLDER_SIZE; i++) {
		size_t bit = 8 * (alignment + i) - 6 * start;
		int high = base64_digit(in.p[bit / 6]);
		int low = base64_digit(in.p[bit / 6 + 1]);

		if (high < 0 || low < 0)
			return 0;
		out[i] = (char)((high << 6 | low) >> (4 - bit % 6) & 0xff);
		if (i < PREFIX_SIZE ? out[i] != PLACEHOLDER_PREFIX[i] :
				      !is_lower_hex(out[i]))
			return 0;
	}
	return end - start;
}

/* The first one in base64 or raw that ends behind `least` bytes of text. */
static bool find_plain(struct sv text, size_t least,
		       char out[PLACEHOLDER_SIZE])
{
	for (unsigned form = 0; form < 4; form++) {
		char digits[4 * (PREFIX_SIZE + 2) / 3];
		struct sv needle = SV(PLACEHOLDER_PREFIX);

		if (form < 3) {
			needle.n = spelling_base64(needle, form, digits);
			needle.p = digits;
		}
		for (size_t at = 0; text.n - at >= needle.n; at++) {
			struct sv rest = sv_of(text.p + at, text.n - at);
			size_t hit = sv_find_sv(rest, needle), n;

			if (hit == rest.n)
				break;
			at += hit;
			rest = sv_from(rest, hit);
			if (form == 3)
				n = placeholder_is(sv_head(rest,
							   PLACEHOLDER_SIZE))
					    ? PLACEHOLDER_SIZE : 0;
			else
				n = base64_at(rest, form, out);
			if (n == 0 || at + n <= least)
				continue;
			if (form == 3)
				memcpy(out, rest.p, PLACEHOLDER_SIZE);
			return true;
		}
	}
	return false;
}

bool placeholder_find(struct sv text, char out[PLACEHOLDER_SIZE])
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if ((c == 's' || c == '%' || c == '\\' || c == '&') &&
		    spelled_at(sv_of(text.p + i, text.n - i), out))
			return true;
	}
	return find_plain(text, 0, out);
}

bool placeholder_is_in(struct sv text, struct sv placeholder)
{
	char digits[4 * (PLACEHOLDER_SIZE + 2) / 3];
	struct spelling form = spelling_of(placeholder);
	size_t n;

	/* As it is, then in base64 at the three alignments. */
	for (unsigned k = 0; k < 4; k++) {
		for (size_t i = 0; i < text.n; i++)
			if (spelling_match(&form, sv_from(text, i), true,
					   &n) == SPELLED_YES)
				return true;
		n = k < 3 ? spelling_base64(placeholder, k, digits) : 0;
		form = spelling_of(sv_of(digits, n));
		form.url64 = true;
	}
	return false;
}

bool placeholder_scan(struct placeholder_scan *s, struct sv piece,
		      char out[PLACEHOLDER_SIZE])
{
	enum { HOLD = BASE64_MAX };
	char seam[2 * HOLD];
	size_t head = piece.n < HOLD ? piece.n : HOLD;
	size_t n, keep;
	bool found;

	memcpy(seam, s->held, s->n);
	if (head)
		memcpy(seam + s->n, piece.p, head);
	n = s->n + head;
	found = find_plain(sv_of(seam, n), s->n, out);
	if (!found && piece.n)
		found = find_plain(piece, 0, out);
	if (piece.n >= HOLD) {
		memcpy(s->held, piece.p + piece.n - HOLD, HOLD);
		s->n = HOLD;
		return found;
	}
	keep = n < HOLD ? n : HOLD;
	memcpy(s->held, seam + n - keep, keep);
	s->n = keep;
	return found;
}
