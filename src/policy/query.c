/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries in rules: see query.h.
 *
 * Keys are compared in two ways.  Exactly, byte for byte as they are written:
 * only such a key is the rule's own.  And loosely, as the most forgiving of
 * programs would take them: whatever is loosely a key of the rule, and not
 * exactly, makes a query ambiguous for what permits, and is that key for what
 * restricts.
 */
#include "query.h"

#include "buf.h"

enum {
	END = -1,
	/* Bytes that some programs take for others when they are not encoded:
	 * a space, and a separator. */
	PLUS = 256, SEMICOLON,
};

struct pair {
	struct sv key, value;
	bool has_value;		/* there is a `=` */
};

static struct pair pair_of(struct sv piece)
{
	size_t at = sv_find(piece, '=');

	return (struct pair){
		.key = sv_head(piece, at), .value = sv_from(piece, at + 1),
		.has_value = at < piece.n,
	};
}

static struct pair next_pair(struct sv *rest)
{
	return pair_of(sv_cut(rest, '&'));
}

/* Without the `*` for others at its end; was there one? */
static bool cut_others(struct sv *pattern)
{
	if (!sv_eq(*pattern, SV("*")) && !sv_ends(*pattern, SV("&*")))
		return false;
	*pattern = sv_head(*pattern, pattern->n > 1 ? pattern->n - 2 : 0);
	return true;
}

static bool has_empty_pair(struct sv query)
{
	return query.n && (query.p[0] == '&' || sv_ends(query, SV("&")) ||
			   sv_find_sv(query, SV("&&")) < query.n);
}

/* The byte of the escape at v, or -1. */
static int escape_value(struct sv v)
{
	int high = v.n < 3 || v.p[0] != '%' ? -1 : hex_value(v.p[1]);
	int low = high < 0 ? -1 : hex_value(v.p[2]);

	return low < 0 ? -1 : high << 4 | low;
}

/* The byte at *i, decoded, and *i behind it. */
static int next_byte(struct sv v, size_t *i)
{
	int byte = escape_value(sv_from(v, *i));

	if (byte >= 0) {
		*i += 3;
		return byte;
	}
	byte = (unsigned char)v.p[(*i)++];
	return byte == '+' ? PLUS : byte == ';' ? SEMICOLON : byte;
}

/* What is behind a decoded `%` may be the digits of an escape once more. */
static int decode_again(struct sv v, size_t *i)
{
	size_t behind = *i;
	int digits[2];

	for (size_t k = 0; k < 2; k++) {
		int byte = behind < v.n ? next_byte(v, &behind) : END;

		digits[k] = byte < 0 || byte > 0x7f ? -1 :
						      hex_value((char)byte);
		if (digits[k] < 0)
			return '%';
	}
	*i = behind;
	return digits[0] << 4 | digits[1];
}

/* The next byte of a key as PHP, ASP.NET and others take it, which also decode
 * twice, end it at a bracket or a NUL, have an underscore for what no variable
 * has in its name, and do not tell capitals from small letters. */
static int next_loose(struct sv key, size_t *i)
{
	int byte;

	if (*i == key.n)
		return END;
	byte = next_byte(key, i);
	if (byte == '%')
		byte = decode_again(key, i);
	if (byte == '[' || byte == '\0') {
		*i = key.n;
		return END;
	}
	if (byte == '.' || byte == ' ' || byte == PLUS)
		return '_';
	if (byte == SEMICOLON)
		return ';';
	return byte < 0x80 ? ascii_lower((char)byte) : byte;
}

/* Spaces in front are nothing. */
static size_t loose_start(struct sv key)
{
	size_t start = 0, i = 0;

	while (i < key.n) {
		int byte = next_byte(key, &i);

		if (byte != ' ' && byte != PLUS)
			break;
		start = i;
	}
	return start;
}

static bool is_loosely(struct sv a, struct sv b)
{
	size_t i = loose_start(a), j = loose_start(b);

	for (;;) {
		int byte = next_loose(a, &i);

		if (byte != next_loose(b, &j))
			return false;
		if (byte == END)
			return true;
	}
}

/* Equal for keys that are loosely the same: keys are compared by it where each is
 * with each, so that a hostile query costs no more time than it is long. */
static uint64_t loose_hash(struct sv key)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	size_t i = loose_start(key);
	int byte;

	while ((byte = next_loose(key, &i)) != END)
		hash = (hash ^ (uint64_t)byte) * UINT64_C(0x100000001b3);
	return hash;
}

static bool has_bracket(struct sv key)
{
	for (size_t i = 0; i < key.n;)
		if (next_byte(key, &i) == '[')
			return true;
	return false;
}

static bool is_same(int want, int got, bool loose)
{
	if (want == got)
		return true;
	if (!loose)
		return false;
	if (want == PLUS || got == PLUS)
		return (want == PLUS || want == ' ' || want == '+') &&
		       (got == PLUS || got == ' ' || got == '+');
	return (want == SEMICOLON && got == ';') ||
	       (want == ';' && got == SEMICOLON);
}

/*
 * `*` is any bytes.  When a later byte does not fit, only the last `*` need be
 * tried again one byte further: an earlier one could gain nothing.  Unless
 * loose, it is no separator: what is behind one may be a pair of its own.
 */
static bool match_value(struct sv pattern, struct sv value, bool loose)
{
	size_t i = 0, j = 0;
	size_t star = pattern.n, from = 0;

	while (j < value.n) {
		size_t behind_i = i, behind_j = j;

		if (i < pattern.n && pattern.p[i] == '*') {
			star = i++;
			from = j;
		} else if (i < pattern.n &&
			   is_same(next_byte(pattern, &behind_i),
				   next_byte(value, &behind_j), loose)) {
			i = behind_i;
			j = behind_j;
		} else if (star < pattern.n) {
			if (next_byte(value, &from) == SEMICOLON && !loose)
				return false;
			i = star + 1;
			j = from;
		} else {
			return false;
		}
	}
	while (i < pattern.n && pattern.p[i] == '*')
		i++;
	return i == pattern.n;
}

/* The pattern's pair of that key, as it is written. */
static bool find_exact(struct sv pattern, struct sv key, struct pair *ret)
{
	while (pattern.n) {
		*ret = next_pair(&pattern);
		if (sv_eq(ret->key, key))
			return true;
	}
	return false;
}

/* Does a key follow that some program takes for this one? */
static bool has_loosely(struct sv rest, struct sv key)
{
	while (rest.n)
		if (is_loosely(next_pair(&rest).key, key))
			return true;
	return false;
}

static const char *value_difference(const struct pair *want,
				    const struct pair *got)
{
	if (want->has_value != got->has_value ||
	    !match_value(want->value, got->value, false))
		return "a key has another value";
	return NULL;
}

/* A pair whose key the pattern does not have. */
static const char *other_difference(struct sv pattern, bool others,
				    const struct pair *got)
{
	if (has_loosely(pattern, got->key))
		return "a key is written in a way that some programs read "
		       "as the rule's";
	if (!others)
		return "it has a key that the rule does not name";
	if (got->key.n == 0)
		return "it has a value without a key";
	if (sv_find(got->key, ';') < got->key.n ||
	    sv_find(got->value, ';') < got->value.n)
		return "it has a `;`, at which some programs split";
	if (has_bracket(got->key))
		return "a key has a bracket, which some programs cut off";
	return NULL;
}

static size_t pairs_in(struct sv v)
{
	size_t n = 0;

	while (v.n) {
		(void)next_pair(&v);
		n++;
	}
	return n;
}

const char *query_difference(struct sv pattern, struct sv query)
{
	bool others = cut_others(&pattern);
	uint64_t seen[QUERY_PAIRS_MAX];
	size_t found = 0, n = 0;

	if (has_empty_pair(query))
		return "it has an empty pair";
	if (pairs_in(query) > QUERY_PAIRS_MAX)
		return "it has too many pairs";
	for (struct sv rest = query; rest.n;) {
		struct pair got = next_pair(&rest), want;
		const char *why;

		if (find_exact(pattern, got.key, &want)) {
			found++;
			why = value_difference(&want, &got);
		} else {
			why = other_difference(pattern, others, &got);
		}
		if (why)
			return why;
		seen[n] = loose_hash(got.key);
		for (size_t i = 0; i < n; i++)
			if (seen[i] == seen[n])
				return "it has a key twice, as some programs "
				       "read it";
		n++;
	}
	/* None of them twice, so these are all. */
	return found == pairs_in(pattern) ? NULL : "it lacks a key of the rule";
}

static bool fits(struct sv piece, const struct pair *want)
{
	struct pair got = pair_of(piece);

	return piece.n && is_loosely(got.key, want->key) &&
	       match_value(want->value, got.value, true);
}

static bool may_have_pair(struct sv query, const struct pair *want)
{
	while (query.n) {
		struct sv piece = sv_cut(&query, '&');

		if (fits(piece, want))
			return true;
		while (piece.n)
			if (fits(sv_cut(&piece, ';'), want))
				return true;
	}
	return false;
}

bool query_may_have(struct sv pattern, struct sv query)
{
	bool others = cut_others(&pattern);

	if (pattern.n == 0 && !others) {
		for (size_t i = 0; i < query.n; i++)
			if (query.p[i] != '&' && query.p[i] != ';')
				return false;
		return true;
	}
	while (pattern.n) {
		struct pair want = next_pair(&pattern);

		if (!may_have_pair(query, &want))
			return false;
	}
	return true;
}

static const char *put_canonical(struct buf *b, struct sv v)
{
	for (size_t i = 0; i < v.n; i++) {
		int byte = escape_value(sv_from(v, i));
		char c = (char)byte;

		if (v.p[i] <= ' ' || v.p[i] >= 0x7f || v.p[i] == '#')
			return "this character cannot be in a query; encode it";
		if (v.p[i] == '%' && byte < 0)
			return "`%` needs two hexadecimal digits behind it";
		if (byte < 0) {
			buf_putc(b, v.p[i]);
			continue;
		}
		buf_put_percent(b, sv_of(&c, 1));
		i += 2;
	}
	return NULL;
}

static const char *pairs_fault(struct sv pattern)
{
	if (has_empty_pair(pattern))
		return "a query has no empty pairs";
	(void)cut_others(&pattern);
	if (pairs_in(pattern) > QUERY_PAIRS_MAX)
		return "a query has at most 64 pairs";
	while (pattern.n) {
		struct pair p = next_pair(&pattern);

		if (p.key.n == 0)
			return "a query's pair has a key: KEY=VALUE";
		if (sv_find(p.key, '*') < p.key.n)
			return "a query's key has no wildcards (as a character: "
			       "%2A); a last `&*` permits other keys";
		if (has_loosely(pattern, p.key))
			return "a query's key stands once";
	}
	return NULL;
}

const char *query_canonical(struct sv v, struct arena *a, struct sv *ret)
{
	struct buf b = buf_of(arena_alloc(a, v.n + 1), v.n);
	const char *fault;

	if (!b.p)
		return "the query is too long";
	fault = put_canonical(&b, v);
	if (!fault)
		fault = pairs_fault(buf_sv(&b));
	if (!fault)
		*ret = buf_sv(&b);
	return fault;
}
