/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sentry does with a name: see sentry_parts.h.  Pure, and the same that
 * the walk does at the start (walk_masks.c, walk_guards.c), but for dot-files:
 * those that appear later are shown.
 */
#include "sentry_parts.h"

#include "area.h"
#include "dotfiles.h"
#include "marks.h"
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

enum sentry_word sentry_decide(const struct builder *b,
			       const struct sentry_name *n, unsigned look,
			       struct sv *ret_why)
{
	const struct grant *hide = marks_named_by(b, GRANT_HIDE, n->path);

	(void)look;
	if (hide) {
		*ret_why = hide->text;
		return SENTRY_COVER;
	}
	if (n->type == S_IFSOCK && !area_of(b, n->path)) {
		*ret_why = SOCKET_OF_HOST;
		return SENTRY_COVER;
	}
	return SENTRY_LEAVE;
}

bool sentry_goes_below(const struct builder *b, const struct sentry_name *n,
		       unsigned *look)
{
	const struct area *area = area_of(b, n->path);

	/* A tree by itself, or the sandbox's own. */
	if (area && (is_watched(area) || area->kind == AREA_PRIVATE ||
		     area->source.n))
		return false;
	if (*look & SENTRY_SHALLOW)
		return false;
	if (dotfile_is_open(n->name) && !sentry_must_see(b, n->path))
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
