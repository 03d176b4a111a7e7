/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk below a file system, for control groups of version 2.
 *
 * io.max is set for a whole disk, and holds only what the kernel knows the
 * author of.  Reading and direct writing it always does; what is written by way
 * of the page cache goes out later, by a thread of the kernel, and only a few
 * file systems keep the author's group with it (Documentation/admin-guide/
 * cgroup-v2.rst, "Writeback").  On the others a limit would hold in part, so
 * they are refused; memory needs no limit.
 */
#ifndef KERNEL_DISK_H
#define KERNEL_DISK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "sv.h"

struct disk {
	unsigned major, minor;
};

/* A line of /proc/self/mountinfo; views into it. */
struct disk_mount {
	struct disk device;	/* st_dev of what is on it */
	struct sv point;	/* as it stands there, with escapes */
	struct sv type, options;
};

/* Cuts the next line from *mounts; false at the end. */
bool disk_next_mount(struct sv *mounts, struct disk_mount *ret);
/* Where, without escapes; all that fits. */
struct sv disk_mount_point(const struct disk_mount *m, char room[PATH_MAX]);
/* Is it mounted at that path, or below? */
bool disk_mount_is_below(const struct disk_mount *m, struct sv path);

/* Where the kernel tells of them; tests have others. */
struct disk_view {
	int block_fd;		/* /sys/dev/block */
	int ext4_fd;		/* /proc/fs/ext4; -1: there is no ext4 */
};

/* 1: *ret is its disk; 0: it has none, being memory; -1 with ERR_UNSUPP: what
 * is read and written there cannot be limited. */
must_check int disk_of_mount(const struct disk_mount *m,
			     const struct disk_view *view, struct disk *ret,
			     struct err *e);

#endif
