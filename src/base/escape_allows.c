/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sequences that a filtered terminal is told: see escape.h.
 *
 * A sequence is here because full-screen programs need it, and because no
 * terminal answers it, stores from it, or reads what follows differently after
 * it.  So a number, too, has to be one of a list where a list exists: the same
 * letter sets the cursor's shape and asks for the terminal's version.
 */
#include "escape.h"

#include "own.h"

struct control {
	char prefix, middle, final;	/* 0: none */
	struct sv numbers;
};

/* Those of which any numbers may pass. */
static const struct {
	char prefix, middle;
	const char *finals;
} controls[] = {
	/* cursor, erasing, scrolling, colours, tabs, margins */
	{ 0, 0, "@ABCDEFGHIJKLMPSTXZ`abdefgmrsu" },
	{ '?', 0, "JKW" },
	/* how keys are told; `? u` and `? m` would ask */
	{ '>', 0, "mu" },
	{ '<', 0, "u" },
	{ '=', 0, "u" },
	/* the cursor's shape, columns, soft reset, protection, rectangles */
	{ 0, ' ', "q@A" },
	{ 0, '!', "p" },
	{ 0, '"', "q" },
	{ 0, '\'', "}~" },
	{ 0, '$', "rtvxz{" },
	{ 0, '#', "pq{}" },
};

/* Insertion, line ends, the cursor. */
static const uint16_t modes[] = { 4, 20, 34 };

/*
 * Not here: 2 (the VT52, where sequences are others), 38 (Tektronix), 42
 * (national characters), 1001 (waits for an answer), 2031 and 2048 (answer).
 */
static const uint16_t private_modes[] = {
	1, 3, 4, 5, 6, 7, 8, 9, 12, 25, 40, 45, 47, 66, 67, 69, 95,
	1000, 1002, 1003, 1004, 1005, 1006, 1007, 1010, 1011, 1015, 1016,
	1034, 1035, 1036, 1039, 1047, 1048, 1049, 2004, 2026, 2027,
};

/* Those that may only be ended. */
static const uint16_t private_ends[] = { 1001, 2031, 2048 };

/* Colours: set, and set back. */
static const uint16_t colours[] = {
	4, 10, 11, 12, 17, 19, 104, 110, 111, 112, 117, 119,
};

static bool is_one_of(uint64_t v, const uint16_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == v)
			return true;
	return false;
}

static bool is_mode(uint64_t v, const struct control *c)
{
	if (!c->prefix)
		return is_one_of(v, modes, countof(modes));
	return is_one_of(v, private_modes, countof(private_modes)) ||
	       (c->final == 'l' &&
		is_one_of(v, private_ends, countof(private_ends)));
}

static bool all_are_modes(const struct control *c)
{
	struct sv numbers = c->numbers;

	for (;;) {
		size_t end = sv_find(numbers, ';');
		uint64_t v;

		if (!sv_to_u64(sv_head(numbers, end), UINT16_MAX, &v) ||
		    !is_mode(v, c))
			return false;
		if (end == numbers.n)
			return true;
		numbers = sv_from(numbers, end + 1);
	}
}

/* Behind ESC [.  False when it is not in the one order. */
static bool read_control(struct sv s, struct control *c)
{
	size_t i = 0;

	*c = (struct control){ 0 };
	if (s.n && s.p[0] >= '<' && s.p[0] <= '?')
		c->prefix = s.p[i++];
	c->numbers = sv_from(s, i);
	while (i < s.n && s.p[i] >= '0' && s.p[i] <= ';')
		i++;
	c->numbers = sv_head(c->numbers, i - (c->prefix != 0));
	if (i < s.n && s.p[i] >= ' ' && s.p[i] <= '/')
		c->middle = s.p[i++];
	if (i + 1 != s.n)
		return false;
	c->final = s.p[i];
	return c->final >= '@' && c->final <= '~';
}

static bool allows_control(struct sv s)
{
	struct control c;

	if (!read_control(s, &c))
		return false;
	for (size_t i = 0; i < countof(controls); i++)
		if (controls[i].prefix == c.prefix &&
		    controls[i].middle == c.middle &&
		    strchr(controls[i].finals, c.final))
			return true;
	if (c.middle)
		return false;
	if ((c.prefix == '?' && strchr("hlrs", c.final)) ||
	    (!c.prefix && strchr("hl", c.final)))
		return all_are_modes(&c);
	/* Of the window: only that a title is kept, and put back. */
	return !c.prefix && c.final == 't' &&
	       (sv_starts(c.numbers, SV("22;")) ||
		sv_starts(c.numbers, SV("23;")));
}

/* A link leads to the web: other schemes start programs, or open files. */
static bool allows_link(struct sv s)
{
	struct sv to = sv_from(s, sv_find(s, ';') + 1);

	return sv_find(s, ';') < s.n &&
	       (to.n == 0 || sv_eq_nocase(sv_head(to, 7), SV("http://")) ||
		sv_eq_nocase(sv_head(to, 8), SV("https://")));
}

/* 9;4 is a progress bar; other text behind the 9 is a notification. */
static bool allows_progress(struct sv s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_digit(s.p[i]) && s.p[i] != ';')
			return false;
	return sv_starts(s, SV("4;"));
}

/* A name or numbers, never a question; and nothing else: what is a colour's
 * number here was a menu's, with commands, elsewhere. */
static bool allows_colour(struct sv s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_alpha(s.p[i]) && !is_digit(s.p[i]) &&
		    !strchr("#:/;. ", s.p[i]))
			return false;
	return true;
}

/* Behind ESC ], without its end. */
static bool allows_string(struct sv s)
{
	size_t end = sv_find(s, ';');
	struct sv rest = sv_from(s, end + 1);
	uint64_t kind;

	if (!sv_to_u64(sv_head(s, end), UINT16_MAX, &kind))
		return false;
	if (kind == 8)
		return allows_link(rest);
	if (kind == 9)
		return allows_progress(rest);
	/* Only what sets back needs nothing behind it. */
	return is_one_of(kind, colours, countof(colours)) &&
	       (rest.n || kind > 100) && allows_colour(rest);
}

/* ESC and a letter; with something between, character sets and lines. */
static bool allows_short(struct sv s)
{
	if (s.n == 1)
		return strchr("78=>DEHMc", s.p[0]);
	if (s.n != 2)
		return false;
	switch (s.p[0]) {
	case '(': case ')': case '*': case '+':
		return strchr("0AB", s.p[1]);
	case '#':
		return strchr("34568", s.p[1]);
	case '%':
		/* UTF-8; the others would let bytes of characters be controls. */
		return s.p[1] == 'G';
	default:
		return false;
	}
}

bool escape_allows(struct sv sequence)
{
	struct sv s = sv_from(sequence, 1);

	if (sv_starts(s, SV("[")))
		return allows_control(sv_from(s, 1));
	if (!sv_starts(s, SV("]")))
		return allows_short(s);
	s = sv_from(s, 1);
	return allows_string(sv_head(s, s.n - (sv_ends(s, SV("\a")) ? 1 : 2)));
}
