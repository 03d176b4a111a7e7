/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard descriptors that the command does not get itself, relayed through
 * pipes.
 *
 * Programs that start others often make sockets for them (Node does).  A
 * socket is never given to the command: descriptors can be sent over it.  Nor
 * is an output that is limited: what is written to it has to be counted.  So
 * the command has a pipe, and this carries the bytes.
 */
#ifndef CLI_RELAY_H
#define CLI_RELAY_H

#include "buf.h"
#include "loop.h"
#include "output_count.h"

struct relay {
	struct loop *loop;	/* borrowed; NULL: not open */
	int from_fd, to_fd;
	bool outward;		/* from the pipe; both are owned */
	bool is_socket;		/* the other side */
	bool may_block;		/* ... is shared, and could not be reopened */
	bool ended;		/* nothing more will be read */
	struct watch from, to;
	struct buf buf;
	struct output_count *count;	/* borrowed; set after opening */
};

/* Descriptor 0: to the pipe; the others: outward.  Takes pipe_fd, also on
 * failure. */
must_check int relay_open(struct relay *r, struct loop *loop, int fd,
			  int pipe_fd, bool outward, struct err *e);
/* After the sandbox is gone: what it still wrote goes out, for a moment.
 * Accepts a zeroed one. */
void relay_close(struct relay *r);

#endif
