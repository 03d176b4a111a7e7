/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns over paths: see glob.h.
 *
 * Both matchers remember only the last star: what an earlier star could have
 * taken is not worth trying again, since the last one can take it as well.  So
 * the time is at most the product of the lengths, whatever the pattern.
 */
#include "glob.h"

/* The class at p[*at], after '['; moves *at behind its ']'. */
static bool match_class(struct sv p, size_t *at, char c)
{
	size_t i = *at;
	bool negate = i < p.n && (p.p[i] == '!' || p.p[i] == '^');
	bool found = false, first = true;

	if (negate)
		i++;
	for (; i < p.n && (first || p.p[i] != ']'); first = false) {
		char from = p.p[i], to = from;

		if (i + 2 < p.n && p.p[i + 1] == '-' && p.p[i + 2] != ']') {
			to = p.p[i + 2];
			i += 2;
		}
		i++;
		if (c >= from && c <= to)
			found = true;
	}
	if (i >= p.n)		/* no ']': the bracket stands for itself */
		return c == '[';
	*at = i + 1;
	return found != negate;
}

bool glob_match_segment(struct sv p, struct sv name)
{
	size_t i = 0, j = 0, star = SIZE_MAX, taken = 0;

	while (j < name.n) {
		size_t next = i + 1;
		bool same = false;

		if (i < p.n && p.p[i] == '*') {
			star = i++;
			taken = j;
			continue;
		}
		if (i < p.n)
			same = p.p[i] == '?' ||
			       (p.p[i] == '[' ?
					match_class(p, &next, name.p[j]) :
					p.p[i] == name.p[j]);
		if (same) {
			i = next;
			j++;
			continue;
		}
		if (star == SIZE_MAX)
			return false;
		i = star + 1;
		j = ++taken;
	}
	while (i < p.n && p.p[i] == '*')
		i++;
	return i == p.n;
}

/* Takes the first segment off *v, which starts with '/' or is empty. */
static bool take_segment(struct sv *v, struct sv *ret)
{
	size_t end;

	while (v->n && v->p[0] == '/')
		*v = sv_from(*v, 1);
	if (v->n == 0)
		return false;
	end = sv_find(*v, '/');
	*ret = sv_head(*v, end);
	*v = sv_from(*v, end);
	return true;
}

enum {
	BELOW = 1,	/* the end of path before that of pattern matches too */
	SHOWN = 2,	/* no wildcard takes the dot in front of a name */
};

static bool takes(struct sv p, struct sv name, unsigned flags)
{
	if ((flags & SHOWN) && name.n && name.p[0] == '.' &&
	    !(p.n && p.p[0] == '.'))
		return false;
	return glob_match_segment(p, name);
}

static bool has_dots(struct sv v)
{
	return sv_find_sv(v, SV("/.")) < v.n;
}

static bool match(struct sv pattern, struct sv path, unsigned flags)
{
	const bool below = flags & BELOW;
	struct sv star_pattern = { 0 }, star_path = { 0 };
	bool star = false;

	for (;;) {
		struct sv p, s, after = pattern, rest = path;
		bool have_p = take_segment(&after, &p);
		bool have_s = take_segment(&rest, &s);

		if (have_p && sv_eq(p, SV("**"))) {
			star = true;
			star_pattern = pattern = after;
			star_path = path;
			if (below)
				return !(flags & SHOWN) || !has_dots(path) ||
				       has_dots(after);
			continue;
		}
		if (!have_s)
			return below ? have_p : !have_p;
		if (have_p && takes(p, s, flags)) {
			pattern = after;
			path = rest;
			continue;
		}
		if (!star)
			return false;
		(void)take_segment(&star_path, &s);
		if (!takes(SV("*"), s, flags))
			return false;
		pattern = star_pattern;
		path = star_path;
	}
}

bool glob_match(struct sv pattern, struct sv path)
{
	return match(pattern, path, 0);
}

bool glob_match_shown(struct sv pattern, struct sv path)
{
	return match(pattern, path, SHOWN);
}

bool glob_may_match_below(struct sv pattern, struct sv path)
{
	return match(pattern, path, BELOW);
}

bool glob_may_show_below(struct sv pattern, struct sv path)
{
	return match(pattern, path, BELOW | SHOWN);
}

bool glob_is_pattern(struct sv v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] == '*' || v.p[i] == '?' || v.p[i] == '[')
			return true;
	return false;
}
