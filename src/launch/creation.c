/* SPDX-License-Identifier: Apache-2.0 */
/* May something be made here?  See creation.h. */
#include "creation.h"

#include "area.h"
#include "dotfiles.h"
#include "fold.h"
#include "glob.h"

/* The first segment of *rest, which becomes what is behind it. */
static struct sv take(struct sv *rest)
{
	struct sv segment;

	while (rest->n && rest->p[0] == '/')
		*rest = sv_from(*rest, 1);
	segment = sv_head(*rest, sv_find(*rest, '/'));
	*rest = sv_from(*rest, segment.n);
	return segment;
}

static size_t count(struct sv path)
{
	size_t n = 0;

	while (take(&path).n)
		n++;
	return n;
}

/* Most names are told apart by that. */
static bool begin_differently(struct sv pattern, struct sv name)
{
	const char a = pattern.p[0], b = name.p[0];

	return !((a | b) & 0x80) && a != '*' && a != '?' && a != '[' &&
	       a != '\\' && ascii_lower(a) != ascii_lower(b);
}

static bool segment_matches(struct sv pattern, struct sv name)
{
	char a[FOLD_MAX], b[FOLD_MAX];

	if (begin_differently(pattern, name))
		return false;
	return glob_match_segment(pattern, name) ||
	       glob_match_segment(fold_name(pattern, a), fold_name(name, b));
}

/* Takes what they begin with alike off both, until one is at its end; false:
 * they differ before. */
static bool meet(struct sv *pattern, struct sv *path)
{
	for (;;) {
		struct sv rule = *pattern, rest = *path;
		struct sv segment = take(&rule), name = take(&rest);

		if (!segment.n || !name.n)
			return true;
		if (!segment_matches(segment, name))
			return false;
		*pattern = rule;
		*path = rest;
	}
}

/* Whether the segments of path are the first of the rule's; *all when they are
 * the whole rule. */
static bool begins(struct sv rule, struct sv path, bool *all)
{
	if (!meet(&rule, &path) || take(&path).n)
		return false;
	*all = take(&rule).n == 0;
	return true;
}

/* What of path is below the rule's base; nothing: it is not. */
static struct sv below(const struct creation_rule *r, struct sv path)
{
	struct sv base = r->base;

	return meet(&base, &path) && !take(&base).n ? path : SV("");
}

/* The last n segments of path. */
static struct sv last(struct sv path, size_t n)
{
	for (size_t skip = count(path) - n; skip; skip--)
		(void)take(&path);
	return path;
}

/* How many of the last segments of path it speaks of; 0: of none. */
static size_t matches(const struct creation_rule *r, struct sv path, bool tree)
{
	struct sv rest = r->tail, name = area_base(path), pattern;
	bool all;

	if (!r->base.n)
		return begins(r->tail, path, &all) && (all || tree) ?
			       count(path) : 0;
	/* By default the base is a grant, whose own name is nobody's to give. */
	if (tree && !r->is_default && begins(r->base, path, &all))
		return count(path);
	/* By the last name most are told apart; this is asked for each call. */
	for (size_t n = 1; (pattern = take(&rest)).n; n++)
		if (segment_matches(pattern, name) &&
		    n <= count(below(r, path)) &&
		    begins(r->tail, last(path, n), &all) && (all || tree))
			return n;
	return 0;
}

static bool is_lifted(const struct plan *plan, struct sv path)
{
	for (size_t i = 0; i < plan->lifted_n; i++)
		if (sv_eq(plan->lifted[i], path))
			return true;
	return false;
}

/* One of the names is such a one. */
static bool has_open_name(struct sv path)
{
	struct sv name;

	for (name = take(&path); name.n; name = take(&path))
		if (dotfile_is_open(name) && !sv_eq(name, SV(".git")))
			return true;
	return false;
}

/* One of those below the rule's base. */
static bool is_open(const struct creation_rule *r, struct sv path)
{
	return has_open_name(path) && has_open_name(below(r, path));
}

static bool is_everywhere(const struct creation_rule *r)
{
	return r->is_default && r->base.n;
}

bool creation_is_granted(const struct plan *plan, struct sv path)
{
	for (size_t i = 0; i < plan->creation_n; i++)
		if (is_everywhere(&plan->creation[i]) &&
		    below(&plan->creation[i], path).n)
			return true;
	return false;
}

bool creation_is_copied(const struct plan *plan, struct sv from, struct sv to)
{
	const bool may_be_open = has_open_name(from);

	for (size_t i = 0; i < plan->creation_n; i++) {
		const struct creation_rule *r = &plan->creation[i];

		if (is_everywhere(r) && !may_be_open)
			continue;
		if (is_everywhere(r) ? is_open(r, from) && !is_open(r, to) :
				       !below(r, from).n && below(r, to).n)
			return true;
	}
	return false;
}

/* What is in a repository: whose that is counts, not whose it lies in. */
static bool is_of_git(const struct creation_rule *r)
{
	return is_everywhere(r) && sv_starts(r->tail, SV(".git/"));
}

bool creation_is_exact(const struct creation_rule *r, struct sv path)
{
	struct sv rule = r->tail, segment, name;

	if (r->base.n) {
		if (count(path) < count(rule))
			return false;
		path = last(path, count(rule));
	}
	do {
		segment = take(&rule);
		name = take(&path);
		if (segment.n && !glob_match_segment(segment, name))
			return false;
	} while (segment.n);
	return !name.n;
}

const struct creation_rule *creation_refused(const struct plan *plan,
					     struct sv path, bool tree,
					     struct creation_made *made)
{
	for (size_t i = 0; i < plan->creation_n; i++) {
		const struct creation_rule *r = &plan->creation[i];
		size_t n = matches(r, path, tree);

		if (!n || (r->is_default && is_lifted(plan, path)) ||
		    (is_everywhere(r) && is_open(r, area_parent(path))))
			continue;
		/* A whole repository may get its name: it is the agent's then,
		 * and told (leaves.h). */
		if (is_of_git(r) && n == 1)
			continue;
		if (!is_everywhere(r) || !made ||
		    !made->has(made, path, n - is_of_git(r)))
			return r;
		if (!is_of_git(r))
			made->freed = r;
	}
	return NULL;
}
