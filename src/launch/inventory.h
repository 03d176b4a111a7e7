/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a directory of an overlay, listed before it is moved by its parts
 * (relocation.h): what is not in the list is not moved.
 *
 * Each part is judged as if the agent made it at its new place, and so is what
 * moving it would take.  Nothing is changed.
 */
#ifndef LAUNCH_INVENTORY_H
#define LAUNCH_INVENTORY_H

#include <time.h>

#include "judge.h"

enum {
	INVENTORY_MAX = 2048,		/* parts; all others wait meanwhile */
	INVENTORY_DEPTH_MAX = 64,	/* directories in each other */
	INVENTORY_BYTES_MAX = 256 << 20,	/* the kernel may copy them */
};

/* In the order of a walk: a directory, and then what is in it. */
struct inventory_part {
	uint32_t name;		/* where in the names */
	uint32_t end;		/* the first that is not below it */
	mode_t mode;
	enum { PART_STAYS = 0, PART_MOVED, PART_MADE } state;
	struct timespec times[2];	/* of access and change, of a directory */
};

struct inventory {
	struct inventory_part *parts;	/* owned */
	size_t n, cap;
	char *names;			/* owned; each with its NUL */
	size_t names_n, names_cap;
	uint64_t mount;			/* all of it is on this one */
	uint64_t bytes;
	const struct judge *judge;	/* borrowed */
	uint64_t until_ms;		/* it is not moved for longer */
	/* Both are borrowed; absolute. */
	struct sv from, to;
	char below[PATH_MAX];		/* of both, while it is being listed */
};

/* The mount that a directory is on; EXDEV where the kernel does not say. */
must_check int inventory_mount(int dir_fd, uint64_t *ret);
/*
 * The directory that has that name; from, to and mount are set.  0; EACCES where
 * a part would get a guarded name, EBUSY where one is a mount point, as what is
 * masked, guarded or pinned is; EXDEV when there is too much, or something that
 * cannot be moved so.
 */
must_check int inventory_take(struct inventory *v, struct judge *j, int dir_fd,
			      const char *name);

void inventory_fini(struct inventory *v);
#define auto_inventory __attribute__((cleanup(inventory_fini)))

#endif
