/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The credentials that vault leases to a connection.
 *
 * dial cannot speak to vault: an exchange claims of warden what it carries, once
 * the origin has proved its name, and warden has vault send one LEASE for each
 * secret.
 *
 *	lease_new()	empty, while the exchange waits
 *	lease_put()	a value has come
 *	lease_keep()	all are there: the connection's next requests need not claim
 *			them again ...
 *	LEASE_MS	... for this long, then it is wiped
 *
 * The term is counted from when it was leased, not from the last use, so that a
 * connection that is never quiet claims anew as well.
 */
#ifndef DIAL_LEASE_H
#define DIAL_LEASE_H

#include "head.h"
#include "loop.h"
#include "scrub.h"

enum { LEASE_MS = 1000 };

struct lease;

/* For the secrets of all edits, at most EDITS_MAX; no views are kept. */
must_check struct lease *lease_new(const struct edit *edits, size_t n,
				   struct err *e);
/* vault's answer.  False: it is a refusal, or of nothing that is missing. */
must_check bool lease_put(struct lease *l, const struct msg_LEASE *m);
/* MASK came: before the rest of it has, or before it is used.  False: no room. */
must_check bool lease_mask(struct lease *l, uint32_t secret, struct sv values);
bool lease_is_whole(const struct lease *l);
/* Moves it to *to, in place of what is there; *to is NULL again when the term is
 * over.  *to does not move meanwhile, and ends with lease_drop(). */
void lease_keep(struct lease **from, struct lease **to, struct loop *loop);
void lease_drop(struct lease **l);	/* wipes; accepts one that is NULL */

/* Is the secret of each edit there?  Accepts NULL. */
bool lease_covers(const struct lease *l, const struct edit *edits, size_t n);
/* Valid until the loop goes on; empty when it is not there. */
struct sv lease_value(const struct lease *l, uint32_t secret);
/* Masks all that its secrets are, were or have become.  NULL with an error. */
must_check struct scrub *lease_scrub(const struct lease *l, struct err *e);
/* Drops those that are kept and have it: the secret has another value. */
void lease_forget(uint32_t secret);

#endif
