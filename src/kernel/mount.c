/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by descriptor: see mount.h. */
#include "mount.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "feature.h"
#include "own.h"
#include "uapi.h"

/* A path as it appears in a message. */
static const char *shown(const char *path)
{
	return path[0] ? path : "a descriptor";
}

static unsigned at_flags(const char *path, bool recursive)
{
	return AT_SYMLINK_NOFOLLOW | (recursive ? AT_RECURSIVE : 0U) |
	       (path[0] ? 0U : AT_EMPTY_PATH);
}

static unsigned clone_flags(const char *path, bool recursive)
{
	return OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | at_flags(path, recursive);
}

int mount_clone(int dirfd, const char *path, bool recursive, struct err *e)
{
	int fd = open_tree(dirfd, path, clone_flags(path, recursive));

	if (fd < 0)
		return err_feature(e, "open_tree", "5.2", "copy the tree of %s",
				   shown(path));
	return fd;
}

static int set_attr(int dirfd, const char *path, bool recursive,
		    struct mount_attr *attr, struct err *e)
{
	if (mount_setattr(dirfd, path, at_flags(path, recursive), attr,
			  sizeof *attr) == 0)
		return 0;
	/* No older call restricts a whole tree while nobody sees it. */
	return err_feature(e, "mount_setattr", "5.12",
			   "set mount attributes of %s%s", shown(path),
			   errno == EPERM ? " (a container that filters system "
					    "calls has to permit mount_setattr)" :
					    "");
}

int mount_set_attrs(int tree_fd, uint64_t attrs, bool recursive, struct err *e)
{
	struct mount_attr attr = { .attr_set = attrs };

	return set_attr(tree_fd, "", recursive, &attr, e);
}

int mount_clone_restricted(int dirfd, const char *path, bool recursive,
			   uint64_t attrs, struct err *e)
{
	struct mount_attr attr = {
		.attr_set = attrs, .propagation = MS_PRIVATE,
	};
	auto_fd int tree_fd = (int)syscall(SYS_open_tree_attr, dirfd, path,
					   clone_flags(path, recursive), &attr,
					   sizeof attr);

	if (tree_fd >= 0)
		return steal_fd(&tree_fd);
	/* A filter around us that is older than the call says EPERM. */
	if (errno != ENOSYS && errno != EPERM)
		return err_sys(e, "copy the tree of %s", shown(path));
	tree_fd = mount_clone(dirfd, path, recursive, e);
	if (tree_fd < 0 || set_attr(tree_fd, "", recursive, &attr, e) < 0)
		return -1;
	return steal_fd(&tree_fd);
}

int mount_set_private(int dirfd, const char *path, bool recursive,
		      struct err *e)
{
	struct mount_attr attr = { .propagation = MS_PRIVATE };

	return set_attr(dirfd, path, recursive, &attr, e);
}

int mount_idmap(int tree_fd, int userns_fd, bool recursive, struct err *e)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_IDMAP, .propagation = MS_PRIVATE,
		.userns_fd = (unsigned)userns_fd,
	};

	if (set_attr(tree_fd, "", recursive, &attr, e) == 0)
		return 0;
	if (e->code == EINVAL)
		return err_set_(e, ERR_UNSUPP, EINVAL, __FILE_NAME__, __LINE__,
				"this file system has no idmapped mounts");
	return err_ctx(e, "map the owners");
}

int mount_attach(int tree_fd, int dirfd, const char *path, struct err *e)
{
	unsigned flags = MOVE_MOUNT_F_EMPTY_PATH;

	if (!path[0])
		flags |= MOVE_MOUNT_T_EMPTY_PATH;
	if (move_mount(tree_fd, "", dirfd, path, flags) < 0)
		return err_feature(e, "move_mount", "5.2", "attach to %s%s",
				   shown(path), errno != EPERM ? "" :
				   " (Landlock, a security module or a filter "
				   "around stockade permits no mounts)");
	return 0;
}

/* The kernel explains a refused option in the descriptor itself. */
static int fs_failed(int fs_fd, const char *type, const char *what,
		     struct err *e)
{
	int cause = errno;
	char text[160];
	ssize_t n = read(fs_fd, text, sizeof text - 1);

	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\0'))
		n--;
	errno = cause;
	if (n <= 2)
		return err_sys(e, "%s of %s", what, type);
	/* "e text", "w text" or "i text" */
	return err_sys(e, "%s of %s: %.*s", what, type, (int)n - 2, text + 2);
}

int mount_new_fs(const char *type, const struct mount_option *options,
		 size_t n, uint64_t attrs, struct err *e)
{
	auto_fd int fs_fd = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (fs_fd < 0)
		return err_feature(e, "fsopen", "5.2", "open file system %s",
				   type);
	for (size_t i = 0; i < n; i++) {
		const struct mount_option *o = &options[i];
		unsigned cmd = o->value ? FSCONFIG_SET_STRING :
					  FSCONFIG_SET_FLAG;

		if (fsconfig(fs_fd, cmd, o->key, o->value, 0) < 0)
			return fs_failed(fs_fd, type, o->key, e);
	}
	if (fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fs_failed(fs_fd, type, "make", e);
	fd = fsmount(fs_fd, FSMOUNT_CLOEXEC, (unsigned)attrs);
	if (fd < 0)
		return fs_failed(fs_fd, type, "mount", e);
	return fd;
}

int mount_change_fs(int fd, const char *type,
		    const struct mount_option *option, struct err *e)
{
	auto_fd int fs_fd = fspick(fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);

	if (fs_fd < 0)
		return err_feature(e, "fspick", "5.2", "open file system %s",
				   type);
	if (fsconfig(fs_fd, FSCONFIG_SET_STRING, option->key, option->value,
		     0) < 0 ||
	    fsconfig(fs_fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		return fs_failed(fs_fd, type, option->key, e);
	return 0;
}

int mount_new_overlay(const struct mount_layers *l, uint64_t attrs,
		      struct err *e)
{
	char lower[32], upper[32], work[32];
	/* By their descriptors, so that no name is looked up twice, and none
	 * of the host's is in the mount's line in mountinfo. */
	const struct mount_option options[] = {
		{ "userxattr", NULL },	/* before the others: it forbids some */
		{ "redirect_dir", "nofollow" }, { "metacopy", "off" },
		{ "index", "off" }, { "xino", "off" },
		/* Nothing is synced, neither each file that is copied up, nor
		 * all of the file system at the end: that is the caller's. */
		{ "volatile", NULL },
		{ "lowerdir", lower }, { "upperdir", upper },
		{ "workdir", work },
	};
	struct statvfs fs;
	int fd;

	(void)snprintf(lower, sizeof lower, "/proc/self/fd/%d", l->lower_fd);
	(void)snprintf(upper, sizeof upper, "/proc/self/fd/%d", l->upper_fd);
	(void)snprintf(work, sizeof work, "/proc/self/fd/%d", l->work_fd);
	fd = mount_new_fs("overlay", options, countof(options), attrs, e);
	if (fd < 0)
		return e->code == ENODEV ?
			       err_set_(e, ERR_UNSUPP, ENODEV, __FILE_NAME__,
					__LINE__, "this kernel has no overlay "
					"file system") : -1;
	/* The kernel's answer to an upper layer that it cannot use. */
	if (fstatvfs(fd, &fs) < 0 || fs.f_flag & ST_RDONLY) {
		(void)close(fd);
		return err_kind(e, ERR_UNSUPP, "the overlay is read-only: its "
				"upper layer cannot be used");
	}
	return fd;
}

/*
 * pivot_root(".", ".") stacks the old root over the new one at the same place,
 * so that no directory has to be found for it; "." is then the old root's
 * mount, and detaching it uncovers the new.
 */
int mount_pivot(int new_root_fd, struct err *e)
{
	if (fchdir(new_root_fd) < 0)
		return err_sys(e, "enter the new root");
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(e, "pivot_root");
	return 0;
}

int mount_leave_old_root(struct err *e)
{
	if (chdir("/") < 0)
		return err_sys(e, "enter /");
	/* "." is what lies on top of it. */
	if (umount2(".", MNT_DETACH) < 0)
		return err_sys(e, "detach the old root");
	return 0;
}

int mount_can_nest(struct err *e)
{
	auto_fd int outer_fd = mount_new_fs("tmpfs", NULL, 0, 0, e);
	auto_fd int inner_fd = -1;

	if (outer_fd < 0)
		return -1;
	inner_fd = mount_new_fs("tmpfs", NULL, 0, 0, e);
	if (inner_fd < 0)
		return -1;
	if (mount_attach(inner_fd, outer_fd, "", e) == 0)
		return 1;
	return e->code == EINVAL ? 0 : -1;
}
