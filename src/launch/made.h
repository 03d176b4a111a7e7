/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories that the agent has made in this run, by identity: they keep it
 * when they are renamed.  One that is not known is taken for the user's.
 */
#ifndef LAUNCH_MADE_H
#define LAUNCH_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { MADE_MAX = 1 << 20 };

struct made {
	struct made_directory {
		uint64_t dev, ino;	/* ino 0: a free place */
	} *table;			/* owned */
	size_t n, size;			/* size is 0 or a power of two */
};

/* Forgets it where there is no memory, or too many. */
void made_add(struct made *m, const struct stat *st);
bool made_has(const struct made *m, const struct stat *st);

#endif
