/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's part of overlays: see overlay.h. */
#include "overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "area.h"
#include "disk.h"
#include "init.h"
#include "io.h"
#include "own.h"

enum { MOUNTINFO_MAX = 4 << 20 };
#define PROBE "user.stockade"

bool overlay_is_asked(const struct builder *b)
{
	return b->policy->workspace == WORKSPACE_OVERLAY;
}

struct sv overlay_directory(const struct step *s)
{
	return overlay_is_file(s) ? area_parent(s->target) : s->target;
}

struct launch_tree overlay_tree(const struct plan *plan, const struct step *s)
{
	const struct overlay *o = &plan->overlays[s->overlay];
	struct sv path = overlay_directory(s);
	bool file = overlay_is_file(s);

	return (struct launch_tree){
		.path = path,
		.ino = file ? s->dir_ino : s->identity.ino,
		.only = file ? area_base(s->target) : SV(""),
		.layers = s->overlay,
		.below = path.n == o->base.n ? SV("") :
			 sv_from(path, o->base.n + 1),
	};
}

static int check_mounts_below(const struct builder *b, struct sv path,
			      struct err *e)
{
	const struct plan *plan = b->plan;

	for (size_t i = 0; i < plan->steps_n; i++) {
		const struct step *s = &plan->steps[i];

		if (s->kind != STEP_OVERLAY)
			continue;
		if (overlay_is_file(s) && sv_eq(s->target, path))
			return err_kind(e, ERR_POLICY, "%.*s: it is mounted "
				"there from elsewhere, which an overlay cannot "
				"show; use `workspace direct`",
				SV_FMT(s->why));
		if (area_strictly_contains(s->target, path))
			return err_kind(e, ERR_POLICY, "%.*s: another file "
				"system is mounted at %.*s, which an overlay "
				"cannot show; grant directories beside it, or "
				"use `workspace direct`", SV_FMT(s->why),
				SV_FMT(path));
	}
	return 0;
}

static int find_points(struct builder *b, struct overlay_points *ret,
		       struct err *e)
{
	auto_buf struct buf text = buf_new(MOUNTINFO_MAX);
	struct disk_mount m;
	char path[PATH_MAX];
	struct sv rest;

	if (io_read_file(AT_FDCWD, "/proc/self/mountinfo", &text, e) < 0)
		return -1;
	rest = buf_sv(&text);
	while (disk_next_mount(&rest, &m)) {
		struct sv *point = arena_push(b->arena, &ret->list, &ret->n,
					      &ret->cap);

		if (!point)
			return err_kind(e, ERR_LIMIT, "out of memory");
		*point = builder_dup(b, disk_mount_point(&m, path));
	}
	return 0;
}

static int check_mounts(const struct builder *b,
			const struct overlay_points *points, struct err *e)
{
	for (size_t i = 0; i < points->n; i++)
		if (check_mounts_below(b, points->list[i], e) < 0)
			return -1;
	return 0;
}

/* With `again` it may be there, from an earlier run. */
static int make_dir(int at_fd, const char *name, bool again, struct err *e)
{
	int fd;

	if (mkdirat(at_fd, name, 0700) < 0 && !(again && errno == EEXIST))
		return err_sys(e, "make the directory %s", name);
	fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open the directory %s", name) : fd;
}

/* What the agent sees of the tree's own directory, unless that is only in it:
 * then nobody sees it, and it has to be the owner's. */
static int dress(const struct plan *plan, const struct overlay *o,
		 int upper_fd, struct err *e)
{
	struct stat st;
	auto_fd int lower_fd = path_open_exact(AT_FDCWD, o->base, O_PATH, e);

	if (lower_fd < 0)
		return -1;
	if (fstat(lower_fd, &st) < 0)
		return err_sys(e, "look at it");
	/* A user cannot give it away; his own it serves as well. */
	if (plan->as_root && fchown(upper_fd, st.st_uid, st.st_gid) < 0)
		return err_sys(e, "give it its owner");
	if (fchmod(upper_fd, st.st_mode & 0777) < 0)
		return err_sys(e, "give it its mode");
	return 0;
}

/* Without them a directory could not be replaced, nor a deletion be told. */
static int check_attributes(int upper_fd, struct err *e)
{
	if (fsetxattr(upper_fd, PROBE, "", 0, 0) == 0 &&
	    fremovexattr(upper_fd, PROBE) == 0)
		return 0;
	return err_sys(e, "the state directory's file system has no user "
		       "attributes, which held changes need; set "
		       "XDG_STATE_HOME to a place on another one");
}

static int make_layers(struct builder *b, int held_fd, uint32_t n,
		       struct err *e)
{
	struct overlay *o = &b->plan->overlays[n];
	auto_fd int fd = -1, upper_fd = -1, work_fd = -1;
	bool spare = b->in->held_spare, again = o->again || spare;
	char name[16];

	(void)snprintf(name, sizeof name, "%" PRIu32, n);
	fd = make_dir(held_fd, name, again, e);
	upper_fd = fd < 0 ? -1 : make_dir(fd, "upper", again, e);
	/* Never one with what an overlay has left in it. */
	work_fd = upper_fd < 0 ? -1 : make_dir(fd, "work", spare, e);
	if (work_fd < 0 || check_attributes(upper_fd, e) < 0)
		return -1;
	o->held = builder_printf(b, "%s/%s", b->in->held, name);
	return dress(b->plan, o, upper_fd, e);
}

/* Its directory: what is held can only be applied where that can be written. */
static int find_directory(struct step *s, struct err *e)
{
	struct sv path = area_parent(s->target);
	auto_fd int fd = path_open_exact(AT_FDCWD, path, O_RDONLY |
					 O_DIRECTORY, e);
	struct path_identity dir;

	if (fd < 0 || path_identify(fd, &dir, e) < 0)
		return -1;
	if (path.n <= 1 || faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return err_kind(e, ERR_POLICY, "%.*s: its directory cannot be "
				"written, so that no change of it could be "
				"applied; use `workspace direct`",
				SV_FMT(s->why));
	s->dir_ino = dir.ino;
	return 0;
}

static int find_directories(struct builder *b, struct err *e)
{
	for (size_t i = 0; i < b->plan->steps_n; i++) {
		struct step *s = &b->plan->steps[i];

		if (s->kind != STEP_OVERLAY || !overlay_is_file(s))
			continue;
		if (s->identity.type != S_IFREG)
			return err_kind(e, ERR_POLICY, "%.*s: %.*s is neither "
					"a directory nor a file, and only "
					"changes of those can be held; use "
					"`workspace direct`", SV_FMT(s->why),
					SV_FMT(s->target));
		if (find_directory(s, e) < 0)
			return -1;
	}
	return 0;
}

static int other_tree(const struct builder *b, struct sv path,
		      const char *what, struct err *e)
{
	struct sv name = b->policy->keep;

	return err_kind(e, ERR_POLICY, "%.*s %s; `stockade apply %.*s` or "
			"`stockade discard %.*s` what is kept, or give this "
			"run another name", SV_FMT(path), what, SV_FMT(name),
			SV_FMT(name));
}

/* What is kept fits only to the directories that it was written over.  Before
 * anything is made. */
static int check_trees(const struct builder *b, struct err *e)
{
	const struct launch_tree *tree = b->in->held_trees;
	const struct launch_tree *end = tree + b->in->held_trees_n;

	if (tree == end)
		return 0;
	for (size_t i = 0; i < b->plan->steps_n; i++) {
		const struct step *s = &b->plan->steps[i];
		struct launch_tree now;

		if (s->kind != STEP_OVERLAY)
			continue;
		now = overlay_tree(b->plan, s);
		if (tree == end || !sv_eq(now.path, tree->path) ||
		    !sv_eq(now.only, tree->only))
			return other_tree(b, s->target, "is written to, which "
					  "its other runs have not done", e);
		if (now.ino != tree->ino)
			return other_tree(b, now.path, "is another directory "
					  "than in its first run", e);
		tree++;
	}
	return tree == end ? 0 :
	       other_tree(b, tree->path, "is not written to, which its other "
			  "runs have done", e);
}

/* ... and to the layers that it was written to, together with others. */
static int check_shares(const struct builder *b, struct err *e)
{
	const struct launch_tree *tree = b->in->held_trees;

	for (size_t i = 0; i < b->plan->steps_n && b->in->held_trees_n; i++) {
		const struct step *s = &b->plan->steps[i];
		struct launch_tree now;

		if (s->kind != STEP_OVERLAY)
			continue;
		now = overlay_tree(b->plan, s);
		if (now.layers != tree->layers ||
		    !sv_eq(now.below, tree->below))
			return other_tree(b, now.path, "has another owner, or "
					  "more is mounted around it, than in "
					  "its first run", e);
		tree++;
	}
	return 0;
}

/* `limit workspace`: the layers are in a file system of that size (layers.c). */
bool overlay_is_limited(const struct plan *plan)
{
	return plan->limits.by_kind[LIMIT_WORKSPACE].set;
}

/* Where the layers are made, each overlay's in its own directory. */
static int open_held(const struct launch_input *in, bool limited,
		     struct err *e)
{
	return path_open_exact(limited ? in->layers_fd : AT_FDCWD,
			       limited ? SV(".") : sv_str(in->held),
			       O_RDONLY | O_DIRECTORY, e);
}

static int make_all_layers(struct builder *b, struct err *e)
{
	auto_fd int held_fd = b->in->held ?
			      open_held(b->in, overlay_is_limited(b->plan), e) : -1;

	if (!b->in->held)
		return 0;
	for (uint32_t i = 0; i < b->plan->overlays_n; i++)
		if (held_fd < 0 || make_layers(b, held_fd, i, e) < 0)
			return err_ctx(e, "hold the changes of %.*s",
				       SV_FMT(b->plan->overlays[i].base));
	/* Else pid 1 does, whose file system it is. */
	return overlay_is_limited(b->plan) && b->plan->as_root ?
		       layers_count(b->plan, b->in->layers_fd, e) : 0;
}

/* Where what is held of it will be, to be shown. */
static struct sv source_of(struct builder *b, const struct step *s)
{
	const struct launch_tree tree = overlay_tree(b->plan, s);

	if (!b->in->held)
		return SV("");
	return builder_printf(b, "%s/%" PRIu32 "/upper%s%.*s", b->in->held,
			      tree.layers, tree.below.n ? "/" : "",
			      SV_FMT(tree.below));
}

int overlay_plan(struct builder *b, struct err *e)
{
	struct overlay_points points = { 0 };

	if (!overlay_is_asked(b))
		return 0;
	if (find_directories(b, e) < 0 || find_points(b, &points, e) < 0 ||
	    check_mounts(b, &points, e) < 0 ||
	    overlays_share(b, &points, e) < 0 || check_trees(b, e) < 0 ||
	    check_shares(b, e) < 0 || make_all_layers(b, e) < 0)
		return -1;
	for (size_t i = 0; i < b->plan->steps_n; i++) {
		struct step *s = &b->plan->steps[i];

		if (s->kind == STEP_PIN || s->kind == STEP_GUARD)
			s->flags |= STEP_HELD;
		if (s->kind == STEP_OVERLAY)
			s->source = source_of(b, s);
	}
	return 0;
}
