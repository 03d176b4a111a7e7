/* SPDX-License-Identifier: Apache-2.0 */
/* A file system in memory, of a size, that nobody else has. */
#ifndef KERNEL_TMPFS_H
#define KERNEL_TMPFS_H

#include <stdint.h>

#include "err.h"

/*
 * Detached, and the caller's alone: a descriptor.  It ends with the last
 * descriptor and mount of it.  Past `bytes` of contents writing is ENOSPC, and so
 * is making a name where there is one for each 4K of that and 256 more: what has no
 * contents takes memory as well.
 */
must_check int tmpfs_new(uint64_t bytes, struct err *e);

/* Does this kernel keep user attributes in one (6.6), and has the machine as much
 * memory, swap counted, so that it would end in ENOSPC rather than for want of
 * memory?  0, or -1 with ERR_UNSUPP.  Needs no rights. */
must_check int tmpfs_check_attributes(struct err *e);
must_check int tmpfs_check_size(uint64_t bytes, struct err *e);

#endif
