/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard descriptors that are sockets, relayed through pipes.
 *
 * Programs that start others often make sockets for them (Node does).  A
 * socket is never given to the command: descriptors can be sent over it.  So
 * the command has a pipe, and this carries the bytes.
 */
#ifndef CLI_RELAY_H
#define CLI_RELAY_H

#include "buf.h"
#include "loop.h"

struct relay {
	struct loop *loop;	/* borrowed; NULL: not open */
	int from_fd, to_fd;
	bool to_socket;		/* the other one is the pipe, and is owned */
	bool ended;		/* nothing more will be read */
	struct watch from, to;
	struct buf buf;
};

/* Descriptor 0: socket to pipe.  Takes pipe_fd, also on failure. */
must_check int relay_open(struct relay *r, struct loop *loop, int socket_fd,
			  int pipe_fd, bool to_socket, struct err *e);
/* After the sandbox is gone: what it still wrote goes out, for a moment.
 * Accepts a zeroed one. */
void relay_close(struct relay *r);

#endif
