/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the new root.
 *
 * It is a tmpfs that is attached nowhere, and everything is mounted into it
 * while it hangs in the air: no path of the host leads there.  Kernels before
 * 6.15 cannot mount into a detached tree and say EINVAL: then it is attached
 * over the old root first, in this mount namespace, which nobody else is in,
 * and the same steps go on.
 *
 * Every name is opened again with all symbolic links refused, and what is
 * bound is compared by device and inode with what the plan saw: a tree that
 * somebody swaps meanwhile ends the launch.
 */
#include "init.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "mount.h"
#include "own.h"

#define PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define COVER_DIR ".covered-directory"
#define COVER_FILE ".covered-file"

enum { PAGE_BYTES = 4096, ROOT_INODES = 1024 };

int root_be_attached(struct init *in, struct err *e)
{
	if (in->attached)
		return 0;
	if (mount_attach(in->root_fd, AT_FDCWD, "/", e) < 0)
		return err_ctx(e, "the new root");
	in->attached = true;
	return 0;
}

int root_attach(struct init *in, int tree_fd, int at_fd, const char *path,
		struct err *e)
{
	if (mount_attach(tree_fd, at_fd, path, e) == 0)
		return 0;
	if (in->attached || e->code != EINVAL)
		return -1;
	if (root_be_attached(in, e) < 0)
		return -1;
	return mount_attach(tree_fd, at_fd, path, e);
}

int root_clone(struct init *in, int fd, const char *path, bool recursive,
	       struct err *e)
{
	int tree_fd = mount_clone(fd, path, recursive, e);

	if (tree_fd >= 0 || in->attached || e->code != EINVAL)
		return tree_fd;
	if (root_be_attached(in, e) < 0)
		return -1;
	return mount_clone(fd, path, recursive, e);
}

/* As large as `limit disk` lets it be.  A file without contents takes memory,
 * too: there are as many as there are pages, and some for the root itself. */
static int new_tmpfs(const struct init *in, const char *mode, struct err *e)
{
	const struct limit *disk = &in->plan->limits.by_kind[LIMIT_DISK];
	char size[24], inodes[24];
	const struct mount_option options[] = {
		{ "mode", mode }, { "size", size }, { "nr_inodes", inodes },
	};

	(void)snprintf(size, sizeof size, "%" PRIu64, disk->value);
	(void)snprintf(inodes, sizeof inodes, "%" PRIu64,
		       disk->value / PAGE_BYTES + ROOT_INODES);
	return mount_new_fs("tmpfs", options,
			    disk->set ? countof(options) : 1, PLAIN, e);
}

int root_make(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	in->root_fd = new_tmpfs(in, "0755", e);
	return in->root_fd < 0 ? -1 : 0;
}

int root_directory(struct init *in, const struct step *s, struct err *e)
{
	/* Its parent is there: the plan goes from the top down. */
	if (mkdirat(in->root_fd, s->target.p + 1, s->mode) < 0 &&
	    errno != EEXIST)
		return err_sys(e, "make the directory");
	return 0;
}

int root_link(struct init *in, const struct step *s, struct err *e)
{
	/* The usual case in one call: the parent is ours, and there. */
	if (s->flags & STEP_SYSTEM) {
		if (symlinkat(s->source.p, in->root_fd, s->target.p + 1) < 0)
			return err_sys(e, "make the link");
		return 0;
	}
	return path_make_symlink(in->root_fd, init_below(s->target), s->source,
				 e);
}

/* A directory in the tmpfs itself, whose names are ours: made by its path. */
static int make_directory(struct init *in, struct sv path, mode_t mode,
			  struct err *e)
{
	const char *below = path.p + 1;
	auto_fd int fd = -1;

	if (mkdirat(in->root_fd, below, mode) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT)
		return err_sys(e, "make the directory");
	fd = path_make_dirs(in->root_fd, init_below(path), e);
	if (fd < 0)
		return -1;
	if (fchmodat(in->root_fd, below, mode, 0) < 0)
		return err_sys(e, "set its mode");
	return 0;
}

/* ... by a mount that can be written when the root's no longer can. */
static int private_mount(struct init *in, const struct step *s, struct err *e)
{
	const char *below = s->target.p + 1;
	auto_fd int tree_fd = -1;

	if (make_directory(in, s->target, s->mode, e) < 0)
		return -1;
	tree_fd = root_clone(in, in->root_fd, below, false, e);
	if (tree_fd < 0)
		return -1;
	return root_attach(in, tree_fd, in->root_fd, below, e);
}

/* Inside a tree of the host or the template, where nothing may be made. */
static int nested_mount(struct init *in, const struct step *s, struct err *e)
{
	char mode[8] = { '0', (char)('0' + (s->mode >> 9 & 7)),
			 (char)('0' + (s->mode >> 6 & 7)),
			 (char)('0' + (s->mode >> 3 & 7)),
			 (char)('0' + (s->mode & 7)) };
	auto_fd int at_fd = path_open_exact(in->root_fd, init_below(s->target),
					    O_PATH | O_DIRECTORY, e);
	auto_fd int tree_fd = -1;

	if (at_fd < 0)
		return e->code == ENOENT ? 0 : -1;
	tree_fd = new_tmpfs(in, mode, e);
	if (tree_fd < 0)
		return -1;
	return root_attach(in, tree_fd, at_fd, "", e);
}

int root_private(struct init *in, const struct step *s, struct err *e)
{
	return s->flags & (STEP_OPTIONAL | STEP_PLACED) ?
		nested_mount(in, s, e) : private_mount(in, s, e);
}

static int same_as_planned(const struct step *s, int fd, struct err *e)
{
	struct path_identity now;

	if (path_identify(fd, &now, e) < 0)
		return -1;
	/* Numbers of an overlay are its own; what was replaced meanwhile is
	 * pinned or guarded as it is now, and the host does not see it. */
	if ((!(s->flags & STEP_HELD) && !path_same(&now, &s->identity)) ||
	    now.type != s->identity.type)
		return err_kind(e, ERR_DENIED, "it was replaced meanwhile");
	return 0;
}

/* The copy that the parent has made and restricted. */
static int given_tree(struct init *in, struct err *e)
{
	if (in->trees_used == in->trees_n)
		return err_kind(e, ERR_BUG, "its tree has not come");
	return in->trees[in->trees_used++];
}

/* The host's tree, copied and restricted here. */
static int own_tree(const struct step *s, uint64_t attrs, struct err *e)
{
	auto_fd int source_fd = path_open_exact(AT_FDCWD, s->source, O_PATH,
						e);

	if (source_fd < 0 || same_as_planned(s, source_fd, e) < 0)
		return -1;
	return mount_clone_restricted(source_fd, "", true, attrs, e);
}

int root_source(struct init *in, const struct step *s, uint64_t attrs,
		struct err *e)
{
	return s->flags & STEP_TREE ? given_tree(in, e) : own_tree(s, attrs, e);
}

static int host_tree(struct init *in, const struct step *s, struct err *e)
{
	return root_source(in, s, PLAIN | (s->flags & STEP_WRITE ? 0 :
					   MOUNT_ATTR_RDONLY), e);
}

int root_template(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int tree_fd = host_tree(in, s, e);

	if (tree_fd < 0)
		return -1;
	if (mkdirat(in->root_fd, s->target.p + 1, 0755) < 0)
		return err_sys(e, "make a place for it");
	return root_attach(in, tree_fd, in->root_fd, s->target.p + 1, e);
}

/* /usr and the like: names that only the host's root can change, on both
 * sides, so that they need not be opened first. */
static int bind_system(struct init *in, const struct step *s, struct err *e)
{
	const char *below = s->target.p + 1;
	auto_fd int tree_fd =
		mount_clone_restricted(AT_FDCWD, s->source.p, true,
				       PLAIN | MOUNT_ATTR_RDONLY, e);

	if (tree_fd < 0)
		return -1;
	if (s->flags & STEP_PLACED) {
		/* by the template */
	} else if (s->identity.type != S_IFDIR) {
		if (mknodat(in->root_fd, below, S_IFREG | 0644, 0) < 0)
			return err_sys(e, "make a place for it");
	} else if (make_directory(in, s->target, 0755, e) < 0) {
		return -1;
	}
	return root_attach(in, tree_fd, in->root_fd, below, e);
}

int root_place(const struct init *in, const struct step *s, struct err *e)
{
	struct sv below = init_below(s->target);
	int at_fd = s->flags & STEP_THERE ?
			    path_open_exact(in->root_fd, below, O_PATH |
					    O_DIRECTORY, e) :
		    s->identity.type == S_IFDIR ?
			    path_make_dirs(in->root_fd, below, e) :
			    path_make_file(in->root_fd, below, 0644, e);

	return at_fd < 0 ? err_ctx(e, "a place for it") : at_fd;
}

int root_bind(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int tree_fd = -1;
	auto_fd int at_fd = -1;

	if (s->flags & STEP_SYSTEM)
		return bind_system(in, s, e);
	at_fd = root_place(in, s, e);
	if (at_fd < 0)
		return -1;
	tree_fd = host_tree(in, s, e);
	if (tree_fd < 0)
		return -1;
	return root_attach(in, tree_fd, at_fd, "", e);
}

/* An empty file or directory of mode 0, by a read-only mount of its own. */
static int cover_make(struct init *in, bool directory, struct err *e)
{
	const char *name = directory ? COVER_DIR : COVER_FILE;
	auto_fd int tree_fd = -1;

	if ((directory ? mkdirat(in->root_fd, name, 0) :
			 mknodat(in->root_fd, name, S_IFREG, 0)) < 0)
		return err_sys(e, "make an empty %s",
			       directory ? "directory" : "file");
	tree_fd = root_clone(in, in->root_fd, name, false, e);
	if (tree_fd < 0 ||
	    mount_set_attrs(tree_fd, PLAIN | MOUNT_ATTR_RDONLY |
			    MOUNT_ATTR_NOEXEC, false, e) < 0)
		return -1;
	return steal_fd(&tree_fd);
}

/* All covers are copies of the first one, once that is in its place. */
static int cover(struct init *in, bool directory, int at_fd, const char *path,
		 struct err *e)
{
	int *first_fd = directory ? &in->cover_dir_fd : &in->cover_file_fd;
	auto_fd int tree_fd = *first_fd < 0 ?
				      cover_make(in, directory, e) :
				      mount_clone(*first_fd, "", false, e);

	if (tree_fd < 0 || root_attach(in, tree_fd, at_fd, path, e) < 0)
		return -1;
	if (*first_fd < 0)
		*first_fd = steal_fd(&tree_fd);
	return 0;
}

/* In /proc, whose names are the kernel's; not every kernel has every one. */
static int cover_system(struct init *in, const struct step *s, struct err *e)
{
	const char *below = s->target.p + 1;
	struct stat st;

	if (fstatat(in->root_fd, below, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "look at it");
	return cover(in, S_ISDIR(st.st_mode), in->root_fd, below, e);
}

int root_cover(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int at_fd = -1;
	uint32_t type;

	if (s->flags & STEP_SYSTEM)
		return cover_system(in, s, e);
	at_fd = path_open_exact(in->root_fd, init_below(s->target), O_PATH, e);
	/* What is gone needs no cover: editors' swap files come and go. */
	if (at_fd < 0 && (s->flags & STEP_OPTIONAL) &&
	    (e->code == ENOENT || e->code == ENOTDIR))
		return 0;
	if (at_fd < 0 || path_type(at_fd, &type, e) < 0)
		return -1;
	return cover(in, type == S_IFDIR, at_fd, "", e);
}

int root_pin(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int at_fd = path_open_exact(in->root_fd, init_below(s->target),
					    O_PATH, e);
	auto_fd int tree_fd = -1;

	if (at_fd < 0 || same_as_planned(s, at_fd, e) < 0)
		return -1;
	tree_fd = root_clone(in, at_fd, "", true, e);
	if (tree_fd < 0)
		return -1;
	if (s->kind == STEP_GUARD &&
	    mount_set_attrs(tree_fd, PLAIN | MOUNT_ATTR_RDONLY, true, e) < 0)
		return -1;
	return root_attach(in, tree_fd, at_fd, "", e);
}

int root_seal(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	close_fd(&in->cover_dir_fd);
	close_fd(&in->cover_file_fd);
	/* The mounts keep what they show; the names need not stay. */
	if (unlinkat(in->root_fd, COVER_DIR, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		return err_sys(e, "remove " COVER_DIR);
	if (unlinkat(in->root_fd, COVER_FILE, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove " COVER_FILE);
	return mount_set_attrs(in->root_fd, PLAIN | MOUNT_ATTR_RDONLY, false,
			       e);
}

int root_enter(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	if (root_be_attached(in, e) < 0)
		return -1;
	/* What the host mounts later must not appear inside. */
	if (mount_set_private(in->root_fd, "", true, e) < 0)
		return -1;
	if (mount_pivot(in->root_fd, e) < 0)
		return -1;
	close_fd(&in->root_fd);
	close_fd(&in->host_dev_fd);
	return 0;
}

int root_workdir(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int fd = path_open_exact(AT_FDCWD, s->target, O_PATH |
					 O_DIRECTORY, e);

	(void)in;
	if (fd < 0)
		return -1;
	if (fchdir(fd) < 0)
		return err_sys(e, "enter the working directory");
	return 0;
}
