/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of files in statements: see filepath.h. */
#include "filepath.h"

#include "glob.h"

static bool is_special(char c)
{
	return c == '*' || c == '?' || c == '[';
}

/* "[*]" and its like: one special character, meant as it is. */
static bool is_escape(struct sv v)
{
	return v.n >= 3 && v.p[0] == '[' && is_special(v.p[1]) &&
	       v.p[2] == ']';
}

static bool has_glob(struct sv v)
{
	for (size_t i = 0; i < v.n; i++) {
		if (is_escape(sv_from(v, i)))
			i += 2;
		else if (is_special(v.p[i]))
			return true;
	}
	return false;
}

/* Appends a segment; `escape`: its special characters stand for themselves,
 * `unescape`: the pattern's escapes are resolved. */
static void put_segment(struct sv segment, bool escape, bool unescape,
			char *out, size_t *n)
{
	for (size_t i = 0; i < segment.n; i++) {
		char c = segment.p[i];

		if (unescape && is_escape(sv_from(segment, i))) {
			out[(*n)++] = segment.p[i + 1];
			i += 2;
		} else if (escape && is_special(c)) {
			out[(*n)++] = '[';
			out[(*n)++] = c;
			out[(*n)++] = ']';
		} else {
			out[(*n)++] = c;
		}
	}
}

/* Appends the segments of v to the clean path in out. */
static void append_path(struct sv v, bool escape, bool unescape, char *out,
			size_t *n)
{
	while (v.n) {
		struct sv segment = sv_head(v, sv_find(v, '/'));

		v = sv_from(v, segment.n + 1);
		if (segment.n == 0 || sv_eq(segment, SV(".")))
			continue;
		if (sv_eq(segment, SV(".."))) {
			while (*n > 0 && out[--*n] != '/')
				;
			continue;
		}
		out[(*n)++] = '/';
		put_segment(segment, escape, unescape, out, n);
	}
}

/* Length of the set "[...]" at the start of v; 0 when it is not closed.  A `]`
 * that is the first of the set is one of its characters. */
static size_t set_length(struct sv v)
{
	size_t first = v.n > 1 && (v.p[1] == '!' || v.p[1] == '^') ? 2 : 1;
	size_t end = first + 1 + sv_find(sv_from(v, first + 1), ']');

	return end < v.n ? end + 1 : 0;
}

static const char *segments_fault(struct sv v)
{
	while (v.n) {
		struct sv segment = sv_head(v, sv_find(v, '/'));

		if (segment.n > 255)
			return "a name of more than 255 bytes";
		if (segment.n > 2 && sv_find_sv(segment, SV("**")) < segment.n)
			return "`**` must be a whole segment";
		for (size_t i = 0; i < segment.n; i++) {
			size_t n;

			if (segment.p[i] != '[')
				continue;
			n = set_length(sv_from(segment, i));
			if (n == 0)
				return "this `[` has no `]` ([[] means a `[`)";
			i += n - 1;
		}
		v = sv_from(v, segment.n + 1);
	}
	return NULL;
}

const char *filepath_clean(struct sv word, struct sv base, struct sv home,
			   struct arena *a, struct filepath *ret)
{
	struct sv rest = word;
	struct sv start = base;
	const char *fault;
	bool glob;
	size_t n = 0;
	char *out;

	if (word.n == 0)
		return "the path is empty";
	if (word.p[0] == '/') {
		start = SV("/");
	} else if (word.p[0] == '~') {
		if (word.n > 1 && word.p[1] != '/')
			return "only ~ and ~/... are known, not other users' homes";
		if (home.n == 0)
			return "there is no home directory (HOME is not set)";
		start = home;
		rest = sv_from(word, 1);
	}
	if (start.n == 0 || start.p[0] != '/')
		return "there is no directory that this path could start in";
	if (start.n > FILEPATH_MAX || rest.n > FILEPATH_MAX)
		return "the path is too long";
	fault = segments_fault(rest);
	if (fault)
		return fault;
	glob = has_glob(rest);
	/* Escaping makes three bytes of one, at most. */
	out = arena_alloc(a, 3 * (start.n + rest.n) + 3);
	if (!out)
		return "the policy is too large";
	append_path(start, glob, false, out, &n);
	append_path(rest, false, !glob, out, &n);
	if (n == 0)
		out[n++] = '/';
	/* `..` may have taken the wildcards away again. */
	if (glob && !has_glob(sv_of(out, n)))
		return "a wildcard in front of `..` means nothing";
	if (n > FILEPATH_MAX)
		return "the path is too long";
	*ret = (struct filepath){ .path = sv_of(out, n), .is_glob = glob };
	return NULL;
}

struct sv filepath_written(const struct filepath *f, struct arena *a)
{
	size_t n = 0;
	char *out;

	if (f->is_glob)
		return f->path;
	out = arena_alloc(a, 3 * f->path.n + 1);
	if (!out)
		return (struct sv){ 0 };
	put_segment(f->path, true, false, out, &n);
	return sv_of(out, n);
}

bool filepath_match(const struct filepath *f, struct sv path)
{
	if (!f->is_glob)
		return sv_eq(f->path, path);
	return f->grants ? glob_match_shown(f->path, path) :
			   glob_match(f->path, path);
}

bool filepath_covers(const struct filepath *f, struct sv path, size_t *ret_n)
{
	size_t n = path.n;

	/* From the path itself upwards, so that *ret_n is the longest. */
	for (;;) {
		if (n && filepath_match(f, sv_head(path, n))) {
			*ret_n = n;
			return true;
		}
		while (n > 0 && path.p[n - 1] != '/')
			n--;
		if (n <= 1)
			break;
		n--;
	}
	*ret_n = 1;
	return path.n > 1 && filepath_match(f, SV("/"));
}

struct sv filepath_stem(struct sv pattern)
{
	size_t n = 0;

	for (size_t i = 0; i < pattern.n && !is_special(pattern.p[i]); i++)
		if (pattern.p[i] == '/')
			n = i;
	return n ? sv_head(pattern, n) : SV("/");
}
