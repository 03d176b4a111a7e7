/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CONNECT: from a name, or a way around it, to a connected socket.
 *
 * Without `via` the host is looked up once, every answer is judged, and what
 * is dialled is an address that passed: never the name again.  With `via` (a
 * person wrote `reach`) exactly that endpoint is dialled, without any lookup
 * or judgement but one: a cloud's metadata service is refused even then.
 */
#ifndef RESOLVE_CONNECT_H
#define RESOLVE_CONNECT_H

#include "err.h"
#include "loop.h"
#include "messages.h"

enum { CONNECTS_MAX = 4096 };

/* How a CONNECT ended. */
struct connect_end {
	uint32_t conn, id;
	int fd;			/* borrowed, or -1 and the reason */
	const char *error;
	const char *address;	/* of the origin: dialled, or for the proxy to
				   dial; "" where that looks the name up */
	const char *proxy;	/* its address; "" without one */
};

/* Called once for each CONNECT, possibly from connect_start(). */
struct connect_sink {
	void (*finished)(const struct connect_end *end);
};

void connect_start(struct loop *l, const struct msg_CONNECT *m,
		  const struct connect_sink *sink);

#endif
