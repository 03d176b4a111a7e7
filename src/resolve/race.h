/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A race of connects: the first of several addresses that answers is taken.
 *
 * The next address is tried when the one before has failed or has not
 * answered within RACE_STAGGER_MS (after RFC 8305), IPv6 and IPv4 in turn.
 * Nothing here judges an address: who starts a race has done so.
 */
#ifndef RESOLVE_RACE_H
#define RESOLVE_RACE_H

#include "address.h"
#include "loop.h"

enum {
	RACE_STAGGER_MS = 250,
	RACE_MS = 10000,
	RACE_LANES = 4,		/* connects under way at once */
	RACE_ADDRESSES = 16,	/* tried at most */
};

struct race;

struct race_lane {
	struct watch watch;	/* watch.fd is owned; -1 when unused */
	struct race *race;
	size_t address;		/* which of race->order */
};

struct race {
	struct loop *loop;	/* NULL when idle */
	struct race_lane lanes[RACE_LANES];
	struct address order[RACE_ADDRESSES];
	size_t n, next;
	uint16_t port;
	struct timer stagger, deadline;
	int why;		/* errno of the last failure */
	/* Called once, from the loop, never from race_start(): fd is the
	 * taker's, or -1 and the reason. */
	void (*finished)(struct race *r, int fd, const struct address *a,
			 const char *error);
};

/* r is zeroed but for finished. */
void race_start(struct race *r, struct loop *l, const struct addresses *to,
		uint16_t port);
/* Closes what is under way; accepts a zeroed or finished race. */
void race_cancel(struct race *r);

#endif
