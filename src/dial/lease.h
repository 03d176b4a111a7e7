/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The credentials that vault leases to one exchange.
 *
 * Tickets are redeemed together, for the host and port that TLS has verified;
 * the values are wiped as soon as they are in the request and the scrubber
 * knows them.
 */
#ifndef DIAL_LEASE_H
#define DIAL_LEASE_H

#include "channel.h"
#include "head.h"

struct leases {
	struct leases *next;	/* of all that wait; private to lease.c */
	size_t n, n_missing;
	struct sv tickets[EDITS_MAX];	/* borrowed */
	struct buf values[EDITS_MAX];	/* wiped */
	/* Called once, from the loop: all are there, or vault refused one. */
	void (*finished)(struct leases *l, bool ok);
};

/* l is zeroed but for finished. */
must_check int lease_ask(struct leases *l, struct channel *vault,
			 const struct edit *edits, size_t n,
			 const struct http_request *r, struct err *e);
/* vault's answer, which is wiped out of the message.  One that nobody waits
 * for any more is dropped. */
void lease_answer(const struct msg_LEASE *m);
/* Wipes; accepts a zeroed one. */
void lease_fini(struct leases *l);

#endif
