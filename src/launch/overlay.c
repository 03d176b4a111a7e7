/* SPDX-License-Identifier: Apache-2.0 */
/* Overlays are made, and their trees taken from them: see overlay.h. */
#include "overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "area.h"
#include "init.h"
#include "mount.h"
#include "own.h"

#define WHOLE ".held-%" PRIu32
enum { WHOLE_MAX = 24 };

/* lower_fd and held_fd are directories as they are to be seen. */
static int make_overlay(int lower_fd, int held_fd, struct err *e)
{
	auto_fd int upper_fd = path_open_exact(held_fd, SV("upper"), O_PATH |
					       O_DIRECTORY, e);
	auto_fd int work_fd = upper_fd < 0 ? -1 :
			      path_open_exact(held_fd, SV("work"), O_PATH |
					      O_DIRECTORY, e);
	const struct mount_layers layers = { lower_fd, upper_fd, work_fd };
	int fd;

	if (work_fd < 0)
		return -1;
	fd = mount_new_overlay(&layers, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			       e);
	if (fd < 0)
		return err_ctx(e, "a file system here cannot be part of an "
			       "overlay; use `workspace direct`, or set "
			       "XDG_STATE_HOME to a place on another one");
	return fd;
}

static int was_replaced(struct err *e)
{
	return err_kind(e, ERR_DENIED, "it was replaced meanwhile");
}

static int open_lower(const struct overlay *o, struct err *e)
{
	struct path_identity now;
	auto_fd int fd = path_open_exact(AT_FDCWD, o->base, O_PATH |
					 O_DIRECTORY, e);

	if (fd < 0 || path_identify(fd, &now, e) < 0)
		return -1;
	return path_same(&now, &o->identity) ? steal_fd(&fd) : was_replaced(e);
}

/* Of the host, what the plan has seen. */
static int open_tree_seen(const struct step *s, struct err *e)
{
	struct path_identity now;
	auto_fd int fd = path_open_exact(AT_FDCWD, s->target, O_PATH, e);

	if (fd < 0 || path_identify(fd, &now, e) < 0)
		return -1;
	return path_same(&now, &s->identity) ? steal_fd(&fd) : was_replaced(e);
}

static int birth(int fd, struct statx_timestamp *ret, struct err *e)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) < 0)
		return err_sys(e, "look at it");
	*ret = stx.stx_mask & STATX_BTIME ? stx.stx_btime :
	       (struct statx_timestamp){ 0 };
	return 0;
}

/* The overlay has found it by its name, and numbers it as it likes; but until it
 * is copied up it was born when the host's was. */
static int check_part(const struct overlay *o, const struct step *s,
		      int part_fd, struct err *e)
{
	struct statx_timestamp was, is;
	auto_fd int fd = open_tree_seen(s, e);

	if (fd < 0 || birth(fd, &was, e) < 0 || birth(part_fd, &is, e) < 0)
		return -1;
	if (o->again || (was.tv_sec == is.tv_sec && was.tv_nsec == is.tv_nsec))
		return 0;
	return was_replaced(e);
}

/* Its part of the overlay: not what a link leads to that has taken its name
 * meanwhile. */
static int open_part(const struct overlay *o, const struct step *s,
		     int whole_fd, struct err *e)
{
	struct sv below = sv_from(s->target, o->base.n + 1);
	auto_fd int fd = path_open_beneath(whole_fd, below, O_PATH, e);
	uint32_t type;

	if (fd < 0 || path_type(fd, &type, e) < 0)
		return -1;
	return type == s->identity.type ? steal_fd(&fd) : was_replaced(e);
}

/* Is the overlay just the tree? */
static bool is_whole(const struct overlay *o, const struct step *s)
{
	return o->base.n == s->target.n;
}

/* One tree less is to be taken; with the last it is gone. */
static void count(const struct overlay *o, struct overlay_whole *whole)
{
	if (++whole->taken == o->trees)
		close_fd(&whole->fd);
}

static int take_part(const struct overlay *o, const struct step *s,
		     int whole_fd, struct err *e)
{
	auto_fd int fd = open_part(o, s, whole_fd, e);

	return fd < 0 || check_part(o, s, fd, e) < 0 ? -1 :
	       mount_clone(fd, "", false, e);
}

/* -- by root, out here -- */

/* One mount alone: nothing is mounted below it (overlay_plan.c). */
static int mapped_copy(int fd, int userns_fd, struct err *e)
{
	auto_fd int tree_fd = mount_clone(fd, "", false, e);

	if (tree_fd < 0)
		return -1;
	if (mount_idmap(tree_fd, userns_fd, false, e) < 0)
		return err_ctx(e, "started by root, and its file system cannot "
			       "map owners; run as an ordinary user, or use "
			       "directories of another file system");
	return steal_fd(&tree_fd);
}

/* Whose name is N of "HELD/N". */
static int open_layers(const struct builder *b, const struct overlay *o,
		       struct err *e)
{
	if (!overlay_is_limited(b->plan))
		return path_open_exact(AT_FDCWD, o->held, O_PATH | O_DIRECTORY,
				       e);
	return path_open_exact(b->in->layers_fd, area_base(o->held), O_PATH |
			       O_DIRECTORY, e);
}

static int mapped_overlay(const struct builder *b, const struct overlay *o,
			  int userns_fd, struct err *e)
{
	auto_fd int lower_fd = open_lower(o, e);
	auto_fd int held_fd = lower_fd < 0 ? -1 : open_layers(b, o, e);
	auto_fd int lower_tree_fd = held_fd < 0 ? -1 :
				    mapped_copy(lower_fd, userns_fd, e);
	auto_fd int held_tree_fd = lower_tree_fd < 0 ? -1 :
				   mapped_copy(held_fd, userns_fd, e);

	return held_tree_fd < 0 ? -1 :
	       make_overlay(lower_tree_fd, held_tree_fd, e);
}

int overlay_mapped(const struct builder *b, struct step *s, int userns_fd,
		   struct err *e)
{
	struct overlay *o = &b->plan->overlays[s->overlay];
	struct overlay_whole *whole = &o->whole;

	if (o->held.n == 0) {	/* to be looked at only */
		auto_fd int fd = open_tree_seen(s, e);

		return fd < 0 ? -1 : 0;
	}
	if (whole->fd < 0)
		whole->fd = mapped_overlay(b, o, userns_fd, e);
	if (whole->fd >= 0)
		s->tree_fd = is_whole(o, s) ? steal_fd(&whole->fd) :
			     take_part(o, s, whole->fd, e);
	/* What is attached nowhere can neither be copied nor be a layer. */
	if (s->tree_fd < 0 && e->code == EINVAL)
		return err_ctx(e, "started by root, which needs Linux 6.15 "
			       "for this");
	if (s->tree_fd < 0)
		return -1;
	count(o, whole);
	s->flags |= STEP_TREE;
	return 0;
}

/* -- by pid 1 -- */

static int own_overlay(struct init *in, const struct overlay *o,
		       struct err *e)
{
	auto_fd int lower_fd = open_lower(o, e);
	auto_fd int held_fd = lower_fd < 0 || layers_show(in, o, e) < 0 ? -1 :
			      path_open_exact(AT_FDCWD, o->held, O_PATH |
					      O_DIRECTORY, e);

	return held_fd < 0 ? -1 : make_overlay(lower_fd, held_fd, e);
}

static struct overlay_whole *whole_of(struct init *in, const struct step *s,
				      struct err *e)
{
	size_t n = in->plan->overlays_n;

	if (in->overlays)
		return &in->overlays[s->overlay];
	in->overlays = calloc(n, sizeof *in->overlays);
	if (!in->overlays) {
		(void)err_sys(e, "allocate");
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		in->overlays[i].fd = -1;
	return &in->overlays[s->overlay];
}

/* Before 6.15 only what is attached can be copied: it is for a moment, where
 * nobody is yet, to the new root, which is attached then as well. */
static int attach_whole(struct init *in, uint32_t n,
			struct overlay_whole *whole, struct err *e)
{
	char name[WHOLE_MAX];

	(void)snprintf(name, sizeof name, WHOLE, n);
	if (root_be_attached(in, e) < 0)
		return -1;
	if (mkdirat(in->root_fd, name, 0) < 0)
		return err_sys(e, "make a place for the overlay");
	if (mount_attach(whole->fd, in->root_fd, name, e) < 0)
		return -1;
	whole->attached = true;
	return 0;
}

static int detach_whole(struct init *in, uint32_t n,
			const struct overlay_whole *whole, struct err *e)
{
	char name[WHOLE_MAX], link[32];

	(void)snprintf(name, sizeof name, WHOLE, n);
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", whole->fd);
	if (umount2(link, MNT_DETACH) < 0 ||
	    unlinkat(in->root_fd, name, AT_REMOVEDIR) < 0)
		return err_sys(e, "detach the overlay");
	return 0;
}

static int own_part(struct init *in, const struct step *s,
		    struct overlay_whole *whole, struct err *e)
{
	const struct overlay *o = &in->plan->overlays[s->overlay];
	auto_fd int part_fd = take_part(o, s, whole->fd, e);

	if (part_fd < 0 && e->code == EINVAL && !whole->attached) {
		if (attach_whole(in, s->overlay, whole, e) < 0)
			return -1;
		part_fd = take_part(o, s, whole->fd, e);
	}
	if (part_fd < 0)
		return -1;
	if (whole->attached && whole->taken + 1 == o->trees &&
	    detach_whole(in, s->overlay, whole, e) < 0)
		return -1;
	return steal_fd(&part_fd);
}

static int own_tree(struct init *in, const struct step *s, struct err *e)
{
	const struct overlay *o = &in->plan->overlays[s->overlay];
	struct overlay_whole *whole = whole_of(in, s, e);
	auto_fd int tree_fd = -1;

	if (!whole)
		return -1;
	if (whole->fd < 0)
		whole->fd = own_overlay(in, o, e);
	if (whole->fd < 0)
		return -1;
	tree_fd = is_whole(o, s) ? steal_fd(&whole->fd) :
				   own_part(in, s, whole, e);
	if (tree_fd < 0)
		return -1;
	count(o, whole);
	return steal_fd(&tree_fd);
}

int root_overlay(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int at_fd = root_place(in, s, e);
	auto_fd int tree_fd = -1;

	if (at_fd < 0)
		return -1;
	tree_fd = s->flags & STEP_TREE ? root_source(in, s, 0, e) :
					 own_tree(in, s, e);
	if (tree_fd < 0)
		return -1;
	return root_attach(in, tree_fd, at_fd, "", e);
}
