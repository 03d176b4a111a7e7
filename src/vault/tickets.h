/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-time tickets: warden grants, dial redeems.
 *
 * A ticket binds one secret to one host and port.  It is spent by the first
 * attempt to redeem it, also by a wrong one: a dial that asks for another
 * place than the one that was decided gets nothing, and no second try.
 */
#ifndef VAULT_TICKETS_H
#define VAULT_TICKETS_H

#include "err.h"
#include "messages.h"
#include "sv.h"

enum { TICKETS_MAX = 256, TICKET_LIFE_MS = 60000, TICKET_HOST_MAX = 253 };

struct ticket {
	uint64_t due_ms;	/* 0: free */
	uint32_t secret;
	uint16_t port;
	unsigned char host_n;
	char host[TICKET_HOST_MAX];
	char bytes[WIRE_TICKET];
};

struct tickets {
	struct ticket list[TICKETS_MAX];
};

/* What is granted or redeemed; views of a message. */
struct claim {
	struct sv ticket, host;
	uint16_t port;
};

/* ERR_PROTO for a ticket that is malformed or known, ERR_LIMIT when full. */
must_check int tickets_grant(struct tickets *t, const struct claim *c,
			     uint32_t secret, uint64_t now_ms, struct err *e);
/* Whether it was granted, and neither spent nor forgotten since. */
bool tickets_has(struct tickets *t, struct sv ticket, uint64_t now_ms);
/* Spends the ticket; *ret_secret only when true. */
must_check bool tickets_redeem(struct tickets *t, const struct claim *c,
			       uint64_t now_ms, uint32_t *ret_secret);

#endif
