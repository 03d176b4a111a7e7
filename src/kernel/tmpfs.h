/* SPDX-License-Identifier: Apache-2.0 */
/* A file system in memory, of a size, that nobody else has. */
#ifndef KERNEL_TMPFS_H
#define KERNEL_TMPFS_H

#include <stdint.h>

#include "err.h"

/* What a name takes of the memory, about. */
enum { TMPFS_NAME = 1024 };

/*
 * Detached, and the caller's alone: a descriptor.  It ends with the last
 * descriptor and mount of it.  Past `bytes` of contents writing is ENOSPC, and so
 * is making a name where there is one for each 4K of that and 256 more: what has no
 * contents takes memory as well.  Unless `names` says how many (0: that).
 */
must_check int tmpfs_new(uint64_t bytes, uint64_t names, struct err *e);
/* Another number of names.  Attributes take from it as well, each 1K of them as a
 * name does.  Needs CAP_SYS_ADMIN where it was made; fails where there are more. */
must_check int tmpfs_set_names(int fd, uint64_t names, struct err *e);

/* Does this kernel keep user attributes in one (6.6), and has the machine as much
 * memory, swap counted, so that it would end in ENOSPC rather than for want of
 * memory?  0, or -1 with ERR_UNSUPP.  Needs no rights. */
must_check int tmpfs_check_attributes(struct err *e);
must_check int tmpfs_check_size(uint64_t bytes, struct err *e);

#endif
