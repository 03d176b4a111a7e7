/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The credentials that vault leases to a connection.
 *
 *	claim_ask()	CLAIM to warden, once the origin has proved its name;
 *			warden has vault send one LEASE for each secret
 *	finished	all are there, or one is refused
 *	lease_keep()	the connection's next requests need not ask again ...
 *	LEASE_MS	... for this long, then it is wiped
 *
 * dial cannot speak to vault: what is leased is what warden has granted to a
 * request that it allowed.  The term is counted from the grant, not from the last
 * use, so that a connection that is never quiet claims anew as well.
 */
#ifndef DIAL_LEASE_H
#define DIAL_LEASE_H

#include "dial.h"
#include "head.h"

enum {
	LEASE_MS = 1000,
	/* Asked for at once; the others wait.  Values of their greatest size then
	 * fit into what a channel queues. */
	CLAIMS_ASKED_MAX = 4,
};

struct lease;

/* Zeroed but for finished. */
struct claim {
	/* Called once, from the loop. */
	void (*finished)(struct claim *c, bool ok);
	struct lease *lease;	/* owned, wiped; what has come so far */
	/* The rest is private. */
	struct claim *next;	/* of all that wait */
	struct dial *dial;
	uint32_t conn, id;
	size_t n_missing;
	bool waits, asked;
};

/* For the secrets of all edits; no views are kept. */
must_check int claim_ask(struct claim *c, struct dial *d, uint32_t conn,
			 uint32_t id, const struct edit *edits, size_t n,
			 struct err *e);
/* vault's answer.  One that nobody waits for any more is dropped. */
void claim_answer(const struct msg_LEASE *m);
/* Waits no more, and wipes; accepts a zeroed one. */
void claim_fini(struct claim *c);

/* Moves what was leased into *to, wiping what was there; *to is NULL again when
 * the term is over. */
void lease_keep(struct claim *c, struct lease **to);
/* Is the secret of each edit there?  Accepts NULL. */
bool lease_covers(const struct lease *l, const struct edit *edits, size_t n);
/* Valid until the loop goes on; empty when it is not there. */
struct sv lease_value(const struct lease *l, uint32_t secret);
void lease_drop(struct lease **l);	/* wipes; accepts one that is NULL */

#endif
