/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading many directories: as dir.h does one, but with storage of the
 * caller's, which is used again, so that a directory costs no allocation, and
 * with fewer calls: what is open is known to be a directory.
 */
#ifndef BASE_DENTS_H
#define BASE_DENTS_H

#include <dirent.h>
#include <stddef.h>

enum { DENTS_ROOM = 32 << 10 };

struct dents {
	int fd;			/* borrowed */
	size_t at, n;
	_Alignas(struct dirent) char room[DENTS_ROOM];
};

/* One for each depth of a tree that is gone through.  Zeroed at first. */
enum { DENTS_DEPTH_MAX = 200 };

struct dents_pile {
	struct dents *at[DENTS_DEPTH_MAX];	/* owned */
};

/* For the directory fd, `depth` below the first (0); NULL without memory. */
struct dents *dents_pile_begin(struct dents_pile *p, unsigned depth, int fd);
void dents_pile_free(struct dents_pile *p);

/* The next entry that is neither "." nor "..", good until the next call.  NULL
 * at the end, with errno 0, and when it cannot be read, with errno. */
const struct dirent *dents_next(struct dents *d);

#endif
