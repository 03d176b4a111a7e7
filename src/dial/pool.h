/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections to origins, and who may use which.
 *
 * A connection serves one share: a scheme, host and port, and the secrets that
 * requests carry there.  It is lent to one exchange at a time, comes back when
 * that has left it quiet, and is lent again only for an equal share: what an
 * origin remembers of a connection is then never more than one set of secrets.
 *
 *	u = pool_take(l, &x->turn)	an idle one, or one that is to be opened
 *	pool_give(u)			it may serve the next
 *	pool_drop(u)			it may not
 *
 * One that speaks HTTP/2 is lent to many at a time, and only pool_drop() is for
 * it: the session knows by itself whether it may serve others.  While the first
 * one to an origin is being made, those who could share it wait to see.
 *
 * To one host POOL_OPEN_MAX are open at most, with those that are being made.
 * Who comes then waits for its turn, in the order in which they came; an idle
 * one of another share is closed before anybody waits.
 */
#ifndef DIAL_POOL_H
#define DIAL_POOL_H

#include "upstream.h"

enum {
	POOL_OPEN_MAX = 64,	/* to one host */
	POOL_IDLE_MAX = 256,	/* to all of them */
	POOL_SPARE_MAX = 8,	/* of a host, idle for more than a sweep */
	POOL_SWEEP_MS = 1000,
	POOL_IDLE_MS = 30000,
};

struct share {
	enum http_scheme scheme;
	uint16_t port;
	struct sv host;
	struct sv secrets;	/* at most UPSTREAM_SECRETS_MAX bytes */
	bool h2;		/* HTTP/2 will do as well */
};

struct origin;

/* A request that needs a connection; zeroed but for share and came. */
struct turn {
	struct share share;	/* whose views outlive the turn */
	/* From the loop: it has one, as pool_take() would have returned it. */
	void (*came)(struct turn *t, struct upstream *u);
	/* The rest is private. */
	struct turn *next;
	struct origin *origin;	/* NULL: it does not wait */
};

/*
 * The connection, which is the caller's: idle and open, or still closed.  NULL:
 * t->came will be called, unless *e says why there is no connection at all.
 */
must_check struct upstream *pool_take(struct loop *l, struct turn *t,
				      struct err *e);
/* Waits no more; accepts one that does not. */
void pool_leave(struct turn *t);
/* TLS is there, and with it what is spoken; HTTP/2 is begun. */
must_check int pool_connected(struct upstream *u, struct err *e);
/* Open, and nothing is outstanding on it. */
void pool_give(struct upstream *u);
void pool_drop(struct upstream *u);	/* closes and frees; accepts NULL */
/* Closes all that are idle, for their descriptors. */
void pool_drop_idle(void);

#endif
