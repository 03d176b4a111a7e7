/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-time tickets: warden grants, dial redeems.
 *
 * A ticket binds one secret to one host and port.  It is spent by the first
 * attempt to redeem it, also by a wrong one: a dial that asks for another
 * place than the one that was decided gets nothing, and no second try.
 *
 * There is one for each credential of each request that dial may be at, since a
 * request waits for a connection with its tickets granted.  What dial gives up
 * is never redeemed and ends by its time; where even that is too many, the
 * oldest ends first.
 *
 * They are found by their first bytes in a table that grows and shrinks, and
 * listed in the order in which they end, as all live equally long.  Whatever of
 * them is freed is wiped.
 */
#ifndef VAULT_TICKETS_H
#define VAULT_TICKETS_H

#include "err.h"
#include "messages.h"
#include "sv.h"

enum {
	TICKETS_MAX = 98304,	/* 12288 requests, each with 8 credentials */
	TICKETS_FEW = 64,	/* the table's least size; a power of two */
	TICKET_HOST_MAX = 253,
};

struct ticket;

/* Zeroed, it is empty. */
struct tickets {
	struct ticket **buckets;	/* owned; NULL while `few` is enough */
	unsigned n_buckets;	/* a power of two; 0 before the first ticket */
	unsigned n;
	struct ticket *oldest, *newest;
	struct ticket *few[TICKETS_FEW];
};

/* What is granted or redeemed; views of a message. */
struct claim {
	struct sv ticket, host;
	uint16_t port;
};

/* ERR_PROTO for a ticket that is malformed or known, ERR_LIMIT without memory. */
must_check int tickets_grant(struct tickets *t, const struct claim *c,
			     uint32_t secret, uint64_t now_ms, struct err *e);
/* Spends the ticket; *ret_secret only when true. */
must_check bool tickets_redeem(struct tickets *t, const struct claim *c,
			       uint64_t now_ms, uint32_t *ret_secret);
/* Forgets those whose time is over.  Milliseconds until the next one's is, or 0
 * when there is none. */
uint64_t tickets_expire(struct tickets *t, uint64_t now_ms);
void tickets_fini(struct tickets *t);

#endif
