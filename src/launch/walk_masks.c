/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the walk covers: the dot mask, `hide`, and sockets of the host.
 *
 * Links: a symbolic link cannot carry a mount.  A dot-file that is one shows
 * only where it points to; what it points to is outside every grant, and then
 * absent, or in one, and then has met these rules itself.  `hide` on a link
 * also covers its target.
 */
#include "walk.h"

#include <errno.h>

#include "area.h"
#include "dotfiles.h"
#include "marks.h"

static bool leads_to_something(const struct walk *w, struct sv path)
{
	for (size_t i = 0; i < w->b->areas_n; i++)
		if (w->b->areas[i].kind >= AREA_CODE &&
		    area_strictly_contains(path, w->b->areas[i].path))
			return true;
	return marks_named_below(w->b, GRANT_SHOW, path) ||
	       key_files_are_below(w->b, path);
}

static int hide_entry(struct walk *w, const struct walk_entry *entry,
		      const struct grant *g, struct err *e)
{
	struct area target;
	struct err ignored;

	if (entry->type != DT_LNK)
		return walk_cover(w, entry->path, g->text, e);
	if (area_resolve(w->b, entry->path, &target, &ignored) < 0 ||
	    !areas_find(w->b, target.path))
		return 0;
	return walk_cover(w, target.path, g->text, e);
}

int walk_mask(struct walk *w, const struct walk_entry *entry, unsigned *look,
	      struct err *e)
{
	const struct grant *hide = marks_named_by(w->b, GRANT_HIDE,
						  entry->path);

	if (hide)
		return hide_entry(w, entry, hide, e) < 0 ? -1 : 1;
	/* A socket is not what `show` speaks of: it opens what listens there. */
	if (entry->type == DT_SOCK && !entry->area)
		return walk_cover(w, entry->path, SOCKET_OF_HOST, e) < 0 ?
			       -1 : 1;
	if (entry->area || marks_named_by(w->b, GRANT_SHOW, entry->path)) {
		*look = (*look & ~(unsigned)LOOK_HIDDEN) | LOOK_DOTS;
		return 0;
	}
	if (!(*look & LOOK_HIDDEN) &&
	    (!(*look & LOOK_DOTS) || entry->name.p[0] != '.' ||
	     dotfile_is_shown(entry->name)))
		return 0;
	if (entry->type == DT_LNK)
		return 1;
	if (entry->type == DT_DIR && leads_to_something(w, entry->path)) {
		*look |= LOOK_HIDDEN;
		return 0;
	}
	return walk_cover(w, entry->path, SV("dot-file"), e) < 0 ? -1 : 1;
}

int walk_mask_named(struct walk *w, struct err *e)
{
	const struct policy *p = w->b->policy;

	for (size_t i = 0; i < p->grants_n; i++) {
		const struct grant *g = &p->grants[i];
		struct area found;

		if (g->kind != GRANT_HIDE || g->is_glob)
			continue;
		if (area_resolve(w->b, g->path, &found, e) < 0) {
			if (e->code == ENOENT || e->code == ENOTDIR)
				continue;
			if (e->code != EACCES)
				return err_ctx(e, "%.*s", SV_FMT(g->text));
			found.path = g->path;
		}
		if (areas_find(w->b, found.path) &&
		    areas_find(w->b, found.path)->kind != AREA_PRIVATE &&
		    walk_cover(w, found.path, g->text, e) < 0)
			return -1;
	}
	return 0;
}
