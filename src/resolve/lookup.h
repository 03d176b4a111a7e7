/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name lookups that do not block the loop.
 *
 * getaddrinfo(3) honours whatever the host is set up with, and blocks.  So a
 * few threads call it: the only threads of the program.  A lookup has one
 * deadline, counted from its start, in the queue or not: a name server that
 * does not answer costs its own lookups and, with every thread waiting for
 * it, delays the others by at most what the resolver's own limits allow.
 */
#ifndef RESOLVE_LOOKUP_H
#define RESOLVE_LOOKUP_H

#include "address.h"
#include "loop.h"

enum {
	LOOKUP_THREADS = 16,	/* started as they are needed */
	LOOKUP_QUEUE = 1024,	/* waiting for a thread */
	LOOKUP_MS = 10000,
	LOOKUP_ERROR = 256,
};

struct lookup_task;

struct lookup {
	/* The name is a proxy's, which a person has named: every address but
	 * those that are nobody's is good.  Set by the caller, or false. */
	bool trusted;
	struct timer deadline;		/* private to lookup.c */
	struct lookup_task *task;	/* NULL when idle */
	/*
	 * Called once, from the loop: the addresses that may be dialled, in
	 * the resolver's order, or none and the reason.
	 */
	void (*finished)(struct lookup *l, const struct addresses *found,
			 const char *error);
};

must_check int lookup_init(struct loop *l, struct err *e);
/* l->finished is set by the caller.  -1: too many already. */
must_check int lookup_start(struct lookup *l, struct sv host, struct err *e);
/* finished will not be called any more; accepts an idle lookup. */
void lookup_cancel(struct lookup *l);

#endif
