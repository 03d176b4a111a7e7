/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories that the agent has made in this run, by identity: they keep it
 * when they are renamed.  The number of one that is gone can be another's soon, of
 * the user's, so that the time of its birth is part of it, where there is one.
 * One that is not known is taken for the user's.
 */
#ifndef LAUNCH_MADE_H
#define LAUNCH_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { MADE_MAX = 1 << 20 };

struct made_directory {
	uint64_t dev, ino;	/* ino 0: a free place */
	int64_t born_ns;
};

/* All of them in a row, in memory that is shared with who looks on from outside
 * (sentry.h), which reads no more than n says. */
struct made_log {
	_Atomic size_t n;
	_Atomic unsigned turns;	/* odd: pid 1 is about to make something */
	struct made_directory v[MADE_MAX];
};

struct made {
	struct made_directory *table;	/* owned */
	size_t n, size;			/* size is 0 or a power of two */
	struct made_log *log;		/* borrowed; NULL: none is kept */
};

/* The directory that has just got that name, at `now` or later.  Forgotten where
 * there is no memory, or too many; one that is older has taken its place. */
void made_add(struct made *m, int dir_fd, const char *name, time_t now);
/* Whoever writes it begins something, or has noted all that it has made. */
void made_turn(struct made_log *log);
/* Those of the log that are not in it yet. */
void made_follow(struct made *m, const struct made_log *log, size_t *seen);
/* Waits, not for ever, until what is there now would be in the log. */
void made_await(const struct made_log *log);
/* name "": the directory itself. */
bool made_has(const struct made *m, int dir_fd, const char *name);

#endif
