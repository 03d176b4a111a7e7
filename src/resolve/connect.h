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

/*
 * How a CONNECT ended; called once for each, possibly from connect_start().
 * fd is borrowed, or -1 and the reason; address is what was dialled.
 */
struct connect_sink {
	void (*finished)(uint32_t conn, uint32_t id, int fd,
			 const char *address, const char *error);
};

void connect_start(struct loop *l, const struct msg_CONNECT *m,
		  const struct connect_sink *sink);

#endif
