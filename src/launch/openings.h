/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open() and creat() for somebody else, of what is there and of what is not.
 *
 * The open() of a FIFO that nobody reads yet waits, and pid 1 does not: it is
 * tried again and again.
 */
#ifndef LAUNCH_OPENINGS_H
#define LAUNCH_OPENINGS_H

#include "errand.h"

enum { OPENINGS_MAX = 64 };	/* that wait */

/* An open() of a FIFO that waits for its other side. */
struct opening {
	uint64_t id;
	int fifo_fd;		/* owned; O_PATH; -1: this place is free */
	int flags;
	bool cloexec;
};

struct openings {
	struct opening waiting[OPENINGS_MAX];
	size_t n;
};

void openings_init(struct openings *o);
/* 0 or an errno; or r->answer.later, and it waits here. */
must_check int openings_serve(struct errand *r, int dirfd, uint64_t path,
			      int flags, mode_t mode);
/* Tries the one at that place again: true, and what the call is answered with,
 * or it waits still. */
bool openings_retry(const struct opening *w, struct answer *ret);
void openings_forget(struct openings *o, struct opening *w);

#endif
