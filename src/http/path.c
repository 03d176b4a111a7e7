/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical path: declared in target.h.
 *
 * Two steps.  The first decodes escapes of unreserved characters and brings
 * the others to upper case; nothing is judged there.  The second judges the
 * result, so a path is canonical exactly when it passes the second step, and
 * making it canonical twice cannot differ from once.
 *
 * What is judged are two readings of the path, one in which %2F is a character
 * of its segment and one in which it separates: neither may have a dot segment
 * or an empty one.  Everything that some origin is known to take for a dot, a
 * slash or an escape, beside the one byte that is one, is refused.
 */
#include "target.h"

/* pchar of RFC 3986 without '%', and three that browsers leave unencoded. */
static bool is_path_char(char c)
{
	return is_unreserved(c) ||
	       (c != '\0' && strchr("!$&'()*+,;=:@[]|", c) != NULL);
}

/* The byte of the escape at v, or -1. */
static int escape_value(struct sv v)
{
	int high, low;

	if (v.n < 3 || v.p[0] != '%')
		return -1;
	high = hex_value(v.p[1]);
	low = hex_value(v.p[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static char hex_upper(char c)
{
	return c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c;
}

/* As the canonical form has it: of digits and capitals. */
static bool is_upper_escape(struct sv v)
{
	return escape_value(v) >= 0 && v.p[1] == hex_upper(v.p[1]) &&
	       v.p[2] == hex_upper(v.p[2]);
}

/* A lone '%' must not become an escape with what is decoded behind it. */
static bool has_malformed_escape(struct sv raw)
{
	for (size_t i = 0; i < raw.n; i++)
		if (raw.p[i] == '%' && escape_value(sv_from(raw, i)) < 0)
			return true;
	return false;
}

/* Decodes what means the same decoded; out has room for raw.n bytes. */
static size_t path_decode(struct sv raw, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < raw.n; i++) {
		int byte = escape_value(sv_from(raw, i));

		if (byte < 0) {
			out[n++] = raw.p[i];
		} else if (is_unreserved((char)byte)) {
			out[n++] = (char)byte;
			i += 2;
		} else {
			out[n++] = '%';
			out[n++] = hex_upper(raw.p[i + 1]);
			out[n++] = hex_upper(raw.p[i + 2]);
			i += 2;
		}
	}
	return n;
}

/* Normalisation, or a best-fit code page, makes dots, slashes, backslashes or
 * percent signs of these. */
static bool is_disguise(uint32_t code)
{
	static const uint32_t disguises[] = {
		0xa5, 0x2024, 0x2025, 0x2026, 0x2044, 0x20a9, 0x2100, 0x2101,
		0x2105, 0x2106, 0x2215, 0x2216, 0x29f5, 0x29f8, 0x29f9, 0xfe19,
		0xfe30, 0xfe52, 0xfe68, 0xfe6a, 0xff05, 0xff0e, 0xff0f, 0xff1b,
		0xff1f, 0xff3c, 0xff61, 0x3002,
	};

	for (size_t i = 0; i < sizeof(disguises) / sizeof(disguises[0]); i++)
		if (disguises[i] == code)
			return true;
	return false;
}

/*
 * The escaped UTF-8 character at v, whose first byte is not ASCII: the number
 * of bytes of its escapes, or 0 when it is malformed, overlong, a surrogate,
 * a control or a disguise.
 */
static size_t escaped_character(struct sv v)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int first = escape_value(v);
	uint32_t code;
	size_t n;

	if (first >= 0xc2 && first <= 0xdf)
		n = 2;
	else if (first >= 0xe0 && first <= 0xef)
		n = 3;
	else if (first >= 0xf0 && first <= 0xf4)
		n = 4;
	else
		return 0;
	code = (uint32_t)first & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		int byte = escape_value(sv_from(v, 3 * i));

		if (byte < 0x80 || byte > 0xbf ||
		    !is_upper_escape(sv_from(v, 3 * i)))
			return 0;
		code = code << 6 | ((uint32_t)byte & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || code < 0xa0 ||
	    (code >= 0xd800 && code <= 0xdfff) || is_disguise(code))
		return 0;
	return 3 * n;
}

/* "%25" with two hexadecimal digits (or u and four) behind it is an escape to
 * whoever decodes twice. */
static bool is_double_escape(struct sv behind)
{
	size_t i = behind.n && ascii_lower(behind.p[0]) == 'u' ? 1 : 0;

	return behind.n >= i + 2 && hex_value(behind.p[i]) >= 0 &&
	       hex_value(behind.p[i + 1]) >= 0;
}

/* One escape of canonical path v: its length, or 0 and *why. */
static size_t escape_check(struct sv v, const char **why)
{
	int byte = escape_value(v);
	size_t n = 3;

	if (!is_upper_escape(v)) {
		*why = "the path has a malformed escape";
		return 0;
	}
	if (byte < 0x20 || byte == 0x7f) {
		*why = "the path has an escaped control character";
		return 0;
	}
	if (byte == '\\') {
		*why = "the path has an escaped backslash";
		return 0;
	}
	if (byte == '%' && is_double_escape(sv_from(v, 3))) {
		*why = "the path is encoded twice";
		return 0;
	}
	if (byte < 0x80 && is_unreserved((char)byte)) {
		*why = "the path has an escape that should be decoded";
		return 0;
	}
	if (byte >= 0x80)
		n = escaped_character(v);
	if (n == 0)
		*why = "the path has escapes that are not plain UTF-8";
	return n;
}

/* Characters and escapes, one by one. */
static const char *characters_check(struct sv path)
{
	const char *why = NULL;

	for (size_t i = 0; i < path.n;) {
		char c = path.p[i];

		if (c == '%') {
			size_t n = escape_check(sv_from(path, i), &why);

			if (n == 0)
				return why;
			i += n;
			continue;
		}
		if (c == '\\')
			return "the path has a backslash";
		if (c == '#')
			return "the path has a fragment";
		if (c != '/' && !is_path_char(c))
			return "the path has a character that must be escaped";
		i++;
	}
	return NULL;
}

/*
 * "." and ".." and what servers strip down to them: parameters behind ';',
 * spaces, further dots.
 */
static bool is_dot_segment(struct sv segment)
{
	size_t i = 0;
	bool dots = false;

	while (i < segment.n) {
		struct sv rest = sv_from(segment, i);

		if (rest.p[0] == '.')
			dots = true;
		else if (rest.p[0] == ';' || sv_starts(rest, SV("%3B")))
			return dots;
		else if (sv_starts(rest, SV("%20")))
			i += 2;
		else if (rest.p[0] != '+')
			return false;
		i++;
	}
	return dots;
}

/* The length of the segment that path begins with; with both, %2F ends it. */
static size_t segment_length(struct sv path, bool both)
{
	size_t slash = sv_find(path, '/');

	return both ? sv_find_sv(sv_head(path, slash), SV("%2F")) : slash;
}

static const char *segments_check(struct sv path, bool both)
{
	struct sv rest = sv_from(path, 1);

	for (;;) {
		size_t n = segment_length(rest, both);
		bool last = n == rest.n;

		if (is_dot_segment(sv_head(rest, n)))
			return "the path has a dot segment";
		/* Only behind the last '/' may nothing follow. */
		if (n == 0 && !(last && path.p[path.n - 1] == '/'))
			return "the path has an empty segment";
		if (last)
			return NULL;
		rest = sv_from(rest, n + (rest.p[n] == '/' ? 1 : 3));
	}
}

static const char *path_check(struct sv path)
{
	const char *why;

	if (path.n == 0 || path.p[0] != '/')
		return "the path does not begin with a slash";
	if (path.n > HTTP_PATH_MAX)
		return "the path is longer than 8192 bytes";
	why = characters_check(path);
	if (!why)
		why = segments_check(path, false);
	if (!why)
		why = segments_check(path, true);
	return why;
}

const char *path_canonical(struct sv raw, struct arena *a, struct sv *ret)
{
	const char *why;
	struct sv path;
	char *out;

	if (raw.n > HTTP_PATH_MAX)
		return "the path is longer than 8192 bytes";
	if (has_malformed_escape(raw))
		return "the path has a malformed escape";
	out = arena_alloc(a, raw.n + 1);
	if (!out)
		return "the request needs too much memory";
	path = sv_of(out, path_decode(raw, out));
	why = path_check(path);
	if (why)
		return why;
	*ret = path;
	return NULL;
}

bool path_is_canonical(struct sv path)
{
	return path_check(path) == NULL;
}

const char *query_check(struct sv query)
{
	if (query.n > HTTP_QUERY_MAX)
		return "the query is longer than 16384 bytes";
	for (size_t i = 0; i < query.n; i++) {
		char c = query.p[i];

		if (c <= ' ' || c > '~')
			return "the query has a character that must be escaped";
		if (c == '#')
			return "the query has a fragment";
		if (c == '%' && escape_value(sv_from(query, i)) < 0)
			return "the query has a malformed escape";
	}
	return NULL;
}
