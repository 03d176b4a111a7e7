/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which trees share an overlay.
 *
 * Each overlay costs the kernel, and us, some twenty files that are made and
 * removed again, milliseconds on a disk.  Trees that are in one directory need
 * only one, whose lower layer is that directory.
 *
 * What is changed is copied up with all directories on the way to it, under
 * the id that made the overlay, and given its owner.  So all of these must be
 * of the owner that the trees have, or writing would fail.  They must be on one
 * file system, and nothing may be mounted below the lower layer: the kernel
 * refuses to take what a user namespace has as locked mounts.
 */
#include "overlay.h"

#include <fcntl.h>

#include "area.h"
#include "own.h"

static struct sv common_directory(struct sv a, struct sv b)
{
	while (!area_contains(a, b))
		a = area_parent(a);
	return a;
}

static bool has_mounts(const struct overlay_points *points, struct sv base)
{
	for (size_t i = 0; i < points->n; i++)
		if (area_strictly_contains(base, points->list[i]))
			return true;
	return false;
}

/* Is one seen in the other?  Then each has to have changes of its own. */
static bool overlap(const struct step *a, const struct step *b)
{
	struct sv one = overlay_directory(a), other = overlay_directory(b);

	return (!overlay_is_file(a) && area_contains(one, other)) ||
	       (!overlay_is_file(b) && area_contains(other, one));
}

static bool is_of(struct sv path, const struct overlay *o, dev_t *dev)
{
	struct err ignored;
	struct stat st;
	auto_fd int fd = path_open_exact(AT_FDCWD, path, O_PATH | O_DIRECTORY,
					 &ignored);

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	if (!*dev)
		*dev = st.st_dev;
	return st.st_dev == *dev && st.st_uid == o->owner &&
	       st.st_gid == o->group;
}

/* All from base to the tree, both included. */
static bool is_plain(struct sv base, struct sv tree, const struct overlay *o)
{
	dev_t dev = 0;

	for (;; tree = area_parent(tree)) {
		if (!is_of(tree, o, &dev))
			return false;
		if (tree.n == base.n)
			return true;
	}
}

static bool is_one_of(const struct builder *b, size_t i, uint32_t overlay)
{
	const struct step *s = &b->plan->steps[i];

	return s->kind == STEP_OVERLAY && s->overlay == overlay;
}

/* Steps before `end` have theirs. */
static bool can_join(const struct builder *b, uint32_t overlay,
		     const struct step *s, size_t end,
		     const struct overlay_points *points)
{
	const struct overlay *o = &b->plan->overlays[overlay];
	struct sv tree = overlay_directory(s);
	struct sv base = common_directory(o->base, tree);

	if (base.n <= 1 || has_mounts(points, base) ||
	    !is_plain(base, tree, o) || !is_plain(base, o->base, o))
		return false;
	for (size_t i = 0; i < end; i++)
		if (is_one_of(b, i, overlay) &&
		    overlap(&b->plan->steps[i], s))
			return false;
	return true;
}

/* Whom the agent is there: his own files are the caller's, who cannot make any
 * of another group. */
static void set_owner(const struct builder *b, const struct step *s,
		      struct overlay *o)
{
	const struct area *area = areas_find(b, s->target);

	o->owner = b->plan->as_root && area ? area->owner : b->plan->host_uid;
	o->group = b->plan->as_root && area ? area->group : b->plan->host_gid;
}

static int add(struct builder *b, const struct overlay *new, struct err *e)
{
	struct plan *plan = b->plan;
	struct overlay *o = arena_push(b->arena, &plan->overlays,
				       &plan->overlays_n, &plan->overlays_cap);

	if (!o)
		return err_kind(e, ERR_LIMIT, "out of memory");
	*o = *new;
	return 0;
}

static int find_one(struct builder *b, size_t at,
		    const struct overlay_points *points, struct err *e)
{
	struct plan *plan = b->plan;
	struct step *s = &plan->steps[at];
	struct overlay new = { .base = overlay_directory(s), .trees = 1,
			       .again = b->in->held_trees_n > 0,
			       .whole = { .fd = -1 } };

	if (!overlay_is_file(s))
		new.identity = s->identity;
	set_owner(b, s, &new);
	for (uint32_t i = 0; i < plan->overlays_n; i++) {
		struct overlay *o = &plan->overlays[i];

		if (o->owner != new.owner || o->group != new.group ||
		    !can_join(b, i, s, at, points))
			continue;
		o->base = common_directory(o->base, new.base);
		o->trees++;
		s->overlay = i;
		return 0;
	}
	s->overlay = (uint32_t)plan->overlays_n;
	return add(b, &new, e);
}

/* What is around its trees; else it is the one that the plan has seen. */
static int identify(struct overlay *o, struct err *e)
{
	auto_fd int fd = path_open_exact(AT_FDCWD, o->base, O_PATH |
					 O_DIRECTORY, e);

	return fd < 0 ? -1 : path_identify(fd, &o->identity, e);
}

int overlays_share(struct builder *b, const struct overlay_points *points,
		   struct err *e)
{
	for (size_t i = 0; i < b->plan->steps_n; i++)
		if (b->plan->steps[i].kind == STEP_OVERLAY &&
		    find_one(b, i, points, e) < 0)
			return -1;
	for (size_t i = 0; i < b->plan->overlays_n; i++)
		if ((b->plan->overlays[i].trees > 1 ||
		     !b->plan->overlays[i].identity.type) &&
		    identify(&b->plan->overlays[i], e) < 0)
			return err_ctx(e, "%.*s",
				       SV_FMT(b->plan->overlays[i].base));
	return 0;
}
