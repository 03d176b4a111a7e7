/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of request paths: see urlpattern.h. */
#include "urlpattern.h"

#include "buf.h"

/* Visible ASCII that can stand in a request's path as it is. */
static bool is_path_char(char c)
{
	return c > ' ' && c < 0x7f && !strchr("\"<>\\^`{}?#", c);
}

static struct sv segment_of(struct sv rest)
{
	return sv_head(rest, sv_find(rest, '/'));
}

static bool is_any(struct sv segment)
{
	return sv_eq(segment, SV("**"));
}

/* The segment behind the first one of `rest`; only when there is one. */
static struct sv next_segment(struct sv rest)
{
	return sv_from(rest, segment_of(rest).n + 1);
}

static bool is_last(struct sv rest)
{
	return segment_of(rest).n == rest.n;
}

bool urlpattern_is_clean(struct sv path)
{
	struct sv rest;

	if (path.n == 0 || path.p[0] != '/')
		return false;
	for (rest = sv_from(path, 1);; rest = next_segment(rest)) {
		struct sv segment = segment_of(rest);

		if (sv_eq(segment, SV(".")) || sv_eq(segment, SV("..")))
			return false;
		if (is_last(rest))
			return true;
		if (segment.n == 0)
			return false;
	}
}

/* One encoded byte at the start of v; appends its canonical form. */
static const char *put_encoded(struct buf *b, struct sv v)
{
	int high = v.n > 2 ? hex_value(v.p[1]) : -1;
	int low = v.n > 2 ? hex_value(v.p[2]) : -1;
	char c;

	if (high < 0 || low < 0)
		return "`%` needs two hexadecimal digits behind it";
	c = (char)(high * 16 + low);
	if ((unsigned char)c < 0x20 || c == 0x7f)
		return "an encoded control character is never in a canonical path";
	buf_put_percent(b, sv_of(&c, 1));
	return NULL;
}

static const char *segments_fault(struct sv pattern)
{
	if (!urlpattern_is_clean(pattern))
		return "a path has no empty and no dot segments";
	for (struct sv rest = sv_from(pattern, 1);;
	     rest = next_segment(rest)) {
		struct sv segment = segment_of(rest);

		if (!is_any(segment) &&
		    sv_find_sv(segment, SV("**")) < segment.n)
			return "`**` must be a whole segment";
		if (is_last(rest))
			return NULL;
	}
}

const char *urlpattern_canonical(struct sv v, struct arena *a, struct sv *ret)
{
	struct buf b = buf_of(arena_alloc(a, v.n + 1), v.n);
	const char *fault = NULL;

	if (v.n > URLPATTERN_PATH_MAX || !b.p)
		return "the path is too long";
	if (v.n == 0 || v.p[0] != '/')
		return "a path starts with `/`";
	for (size_t i = 0; i < v.n && !fault; i++) {
		if (v.p[i] == '%') {
			fault = put_encoded(&b, sv_from(v, i));
			i += 2;
		} else if ((unsigned char)v.p[i] >= 0x80) {
			fault = "encode what is not ASCII: %C3%A9";
		} else if (!is_path_char(v.p[i])) {
			fault = "this character cannot be in a path; encode it";
		} else {
			buf_putc(&b, v.p[i]);
		}
	}
	if (!fault)
		fault = segments_fault(buf_sv(&b));
	if (!fault)
		*ret = buf_sv(&b);
	return fault;
}

/*
 * The byte at *i, decoded where it is an escape, and *i behind it.  Whether a
 * client writes '@' or %40 is its own taste and nothing to an origin, so it is
 * nothing to a rule either: `deny` could be walked around otherwise.
 */
static int next_byte(struct sv v, size_t *i)
{
	size_t at = *i;
	int high = v.n - at < 3 ? -1 : hex_value(v.p[at + 1]);
	int low = v.n - at < 3 ? -1 : hex_value(v.p[at + 2]);

	*i = at + 1;
	if (v.p[at] != '%' || high < 0 || low < 0)
		return (unsigned char)v.p[at];
	*i = at + 3;
	return high << 4 | low;
}

/*
 * `*` is any bytes.  When a later byte does not fit, only the last `*` need be
 * tried again one byte further: an earlier one could gain nothing.
 */
static bool match_segment(struct sv pattern, struct sv segment)
{
	size_t i = 0, j = 0;
	size_t star = pattern.n, from = 0;

	if (segment.n == 0)
		return pattern.n == 0;
	while (j < segment.n) {
		size_t behind_i = i, behind_j = j;

		if (i < pattern.n && pattern.p[i] == '*') {
			star = i++;
			from = j;
		} else if (i < pattern.n && next_byte(pattern, &behind_i) ==
					    next_byte(segment, &behind_j)) {
			i = behind_i;
			j = behind_j;
		} else if (star < pattern.n) {
			i = star + 1;
			(void)next_byte(segment, &from);
			j = from;
		} else {
			return false;
		}
	}
	while (i < pattern.n && pattern.p[i] == '*')
		i++;
	return i == pattern.n;
}

/* The same, with segments for bytes and `**` for `*`. */
bool urlpattern_match(struct sv pattern, struct sv path)
{
	struct sv p, v;
	struct sv behind_any = { 0 }, from = { 0 };

	if (pattern.n == 0 || path.n == 0 || pattern.p[0] != '/' ||
	    path.p[0] != '/')
		return false;
	p = sv_from(pattern, 1);
	v = sv_from(path, 1);
	for (;;) {
		bool matched;

		if (is_any(segment_of(p))) {
			/* At the end it takes the rest, one segment or more. */
			if (is_last(p))
				return true;
			p = behind_any = next_segment(p);
			from = v;
			continue;
		}
		matched = match_segment(segment_of(p), segment_of(v));
		if (matched && is_last(p) && is_last(v))
			return true;
		if (matched && !is_last(p) && !is_last(v)) {
			p = next_segment(p);
			v = next_segment(v);
			continue;
		}
		if (!behind_any.p || is_last(from))
			return false;
		from = next_segment(from);
		p = behind_any;
		v = from;
	}
}

struct sv urlpattern_other_reading(struct sv v, char *out)
{
	size_t n = 0;

	if (sv_find_sv(v, SV("%2F")) == v.n)
		return (struct sv){ 0 };
	for (size_t i = 0; i < v.n; i++) {
		if (sv_starts(sv_from(v, i), SV("%2F"))) {
			out[n++] = '/';
			i += 2;
		} else {
			out[n++] = v.p[i];
		}
	}
	return sv_of(out, n);
}

bool urlpattern_has_parameters(struct sv v)
{
	return sv_find(v, ';') < v.n || sv_find_sv(v, SV("%3B")) < v.n;
}

struct sv urlpattern_bare(struct sv v, char *out)
{
	bool in_parameters = false;
	size_t n = 0;

	if (!urlpattern_has_parameters(v))
		return (struct sv){ 0 };
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] == '/')
			in_parameters = false;
		else if (v.p[i] == ';' || sv_starts(sv_from(v, i), SV("%3B")))
			in_parameters = true;
		if (!in_parameters)
			out[n++] = v.p[i];
	}
	return sv_of(out, n);
}
