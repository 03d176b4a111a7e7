/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: the second wall around the file system, behind the mounts.
 *
 * ABI 2 (5.19) is the floor: without REFER no file could be renamed between
 * directories.  Above it everything that the kernel knows is handled; there is
 * no "best effort".  Network rights are not used: the namespace is that wall.
 */
#ifndef KERNEL_LANDLOCK_H
#define KERNEL_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

enum { LANDLOCK_ABI_MIN = 2 };

/* What a rule grants, combined by |. */
enum landlock_grant {
	LANDLOCK_READ = 1,	/* read files, list directories */
	LANDLOCK_EXECUTE = 2,
	LANDLOCK_WRITE = 4,	/* write, make, rename, remove; no devices */
	LANDLOCK_IOCTL = 8,	/* ioctl of device files: terminals */
};

struct landlock {
	int fd;			/* owned; the ruleset */
	int abi;
	uint64_t handled;	/* rights of this ABI */
};

/* The kernel's ABI; 0 when Landlock is absent or switched off. */
int landlock_abi(void);

/* An empty ruleset: nothing is allowed.  ERR_UNSUPP below the floor.  With
 * `scoped`, ABI 6 and up also cuts off abstract sockets and signals that cross
 * the domain's border. */
must_check int landlock_new(struct landlock *ret, bool scoped, struct err *e);
/* Allows `grants` on what fd (O_PATH will do) refers to, and below. */
must_check int landlock_allow(const struct landlock *l, int fd,
			      unsigned grants, struct err *e);
/* Binds the calling thread for ever; needs no_new_privs.  Closes l->fd. */
must_check int landlock_enforce(struct landlock *l, struct err *e);
/* Accepts what landlock_new() left after a failure; initialise with
 * LANDLOCK_NONE where it may be reached before. */
void landlock_free(struct landlock *l);
#define LANDLOCK_NONE ((struct landlock){ .fd = -1 })
#define auto_landlock __attribute__((cleanup(landlock_free)))

#endif
