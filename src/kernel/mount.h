/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts by descriptor: open_tree, mount_setattr, move_mount, fsopen.
 *
 * Attributes are set on a copy that is attached nowhere, so there is no moment
 * at which a tree is visible and still writable, and no mountinfo to parse.
 *
 * A path argument of "" means the descriptor beside it.  Paths are not
 * resolved safely here: open them by path.h first, and pass the descriptor.
 *
 * Attaching to a tree that is itself detached works from 6.15; before, it
 * fails with EINVAL, and the new root has to be attached somewhere in the
 * private mount namespace first, then filled.  mount_can_nest() tells which.
 */
#ifndef KERNEL_MOUNT_H
#define KERNEL_MOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>

#include "err.h"

/* A detached copy of the tree at path: a descriptor.  Where the original is
 * shared (systemd shares `/`), so is the copy: what is mounted in it appears on
 * the host.  The two below cut it off. */
must_check int mount_clone(int dirfd, const char *path, bool recursive,
			   struct err *e);

/* The same, cut off, with attributes added to what the tree has
 * (mount_set_attrs()). */
must_check int mount_clone_restricted(int dirfd, const char *path,
				      bool recursive, uint64_t attrs,
				      struct err *e);

/* Adds MOUNT_ATTR_RDONLY, _NOSUID, _NODEV, _NOEXEC, _NOSYMFOLLOW to what the
 * tree has; what is not named stays. */
must_check int mount_set_attrs(int tree_fd, uint64_t attrs, bool recursive,
			       struct err *e);
/* No event travels to or from the mounts of this tree. */
must_check int mount_set_private(int dirfd, const char *path, bool recursive,
				 struct err *e);
/* The owners on disk are seen through the maps of userns_fd (userns.h), and the
 * tree is cut off.  Only a detached one; needs root outside and a file system
 * that can. */
must_check int mount_idmap(int tree_fd, int userns_fd, bool recursive,
			   struct err *e);

/* Attaches tree_fd over (dirfd, path): a directory over a directory, anything
 * else over anything but a directory.  tree_fd then refers to the mount. */
must_check int mount_attach(int tree_fd, int dirfd, const char *path,
			    struct err *e);

struct mount_option {
	const char *key;
	const char *value;	/* NULL: a flag without a value */
};

/* A new file system ("tmpfs", "proc", "devpts", "mqueue"), detached. */
must_check int mount_new_fs(const char *type,
			    const struct mount_option *options, size_t n,
			    uint64_t attrs, struct err *e);

/* Changes an option of the file system at fd, the root of a mount of it. */
must_check int mount_change_fs(int fd, const char *type,
			       const struct mount_option *option,
			       struct err *e);

/*
 * A new overlay, detached: what is written goes to `upper`, `lower` is never
 * changed.  upper and work are directories of one mount.  Its attributes are
 * user.overlay.*, which a user may write, and which the overlay keeps from
 * whoever is in it; directories are not redirected, no file is half copied.
 * Nothing in it is ever synced (volatile, from 5.10): the caller may syncfs()
 * the upper layer's file system afterwards.  A work directory serves once.
 */
struct mount_layers {
	int lower_fd, upper_fd, work_fd;
};
must_check int mount_new_overlay(const struct mount_layers *l, uint64_t attrs,
				 struct err *e);

/* Makes the mount at new_root_fd the root of this mount namespace, for all
 * that had the old one, and the working directory.  The old root lies over it,
 * where no path leads, until it is left. */
must_check int mount_pivot(int new_root_fd, struct err *e);
/* The old root is detached; it takes the kernel a while.  The working directory
 * is "/" then. */
must_check int mount_leave_old_root(struct err *e);

/* Can a detached tree take mounts?  Needs CAP_SYS_ADMIN over the mount
 * namespace; -1 with *e when it cannot be found out. */
must_check int mount_can_nest(struct err *e);

#endif
