/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `show`, `hide` and `guard` name, by the names that the walk meets.
 *
 * Trees are walked by their true names, and a statement may have been written
 * with a link in it: a home that is one, a project that is reached by one.  A
 * `hide` that then matched nothing would show what it was to hide, so each
 * statement stands here a second time, with the links in front of its first
 * wildcard resolved.
 *
 * Not for `show` beyond the home itself: what links say in a tree that the
 * agent writes, the agent says, and it must not choose what is shown next time.
 */
#include "marks.h"

#include <limits.h>
#include <stdlib.h>

#include "area.h"
#include "filepath.h"
#include "glob.h"
#include "own.h"

static void push(struct builder *b, const struct grant *g)
{
	struct grant *mark = arena_push(b->arena, &b->marks, &b->marks_n,
					&b->marks_cap);

	if (mark)
		*mark = *g;
	else
		b->full = true;
}

/* The part of the path whose links are resolved, as it would be written to
 * the file system. */
static struct sv linked_part(const struct builder *b, const struct grant *g)
{
	if (g->kind == GRANT_SHOW)
		return area_contains(b->home, g->path) ? b->home : SV("/");
	return g->is_glob ? filepath_stem(g->path) : area_parent(g->path);
}

static void add_true_name(struct builder *b, const struct grant *g)
{
	struct sv part = linked_part(b, g);
	struct grant mark = *g;
	struct filepath f = { 0 };
	char real[PATH_MAX];
	struct sv written;

	builder_at(b, part);
	/* Special characters in front of a wildcard are escaped: no name on
	 * the disk has such a spelling, and no home is one. */
	if (part.n <= 1 || !realpath(builder_str(b, part), real) ||
	    sv_eq(sv_str(real), part))
		return;
	f.path = sv_str(real);
	written = g->is_glob ? filepath_written(&f, b->arena) : f.path;
	if (!written.p) {
		b->full = true;
		return;
	}
	mark.path = builder_printf(b, "%.*s%.*s",
				   written.n > 1 ? (int)written.n : 0,
				   written.p, SV_FMT(sv_from(g->path, part.n)));
	push(b, &mark);
}

void marks_plan(struct builder *b)
{
	for (size_t i = 0; i < b->policy->grants_n; i++) {
		const struct grant *g = &b->policy->grants[i];

		if (g->kind != GRANT_SHOW && g->kind != GRANT_HIDE &&
		    g->kind != GRANT_GUARD)
			continue;
		push(b, g);
		add_true_name(b, g);
	}
}

const struct grant *marks_named_by(const struct builder *b,
				   enum grant_kind kind, struct sv path)
{
	for (size_t i = 0; i < b->marks_n; i++) {
		const struct grant *g = &b->marks[i];

		if (g->kind == kind && (g->is_glob ? glob_match(g->path, path) :
						     sv_eq(g->path, path)))
			return g;
	}
	return NULL;
}

bool marks_named_below(const struct builder *b, enum grant_kind kind,
		       struct sv path)
{
	for (size_t i = 0; i < b->marks_n; i++) {
		const struct grant *g = &b->marks[i];

		if (g->kind == kind &&
		    (g->is_glob ? glob_may_match_below(g->path, path) :
				  area_strictly_contains(path, g->path)))
			return true;
	}
	return false;
}

void marks_sieve(const struct builder *b, struct sieve *s)
{
	for (size_t i = 0; i < b->marks_n; i++) {
		const struct grant *g = &b->marks[i];

		if (g->is_glob)
			sieve_add_pattern(s, area_base(g->path));
		else
			sieve_add_name(s, area_base(g->path));
	}
}
