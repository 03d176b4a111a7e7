/* SPDX-License-Identifier: Apache-2.0 */
/* Finding placeholders: see placeholder.h. */
#include "placeholder.h"

#include "base64.h"
#include "own.h"
#include "placeholder_core.h"
#include "spelling.h"

enum {
	MARK_MAX = sizeof(PLACEHOLDER_MARK) - 1,
	BASE64_MAX = (PLACEHOLDER_CORE_MAX + 2 + 2) / 3 * 4,
};
_Static_assert(BASE64_MAX < sizeof(((struct placeholder_scan *)0)->held),
	       "the longest form fits what is held back");

static const struct kind {
	struct sv mark;
	struct sv digits;	/* of which what follows is made */
	size_t n;		/* with the mark */
} kinds[] = {
	{ SV(PLACEHOLDER_MARK), SV("0123456789abcdef"),
	  sizeof(PLACEHOLDER_MARK) - 1 + PLACEHOLDER_DIGITS },
	{ SV(PLACEHOLDER_SHAPED_MARK), SV(PLACEHOLDER_ALPHABET),
	  sizeof(PLACEHOLDER_SHAPED_MARK) - 1 + PLACEHOLDER_LETTERS },
};

static bool is_digit_of(const struct kind *k, char c)
{
	return c && sv_find(k->digits, c) < k->digits.n;
}

static bool is_core(const struct kind *k, struct sv v)
{
	if (v.n != k->n || !sv_starts(v, k->mark))
		return false;
	for (size_t i = k->mark.n; i < v.n; i++)
		if (!is_digit_of(k, v.p[i]))
			return false;
	return true;
}

static void start_core(const struct kind *k, struct placeholder_core *ret)
{
	memcpy(ret->text, k->mark.p, k->mark.n);
	ret->n = (uint8_t)k->n;
}

/* At the start of in, in any spelling but base64. */
static bool spelled_at(const struct kind *k, struct sv in,
		       struct placeholder_core *ret)
{
	struct spelling mark = spelling_of(k->mark);
	size_t n, at;

	if (spelling_match(&mark, in, true, &at) != SPELLED_YES)
		return false;
	start_core(k, ret);
	for (size_t i = k->mark.n; i < k->n; i++) {
		size_t d = 0;

		for (; d < k->digits.n; d++) {
			struct spelling digit = spelling_of(
				sv_of(k->digits.p + d, 1));

			if (spelling_match(&digit, sv_from(in, at), true,
					   &n) == SPELLED_YES)
				break;
		}
		if (d == k->digits.n)
			return false;
		ret->text[i] = k->digits.p[d];
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
 * The random part, when base64 of the mark at that alignment was found at
 * the start of in.  Returns how far into in it reaches, or 0.
 */
static size_t base64_at(const struct kind *k, struct sv in, unsigned alignment,
			struct placeholder_core *ret)
{
	size_t start = (8 * alignment + 5) / 6;	/* the digit at in.p[0] */
	size_t end = (8 * (alignment + k->n) + 5) / 6;

	if (in.n < end - start)
		return 0;
	start_core(k, ret);
	/* The mark's last bits share a digit with what follows. */
	for (size_t i = k->mark.n - 1; i < k->n; i++) {
		size_t bit = 8 * (alignment + i) - 6 * start;
		int high = base64_digit(in.p[bit / 6]);
		int low = base64_digit(in.p[bit / 6 + 1]);
		char c;

		if (high < 0 || low < 0)
			return 0;
		c = (char)((high << 6 | low) >> (4 - bit % 6) & 0xff);
		if (i < k->mark.n ? c != k->mark.p[i] : !is_digit_of(k, c))
			return 0;
		ret->text[i] = c;
	}
	return end - start;
}

/* As it is, at the start of in. */
static size_t raw_at(const struct kind *k, struct sv in,
		     struct placeholder_core *ret)
{
	struct sv v = sv_head(in, k->n);

	if (!is_core(k, v))
		return 0;
	memcpy(ret->text, v.p, v.n);
	ret->n = (uint8_t)v.n;
	return v.n;
}

/* The first one in base64 at that alignment, or with 3 raw, that ends behind
 * `least` bytes of text. */
static bool find_form(const struct kind *k, unsigned form, struct sv text,
		      size_t least, struct placeholder_core *ret)
{
	char digits[4 * (MARK_MAX + 2) / 3];
	struct sv needle = k->mark;

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
		n = form < 3 ? base64_at(k, rest, form, ret)
			     : raw_at(k, rest, ret);
		if (n && at + n > least)
			return true;
	}
	return false;
}

static bool find_plain(bool shaped, struct sv text, size_t least,
		       struct placeholder_core *ret)
{
	for (size_t k = 0; k < (shaped ? countof(kinds) : 1); k++)
		for (unsigned form = 0; form < 4; form++)
			if (find_form(&kinds[k], form, text, least, ret))
				return true;
	return false;
}

bool placeholder_find(struct sv text, struct placeholder_core *ret)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c != 's' && c != 'S' && c != '%' && c != '\\' && c != '&')
			continue;
		for (size_t k = 0; k < countof(kinds); k++)
			if (spelled_at(&kinds[k], sv_from(text, i), ret))
				return true;
	}
	return find_plain(true, text, 0, ret);
}

bool placeholder_is_in(struct sv text, struct sv core)
{
	char digits[4 * (PLACEHOLDER_CORE_MAX + 2) / 3];
	struct spelling form = spelling_of(core);
	size_t n;

	/* As it is, then in base64 at the three alignments. */
	for (unsigned k = 0; k < 4; k++) {
		for (size_t i = 0; i < text.n; i++)
			if (spelling_match(&form, sv_from(text, i), true,
					   &n) == SPELLED_YES)
				return true;
		n = k < 3 ? spelling_base64(core, k, digits) : 0;
		form = spelling_of(sv_of(digits, n));
		form.url64 = true;
	}
	return false;
}

bool placeholder_scan(struct placeholder_scan *s, bool shaped, struct sv piece,
		      struct placeholder_core *ret)
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
	found = find_plain(shaped, sv_of(seam, n), s->n, ret);
	if (!found && piece.n)
		found = find_plain(shaped, piece, 0, ret);
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
