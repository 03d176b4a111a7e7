/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the agent.
 *
 * conn_run() moves it as far as it goes: it writes what waits in `out`, then
 * lets the step of the current state work, until a step lacks something.
 * Whatever brings news (the socket, a verdict, the stream, a certificate) notes
 * it and calls conn_run().  A step never waits and never calls conn_run().
 *
 * A dead connection's memory stays until the event loop is between events, so
 * that a callback may end the connection that it was called for.
 */
#ifndef EDGE_CONN_H
#define EDGE_CONN_H

#include <netinet/in.h>

#include "edge.h"
#include "page.h"

enum conn_state {
	CONN_OPENING = 1,	/* the first byte tells TLS from HTTP */
	CONN_HANDSHAKE,		/* TLS */
	CONN_DNS,		/* questions over TCP */
	CONN_HEAD,		/* between requests, and while one's head comes */
	CONN_VERDICT,		/* warden was asked */
	CONN_EXCHANGE,		/* body to dial, response back */
	CONN_LINGER,		/* said the last word; what still comes is dropped */
	CONN_DEAD,
};

enum {
	CONN_IN_MAX = 65536 + 32768,	/* a head and a piece of what follows */
	CONN_OUT_MAX = 1 << 18,
	CONN_READ = 32768,
};

/* Where a captured connection was meant to go. */
struct dest {
	uint32_t number;		/* of a synthetic name, or 0 */
	uint16_t port;
	char text[INET6_ADDRSTRLEN];	/* the address */
};

struct exchange;
struct tls;

struct conn {
	struct edge *edge;
	struct conn *next;	/* in its slot, later among the dead */
	struct watch watch;	/* the agent's socket, owned */
	struct channel stream;	/* to dial; open from the first allowed request */
	uint32_t number;	/* as warden and dial know it */
	uint32_t last_id;	/* of its requests */
	enum conn_state state;
	struct dest dest;
	struct tls *tls;	/* owned; NULL: plain */
	struct exchange *exchange;	/* owned; the one request at work */
	struct buf in, out;
	/* The host and port that every request must be for.  Empty for a
	 * literal address without SNI, and at the proxy before CONNECT. */
	char host[254];
	uint8_t host_n;
	uint16_t port;
	struct timer hold;	/* armed: `out` waits a moment for more */
	uint64_t since_ms;	/* the last progress, for the deadlines */
	uint64_t drained;	/* bytes dropped while lingering */
	size_t scanned;		/* of `in`: no whole head in them */
	bool running;
	bool readable;		/* the socket may have more */
	bool want_read;		/* a step wants more than there was */
	bool want_write;	/* TLS wants to write */
	bool eof;		/* the agent sent its last byte */
	bool finishing;		/* close when `out` is written */
	bool proxy;		/* the explicit proxy, before a CONNECT */
	bool tunnel;		/* behind a CONNECT: nothing but TLS */
	bool used;		/* a request was read */
	bool wait_cert;		/* vault was asked */
};

static inline struct sv conn_host(const struct conn *c)
{
	return sv_of(c->host, c->host_n);
}

/* Was it meant for an address that no name stands for? */
static inline bool conn_is_literal(const struct conn *c)
{
	return c->dest.number == 0 && !c->tunnel;
}

void conn_set_host(struct conn *c, struct sv host, uint16_t port);

/* Takes *fd. */
void conn_start(struct edge *g, int *fd, const struct dest *dest);
void conn_run(struct conn *c);
struct conn *conn_find(struct edge *g, uint32_t number);
/* A number that dial has not seen: its next request gets a new stream. */
void conn_renumber(struct conn *c);

/* For steps.  conn_set_state() also starts the state's deadline. */
void conn_set_state(struct conn *c, enum conn_state state);
/* Reads more into `in`, up to `most` bytes in it; false: nothing came. */
bool conn_fill(struct conn *c, size_t most);
/* The next bytes of `out` are about to come: write them together.  Undone by
 * conn_release(), or soon by itself. */
void conn_hold(struct conn *c);
void conn_release(struct conn *c);
/* Writes `out`, then says goodbye and lingers. */
void conn_finish(struct conn *c);
/* Ends it: abort with a reset, so that what was sent shows as cut off. */
void conn_close(struct conn *c);
void conn_abort(struct conn *c);
/* REFUSED for this connection. */
void conn_refused(struct conn *c, struct sv reason);

/* For edge.c: all connections. */
void conn_on_verdict(struct edge *g, struct msg *m);
void conn_resume_all(struct edge *g);
void conn_check_deadlines(struct edge *g);
void conn_bury(struct edge *g);

/* For conn.c. */
void conn_enlist(struct conn *c);
void conn_delist(struct conn *c);
bool conn_is_held(const struct conn *c);
void conn_on_hold_over(struct timer *t);
void conn_flush(struct conn *c);
/* The last byte is written: nothing is answered any more. */
void conn_say_goodbye(struct conn *c);
bool conn_linger(struct conn *c);

#endif
