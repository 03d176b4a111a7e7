/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sentry does with a name: see sentry_parts.h.  Pure, and the same that
 * the walk does at the start (walk_masks.c, walk_guards.c), but for dot-files:
 * those that appear later are shown.
 */
#include "sentry_parts.h"

#include "area.h"
#include "dotfiles.h"
#include "guards.h"
#include "marks.h"
#include "plain.h"
#include "walk.h"

static const struct area *area_of(const struct builder *b, struct sv path)
{
	for (size_t i = 0; i < b->areas_n; i++)
		if (sv_eq(b->areas[i].path, path))
			return &b->areas[i];
	return NULL;
}

static bool is_watched(const struct area *area)
{
	return area->kind == AREA_NAMED && !area->source.n &&
	       area->identity.type == S_IFDIR;
}

static bool is_lifted(const struct plan *plan, struct sv path)
{
	for (size_t i = 0; i < plan->lifted_n; i++)
		if (sv_eq(plan->lifted[i], path))
			return true;
	return false;
}

/* What pid 1 would not have let the agent make there is the host's. */
static enum sentry_word guard(const struct builder *b,
			      const struct sentry_name *n, unsigned look,
			      struct creation_made *made, struct sv *ret_why)
{
	const struct creation_rule *r = creation_refused(b->plan, n->path,
							 false, made);

	*ret_why = SV(GUARDED_BY_DEFAULT);
	if (sv_eq(n->name, SV(".git")) && n->type != S_IFDIR &&
	    !(look & SENTRY_SHALLOW) && !is_lifted(b->plan, n->path))
		return SENTRY_POINTER;
	/* pid 1's own, for a moment. */
	if (!r || sv_starts(n->name, SV(PLAIN_NAME)) ||
	    !creation_is_exact(r, n->path))
		return SENTRY_LEAVE;
	*ret_why = r->why;
	return SENTRY_GUARD;
}

enum sentry_word sentry_decide(const struct builder *b,
			       const struct sentry_name *n, unsigned look,
			       struct creation_made *made, struct sv *ret_why)
{
	const struct grant *hide = marks_named_by(b, GRANT_HIDE, n->path);

	if (hide) {
		*ret_why = hide->text;
		return SENTRY_COVER;
	}
	if (n->type == S_IFSOCK && !area_of(b, n->path)) {
		*ret_why = SOCKET_OF_HOST;
		return SENTRY_SOCKET;
	}
	return look & SENTRY_WRITE ? guard(b, n, look, made, ret_why) :
				     SENTRY_LEAVE;
}

void sentry_sieve(const struct builder *b, struct sieve *s)
{
	marks_sieve(b, s);
	for (size_t i = 0; i < b->plan->creation_n; i++)
		sieve_add_pattern(s, area_base(b->plan->creation[i].tail));
	sieve_add_name(s, SV(".git"));
}

bool sentry_goes_below(const struct builder *b, const struct sentry_name *n,
		       unsigned *look)
{
	const struct area *area = area_of(b, n->path);

	/* A tree by itself, or the sandbox's own. */
	if (area && (is_watched(area) || area->kind == AREA_PRIVATE ||
		     area->source.n))
		return false;
	/* .git/info/attributes */
	if (*look & SENTRY_SHALLOW &&
	    !(*look & SENTRY_GIT && sv_eq(n->name, SV("info"))))
		return false;
	*look &= ~(unsigned)SENTRY_GIT;
	if (!dotfile_is_open(n->name))
		return true;
	if (sv_eq(n->name, SV(".git")))
		*look |= SENTRY_GIT;
	if (!sentry_must_see(b, n->path))
		*look |= SENTRY_SHALLOW;
	return true;
}

bool sentry_watches(const struct builder *b, const struct area *area,
		    unsigned *ret_look)
{
	if (!is_watched(area))
		return false;
	*ret_look = area->write ? SENTRY_WRITE : 0;
	if (area->write && overlay_is_asked(b))
		*ret_look |= SENTRY_HELD;
	return true;
}

bool sentry_must_see(const struct builder *b, struct sv dir)
{
	return marks_named_below(b, GRANT_HIDE, dir) ||
	       marks_named_below(b, GRANT_GUARD, dir);
}

bool sentry_is_asked(const struct plan *plan)
{
	const struct builder *b = plan->seen;
	unsigned look;

	for (size_t i = 0; b && i < b->areas_n; i++)
		if (sentry_watches(b, &b->areas[i], &look))
			return true;
	return false;
}
