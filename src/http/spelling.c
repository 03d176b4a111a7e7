/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spellings of one text: see spelling.h.
 *
 * At each character the input is read in one way only, so a match is linear.
 * That needs care with a text that itself has '%', '\' or '&': where escapes
 * are expected those must be escaped too, where they are not they stand for
 * themselves.  Such a text is tried once for each set of escapes; any other
 * text once, with all of them.
 */
#include "spelling.h"

enum { PERCENT = 1, JSON = 2, HTML = 4, ALL = PERCENT | JSON | HTML };

static bool is_same(const struct spelling *s, char want, int got)
{
	if ((uint8_t)want == got)
		return true;
	if (s->fold && got >= 0 && got < 0x80 &&
	    ascii_lower(want) == ascii_lower((char)got))
		return true;
	return s->url64 && ((want == '+' && got == '-') ||
			    (want == '/' && got == '_'));
}

/* n hexadecimal digits at v, or -1. */
static int hex_digits(struct sv v, size_t n)
{
	int value = 0;

	if (v.n < n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int digit = hex_value(v.p[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static enum spelled yes(size_t n, size_t *len)
{
	*len = n;
	return SPELLED_YES;
}

/* %XX, and %25XX of who encodes twice. */
static enum spelled percent_match(const struct spelling *s, char want,
				  struct sv in, size_t *len)
{
	int byte = hex_digits(sv_from(in, 1), 2);

	if (in.n == 2 && hex_value(in.p[1]) < 0)
		return SPELLED_NO;
	if (in.n < 3)
		return SPELLED_PART;
	if (is_same(s, want, byte))
		return yes(3, len);
	if (byte != '%')
		return SPELLED_NO;
	if (in.n < 5)
		return SPELLED_PART;
	return is_same(s, want, hex_digits(sv_from(in, 3), 2)) ? yes(5, len)
							       : SPELLED_NO;
}

/* \u00XX, \xXX, a backslash before punctuation; with one more backslash for
 * JSON inside of JSON. */
static enum spelled json_match(const struct spelling *s, char want,
			       struct sv in, size_t *len)
{
	size_t i = 1, digits;

	if (in.n > 1 && in.p[1] == '\\' && want != '\\')
		i = 2;
	if (in.n <= i)
		return SPELLED_PART;
	if (in.p[i] != 'u' && in.p[i] != 'x') {
		if (is_alpha(want) || is_digit(want))
			return SPELLED_NO;
		return is_same(s, want, (uint8_t)in.p[i]) ? yes(i + 1, len)
							  : SPELLED_NO;
	}
	digits = in.p[i] == 'u' ? 4 : 2;
	if (in.n < i + 1 + digits)
		return SPELLED_PART;
	return is_same(s, want, hex_digits(sv_from(in, i + 1), digits))
		       ? yes(i + 1 + digits, len) : SPELLED_NO;
}

/* The character that an HTML entity (without '&' and ';') names, or -1. */
static int entity(struct sv name)
{
	static const struct {
		struct sv name;
		char c;
	} entities[] = {
		{ SV("amp"), '&' }, { SV("lt"), '<' }, { SV("gt"), '>' },
		{ SV("quot"), '"' }, { SV("apos"), '\'' },
	};
	int value = 0;

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (sv_eq(name, entities[i].name))
			return entities[i].c;
	if (name.n < 2 || name.p[0] != '#')
		return -1;
	if (name.p[1] == 'x' || name.p[1] == 'X')
		return hex_digits(sv_from(name, 2), name.n - 2);
	for (size_t i = 1; i < name.n; i++) {
		if (!is_digit(name.p[i]))
			return -1;
		value = value * 10 + (name.p[i] - '0');
	}
	return value;
}

static enum spelled html_match(const struct spelling *s, char want,
			       struct sv in, size_t *len)
{
	struct sv head = sv_head(in, SPELLING_MAX);
	size_t end = sv_find(head, ';');

	if (in.n > 1 && !(in.p[1] && strchr("#algq", in.p[1])))
		return SPELLED_NO;
	if (end == head.n)
		return in.n < SPELLING_MAX ? SPELLED_PART : SPELLED_NO;
	return is_same(s, want, entity(sv_of(in.p + 1, end - 1)))
		       ? yes(end + 1, len) : SPELLED_NO;
}

static enum spelled char_match(const struct spelling *s, char want,
			       struct sv in, int escapes, size_t *len)
{
	if (in.n == 0)
		return SPELLED_PART;
	if (in.p[0] == '%' && (escapes & PERCENT))
		return percent_match(s, want, in, len);
	if (in.p[0] == '\\' && (escapes & JSON))
		return json_match(s, want, in, len);
	if (in.p[0] == '&' && (escapes & HTML))
		return html_match(s, want, in, len);
	return is_same(s, want, (uint8_t)in.p[0]) ? yes(1, len) : SPELLED_NO;
}

/* The end of a line, if there is one at the front of in. */
static enum spelled break_match(struct sv in, size_t *len)
{
	static const struct sv breaks[] = { SV("\n"), SV("\r\n"), SV("\\n"),
					    SV("\\r\\n") };
	enum spelled r = SPELLED_NO;

	for (size_t i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		if (sv_starts(in, breaks[i]))
			return yes(breaks[i].n, len);
		if (sv_starts(breaks[i], in))
			r = SPELLED_PART;
	}
	return r;
}

static enum spelled text_match(const struct spelling *s, struct sv in,
			       int escapes, bool final, size_t *len)
{
	size_t at = 0, n;

	for (size_t i = 0; i < s->text.n; i++) {
		struct sv rest = sv_of(in.p + at, in.n - at);
		enum spelled r = SPELLED_NO;

		if (s->url64 && i > 0)
			r = break_match(rest, &n);
		if (r == SPELLED_YES) {
			at += n;
			rest = sv_from(rest, n);
		}
		if (r != SPELLED_PART)
			r = char_match(s, s->text.p[i], rest, escapes, &n);
		if (r != SPELLED_YES)
			return final ? SPELLED_NO : r;
		at += n;
	}
	return yes(at, len);
}

struct spelling spelling_of(struct sv text)
{
	return (struct spelling){
		.text = text,
		.special = sv_find(text, '%') < text.n ||
			   sv_find(text, '\\') < text.n ||
			   sv_find(text, '&') < text.n,
	};
}

enum spelled spelling_match(const struct spelling *s, struct sv in, bool final,
			    size_t *len)
{
	enum spelled best = text_match(s, in, ALL, final, len);

	if (best == SPELLED_PART || !s->special)
		return best;
	for (int escapes = 0; escapes < ALL; escapes++) {
		size_t n;
		enum spelled r = text_match(s, in, escapes, final, &n);

		if (r == SPELLED_PART)
			return r;
		if (r == SPELLED_YES && (best == SPELLED_NO || n > *len)) {
			best = SPELLED_YES;
			*len = n;
		}
	}
	return best;
}

/* The bytes that may stand for c when it is not escaped. */
static size_t variants(const struct spelling *s, char c, char ret[2])
{
	ret[0] = c;
	if (s->fold && is_alpha(c)) {
		ret[1] = (char)(c ^ 0x20);
		return 2;
	}
	ret[1] = c == '+' ? '-' : '_';
	return s->url64 && (c == '+' || c == '/') ? 2 : 1;
}

size_t spelling_openings(const struct spelling *s,
			 char ret[SPELLING_OPENINGS][2])
{
	static const char introducers[] = "%\\&", behind_json[] = "ux\\",
			  behind_html[] = "#algq", hex[] = "0123456789abcdef";
	char first[2], second[2];
	size_t n_first = variants(s, s->text.p[0], first);
	size_t n_second = variants(s, s->text.p[1], second);
	size_t n = 0;

#define OPENING(a, b) (ret[n][0] = (a), ret[n][1] = (b), n++)
	for (size_t i = 0; i < n_first; i++) {
		char high = hex[(uint8_t)first[i] >> 4];

		for (size_t k = 0; k < n_second; k++)
			OPENING(first[i], second[k]);
		for (size_t k = 0; k < sizeof(introducers) - 1; k++)
			OPENING(first[i], introducers[k]);
		if (s->url64) {
			OPENING(first[i], '\n');
			OPENING(first[i], '\r');
		}
		OPENING('%', high);
		/* A digit stays what it is. */
		OPENING('%', (char)(high & ~0x20) < 'A' ? high
							: (char)(high & ~0x20));
		OPENING('\\', first[i]);
	}
	OPENING('%', '2');	/* encoded twice */
	for (size_t k = 0; k < sizeof(behind_json) - 1; k++)
		OPENING('\\', behind_json[k]);
	for (size_t k = 0; k < sizeof(behind_html) - 1; k++)
		OPENING('&', behind_html[k]);
#undef OPENING
	return n;
}

size_t spelling_base64(struct sv v, unsigned alignment, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789+/";
	/* In bits of the longer text: v is [8k, 8k + 8n). */
	size_t first = (8 * alignment + 5) / 6;
	size_t last = 8 * (alignment + v.n) / 6;
	size_t n = 0;

	for (size_t digit = first; digit < last; digit++) {
		size_t bit = 6 * digit - 8 * alignment;
		uint8_t high = (uint8_t)v.p[bit / 8];
		uint8_t low = bit / 8 + 1 < v.n ? (uint8_t)v.p[bit / 8 + 1] : 0;
		unsigned both = (unsigned)high << 8 | low;

		out[n++] = digits[both >> (10 - bit % 8) & 63];
	}
	return n;
}
