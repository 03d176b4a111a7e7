/* SPDX-License-Identifier: Apache-2.0 */
/* A file system in memory: see tmpfs.h. */
#include "tmpfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/xattr.h>

#include "mount.h"
#include "own.h"

enum { PAGE_BYTES = 4096, NAMES_MIN = 256 };
#define PROBE "user.stockade"

static uint64_t names_of(uint64_t bytes)
{
	return bytes / PAGE_BYTES + NAMES_MIN;
}

int tmpfs_new(uint64_t bytes, uint64_t names, struct err *e)
{
	char size[24], inodes[24];
	/* The kernel counts inodes, and each further name of one as another. */
	const struct mount_option options[] = {
		{ "mode", "0700" }, { "size", size }, { "nr_inodes", inodes },
	};

	(void)snprintf(size, sizeof size, "%" PRIu64, bytes);
	(void)snprintf(inodes, sizeof inodes, "%" PRIu64,
		       names ? names : names_of(bytes));
	return mount_new_fs("tmpfs", options, 3, MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV, e);
}

int tmpfs_set_names(int fd, uint64_t names, struct err *e)
{
	char inodes[24];

	(void)snprintf(inodes, sizeof inodes, "%" PRIu64, names);
	return mount_change_fs(fd, "tmpfs",
			       &(struct mount_option){ "nr_inodes", inodes }, e);
}

/* A memfd lies on the kernel's own tmpfs, which has what all have. */
int tmpfs_check_attributes(struct err *e)
{
	auto_fd int fd = memfd_create("stockade", MFD_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "make a file in memory");
	if (fsetxattr(fd, PROBE, "", 0, 0) == 0)
		return 0;
	if (errno != EOPNOTSUPP)
		return err_sys(e, "give a file in memory an attribute");
	return err_kind(e, ERR_UNSUPP, "user attributes on tmpfs need Linux 6.6 "
			"with CONFIG_TMPFS_XATTR");
}

int tmpfs_check_size(uint64_t bytes, struct err *e)
{
	struct sysinfo info;
	uint64_t memory;

	if (sysinfo(&info) < 0)
		return err_sys(e, "ask how much memory there is");
	memory = ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
	if (bytes < memory)
		return 0;
	return err_kind(e, ERR_UNSUPP, "it is held in memory, of which this "
			"machine has %" PRIu64 "M, swap counted",
			memory >> 20);
}
