/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `workspace overlay`: a tree that the agent may write is shown as an overlay
 * over the host's, and what is written is held in a directory of the state:
 *
 *	HELD/0/upper	what was written, removed and renamed in the first tree
 *	HELD/0/work	the kernel's, for that
 *	HELD/1/...	the second
 *
 * Covers, guards and pins lie on the overlay as they do on a bind.  An ordinary
 * user's overlay is made by pid 1, in his user namespace.  Root's is made out
 * here and given to pid 1, of layers that show the owner mapped: it writes as
 * the agent, and the disk says the owner.
 *
 * Of a single file it is an overlay of its directory, of which nothing but that
 * file is ever seen: a copy of the mount, of just that name, is attached, and
 * the overlay itself nowhere.
 *
 * An overlay shows one file system and nothing that is mounted below it, so a
 * tree that has a mount is refused: it would show what that mount hides.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "area.h"
#include "builder.h"
#include "io.h"
#include "mount.h"
#include "own.h"

enum { MOUNTINFO_MAX = 4 << 20, MOUNT_POINT_FIELD = 4 };
#define PROBE "user.stockade"
#define WHOLE ".held"

bool overlay_is_asked(const struct builder *b)
{
	return b->policy->workspace == WORKSPACE_OVERLAY;
}

static bool is_file(const struct step *s)
{
	return s->identity.type != S_IFDIR;
}

struct launch_tree overlay_tree(const struct step *s)
{
	if (!is_file(s))
		return (struct launch_tree){ s->target, s->identity.ino,
					     SV("") };
	return (struct launch_tree){ area_parent(s->target), s->dir_ino,
				     area_base(s->target) };
}

/* Field 5 of a line of mountinfo, with \040 and the like decoded. */
static struct sv mount_point(struct sv line, char ret[PATH_MAX])
{
	size_t n = 0;

	for (int i = 0; i < MOUNT_POINT_FIELD; i++)
		line = sv_from(line, sv_find(line, ' ') + 1);
	line = sv_head(line, sv_find(line, ' '));
	for (size_t i = 0; i < line.n && n < PATH_MAX; i++) {
		const char *at = line.p + i;

		if (*at != '\\' || i + 3 >= line.n) {
			ret[n++] = *at;
			continue;
		}
		ret[n++] = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 |
				  (at[3] - '0'));
		i += 3;
	}
	return sv_of(ret, n);
}

static int check_mounts_below(const struct builder *b, struct sv path,
			      struct err *e)
{
	const struct plan *plan = b->plan;

	for (size_t i = 0; i < plan->steps_n; i++) {
		const struct step *s = &plan->steps[i];

		if (s->kind != STEP_OVERLAY)
			continue;
		if (is_file(s) && sv_eq(s->target, path))
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

static int check_mounts(const struct builder *b, struct err *e)
{
	auto_buf struct buf text = buf_new(MOUNTINFO_MAX);
	char path[PATH_MAX];
	struct sv rest;

	if (io_read_file(AT_FDCWD, "/proc/self/mountinfo", &text, e) < 0)
		return -1;
	for (rest = buf_sv(&text); rest.n;) {
		struct sv line = sv_head(rest, sv_find(rest, '\n'));

		rest = sv_from(rest, line.n + 1);
		if (check_mounts_below(b, mount_point(line, path), e) < 0)
			return -1;
	}
	return 0;
}

/* With `again` it may be there, of an earlier run. */
static int make_dir(int at_fd, const char *name, bool again, struct err *e)
{
	int fd;

	if (mkdirat(at_fd, name, 0700) < 0 && !(again && errno == EEXIST))
		return err_sys(e, "make the directory %s", name);
	fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open the directory %s", name) : fd;
}

/* The upper layer's root is what the agent sees of the tree's own directory. */
static int dress(const struct plan *plan, int upper_fd, const struct step *s,
		 struct err *e)
{
	struct stat st;
	auto_fd int lower_fd = path_open_exact(AT_FDCWD, overlay_tree(s).path,
					       O_PATH, e);

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

static int make_layers(struct builder *b, int held_fd, unsigned n,
		       struct step *s, struct err *e)
{
	auto_fd int fd = -1, upper_fd = -1, work_fd = -1;
	bool again = b->in->held_trees_n > 0;
	char name[16];

	(void)snprintf(name, sizeof name, "%u", n);
	fd = make_dir(held_fd, name, again, e);
	upper_fd = fd < 0 ? -1 : make_dir(fd, "upper", again, e);
	/* Never one that an overlay has used. */
	work_fd = upper_fd < 0 ? -1 : make_dir(fd, "work", false, e);
	if (work_fd < 0 || check_attributes(upper_fd, e) < 0)
		return -1;
	s->source = builder_printf(b, "%s/%s", b->in->held, name);
	return dress(b->plan, upper_fd, s, e);
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

		if (s->kind != STEP_OVERLAY || !is_file(s))
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
		now = overlay_tree(s);
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

/* `limit workspace`: the layers are in a file system of that size (layers.c). */
static bool is_limited(const struct plan *plan)
{
	return plan->limits.by_kind[LIMIT_WORKSPACE].set;
}

/* Where the layers are made, each tree's in its own directory. */
static int open_held(const struct launch_input *in, bool limited,
		     struct err *e)
{
	return path_open_exact(limited ? in->layers_fd : AT_FDCWD,
			       limited ? SV(".") : sv_str(in->held),
			       O_RDONLY | O_DIRECTORY, e);
}

int overlay_plan(struct builder *b, struct err *e)
{
	auto_fd int held_fd = -1;
	unsigned n = 0;

	if (!overlay_is_asked(b))
		return 0;
	if (find_directories(b, e) < 0 || check_mounts(b, e) < 0 ||
	    check_trees(b, e) < 0)
		return -1;
	if (b->in->held) {
		held_fd = open_held(b->in, is_limited(b->plan), e);
		if (held_fd < 0)
			return -1;
	}
	for (size_t i = 0; i < b->plan->steps_n; i++) {
		struct step *s = &b->plan->steps[i];

		if (s->kind == STEP_PIN || s->kind == STEP_GUARD)
			s->flags |= STEP_HELD;
		if (s->kind != STEP_OVERLAY)
			continue;
		s->source = SV("");
		if (held_fd >= 0 && make_layers(b, held_fd, n++, s, e) < 0)
			return err_ctx(e, "hold the changes of %.*s",
				       SV_FMT(s->target));
	}
	return 0;
}

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

static int check_file(const struct step *s, int dir_fd, struct err *e)
{
	auto_fd int fd = path_open_beneath(dir_fd, area_base(s->target),
					   O_PATH, e);
	struct path_identity now;

	if (fd < 0 || path_identify(fd, &now, e) < 0)
		return -1;
	return path_same(&now, &s->identity) ? 0 :
	       err_kind(e, ERR_DENIED, "it was replaced meanwhile");
}

static int open_lower(const struct step *s, struct err *e)
{
	const struct launch_tree tree = overlay_tree(s);
	struct path_identity now;
	auto_fd int fd = path_open_exact(AT_FDCWD, tree.path, O_PATH |
					 O_DIRECTORY, e);

	if (fd < 0 || path_identify(fd, &now, e) < 0)
		return -1;
	if (now.ino != tree.ino ||
	    (!is_file(s) && !path_same(&now, &s->identity)))
		return err_kind(e, ERR_DENIED, "it was replaced meanwhile");
	if (is_file(s) && check_file(s, fd, e) < 0)
		return -1;
	return steal_fd(&fd);
}

/* Of an overlay the one file that is to be seen: not what a link leads to that
 * has taken its name meanwhile. */
static int open_file(const struct step *s, int tree_fd, struct err *e)
{
	auto_fd int fd = path_open_beneath(tree_fd, area_base(s->target),
					   O_PATH, e);
	uint32_t type;

	if (fd < 0 || path_type(fd, &type, e) < 0)
		return -1;
	if (type != S_IFREG)
		return err_kind(e, ERR_DENIED, "it was replaced meanwhile");
	return steal_fd(&fd);
}

/* Takes tree_fd: that, or of a file's overlay a mount of just that file. */
static int shown_part(const struct step *s, int tree_fd, struct err *e)
{
	auto_fd int whole_fd = tree_fd;
	auto_fd int file_fd = -1;

	if (whole_fd < 0 || !is_file(s))
		return steal_fd(&whole_fd);
	file_fd = open_file(s, whole_fd, e);
	return file_fd < 0 ? -1 : mount_clone(file_fd, "", false, e);
}

/* One mount alone: nothing is mounted below it (check_mounts()). */
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
static int open_layers(const struct builder *b, const struct step *s,
		       struct err *e)
{
	size_t n = s->source.n;

	if (!is_limited(b->plan))
		return path_open_exact(AT_FDCWD, s->source, O_PATH |
				       O_DIRECTORY, e);
	while (n && s->source.p[n - 1] != '/')
		n--;
	return path_open_exact(b->in->layers_fd, sv_from(s->source, n), O_PATH |
			       O_DIRECTORY, e);
}

int overlay_mapped(const struct builder *b, struct step *s, int userns_fd,
		   struct err *e)
{
	auto_fd int lower_fd = open_lower(s, e);
	auto_fd int lower_tree_fd = -1, held_fd = -1, held_tree_fd = -1;

	if (lower_fd < 0)
		return -1;
	if (s->source.n == 0)	/* to be looked at only */
		return 0;
	held_fd = open_layers(b, s, e);
	lower_tree_fd = held_fd < 0 ? -1 :
			mapped_copy(lower_fd, userns_fd, e);
	held_tree_fd = lower_tree_fd < 0 ? -1 :
		       mapped_copy(held_fd, userns_fd, e);
	if (held_tree_fd >= 0)
		s->tree_fd = shown_part(s, make_overlay(lower_tree_fd,
							held_tree_fd, e), e);
	else if (lower_tree_fd < 0 || !is_limited(b->plan))
		return -1;
	/* What is attached nowhere can neither be copied nor be a layer. */
	if (s->tree_fd < 0 && e->code == EINVAL)
		return err_ctx(e, "started by root, which needs Linux 6.15 "
			       "for this");
	if (s->tree_fd < 0)
		return -1;
	s->flags |= STEP_TREE;
	return 0;
}

static int own_overlay(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int lower_fd = open_lower(s, e);
	auto_fd int held_fd = lower_fd < 0 || layers_show(in, s, e) < 0 ? -1 :
			      path_open_exact(AT_FDCWD, s->source, O_PATH |
					      O_DIRECTORY, e);

	return held_fd < 0 ? -1 : make_overlay(lower_fd, held_fd, e);
}

/* Before 6.15 only what is attached can be copied: it is for a moment, where
 * nobody is yet, to the new root, which is attached then as well. */
static int attached_part(struct init *in, const struct step *s, int whole_fd,
			 struct err *e)
{
	char link[32];
	auto_fd int file_fd = -1, part_fd = -1;

	if (root_be_attached(in, e) < 0)
		return -1;
	if (mkdirat(in->root_fd, WHOLE, 0) < 0)
		return err_sys(e, "make a place for the overlay");
	if (mount_attach(whole_fd, in->root_fd, WHOLE, e) < 0)
		return -1;
	file_fd = open_file(s, whole_fd, e);
	part_fd = file_fd < 0 ? -1 : mount_clone(file_fd, "", false, e);
	if (part_fd < 0)
		return -1;
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", whole_fd);
	if (umount2(link, MNT_DETACH) < 0 ||
	    unlinkat(in->root_fd, WHOLE, AT_REMOVEDIR) < 0)
		return err_sys(e, "detach the overlay");
	return steal_fd(&part_fd);
}

static int own_part(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int whole_fd = own_overlay(in, s, e);
	auto_fd int file_fd = -1;
	int part_fd;

	if (whole_fd < 0 || !is_file(s))
		return steal_fd(&whole_fd);
	file_fd = open_file(s, whole_fd, e);
	part_fd = file_fd < 0 ? -1 : mount_clone(file_fd, "", false, e);
	if (part_fd >= 0 || file_fd < 0 || e->code != EINVAL)
		return part_fd;
	return attached_part(in, s, whole_fd, e);
}

int root_overlay(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int at_fd = root_place(in, s, e);
	auto_fd int tree_fd = -1;

	if (at_fd < 0)
		return -1;
	tree_fd = s->flags & STEP_TREE ? root_source(in, s, 0, e) :
					 own_part(in, s, e);
	if (tree_fd < 0)
		return -1;
	return root_attach(in, tree_fd, at_fd, "", e);
}
