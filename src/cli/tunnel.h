/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two stream sockets joined: what comes from one goes to the other, until both
 * have said their last.  Bytes are not looked at.  The memory is constant, a
 * side that ends is ended towards the other alone, and a failure of one resets
 * both.
 */
#ifndef CLI_TUNNEL_H
#define CLI_TUNNEL_H

#include "loop.h"

enum { TUNNEL_BUFFER = 32768 };

struct tunnel_side {
	struct tunnel *tunnel;
	struct watch watch;
	int fd;			/* owned */
	bool ended;		/* it will say no more */
	bool passed;		/* ... and the other has been told */
	size_t at, n;		/* of what it said: not yet passed on */
	char data[TUNNEL_BUFFER];
};

struct tunnel {
	struct loop *loop;
	struct tunnel_side side[2];
	/* Once, from a callback of the loop: to be closed, and freed. */
	void (*over)(struct tunnel *t);
};

/* Takes both descriptors, which must not block, also when it fails. */
must_check int tunnel_open(struct tunnel *t, struct loop *loop, int a_fd,
			   int b_fd, struct err *e);
void tunnel_close(struct tunnel *t);

/* The other end hears of a failure, not of an orderly end. */
void tunnel_reset(int fd);

#endif
