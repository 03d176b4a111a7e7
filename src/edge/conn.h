/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the agent: its bytes, plain or through TLS, and where they
 * were meant to go.  What is asked and answered over it are its calls (call.h),
 * in the HTTP of its face (face.h).
 *
 * conn_run() moves it as far as it goes: it writes what waits in `out`, then
 * lets the step of the current state work, until a step lacks something.
 * Whatever brings news (the socket, a verdict, the stream, a certificate) notes
 * it and calls conn_run().  A step never waits and never calls conn_run().
 *
 * It has a call from its start to its end, so that it always has a number.  A
 * dead connection's memory stays until the event loop is between events, so
 * that a callback may end the connection that it was called for.
 */
#ifndef EDGE_CONN_H
#define EDGE_CONN_H

#include <netinet/in.h>

#include "buf.h"
#include "edge.h"

enum conn_state {
	CONN_OPENING = 1,	/* the first byte tells TLS from HTTP */
	CONN_HANDSHAKE,		/* TLS */
	CONN_DNS,		/* questions over TCP */
	CONN_HTTP,		/* calls, as the face speaks; or a relay */
	CONN_LINGER,		/* said the last word; what still comes is dropped */
	CONN_DEAD,
};

enum {
	CONN_READ = 65536,
	CONN_IN_MAX = 65536 + CONN_READ,	/* a head and a piece of what follows */
	CONN_OUT_MAX = 1 << 18,
};

/* Where a captured connection was meant to go. */
struct dest {
	uint32_t number;		/* of a synthetic name, or 0 */
	uint16_t port;
	char text[INET6_ADDRSTRLEN];	/* the address */
};

struct call;
struct face;
struct h2;
struct tls;

struct conn {
	struct edge *edge;
	struct conn *next;	/* of all, oldest first; later of the dead */
	struct conn **link;	/* what points to it among all */
	struct watch watch;	/* the agent's socket, owned */
	struct dest dest;
	struct tls *tls;	/* owned; NULL: plain */
	const struct face *face;	/* from CONN_HTTP on */
	struct call *calls;	/* owned; NULL only when dead */
	struct h2 *h2;		/* owned; NULL: not HTTP/2 */
	struct buf in, out;
	/* The host and port that every request must be for.  Empty for a
	 * literal address without SNI, and at the proxy before CONNECT. */
	char *host;		/* owned, no NUL */
	uint8_t host_n;
	uint16_t port;
	enum conn_state state;
	struct timer hold;	/* armed: `out` waits a moment for more */
	uint64_t since_ms;	/* the last progress, for the deadlines */
	uint64_t drained;	/* bytes dropped while lingering */
	size_t scanned;		/* of `in`: no whole head in them */
	bool is_large;		/* what there is of the next head */
	bool running;
	bool readable;		/* the socket may have more */
	bool want_read;		/* a step wants more than there was */
	bool want_write;	/* TLS wants to write */
	bool eof;		/* the agent sent its last byte */
	bool finishing;		/* close when `out` is written */
	bool proxy;		/* the explicit proxy, before a CONNECT */
	bool tunnel;		/* behind a CONNECT, for one name */
	bool used;		/* a request was read */
	bool wait_cert;		/* vault was asked */
	uint8_t no_cert;	/* ... in vain: an enum of handshake.c */
	/* relay_face.h */
	uint8_t relay;		/* the kind that it is, or may be, of */
	bool no_tcp, no_tls;	/* it is none of that kind, warden says */
	bool connect;		/* a CONNECT waits for its answer */
	bool shut;		/* the agent saw the end of what we send */
	bool hung_up;		/* ... and we that of what it sends */
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

#define CONN_LITERAL SV("a literal address is never dialled; use a host name")

/* Where it wants to go, for the record. */
static inline struct sv conn_meant_host(const struct conn *c)
{
	return c->host_n ? conn_host(c) : sv_str(c->dest.text);
}

static inline uint16_t conn_meant_port(const struct conn *c)
{
	return c->port ? c->port : c->dest.port;
}

/* Copies host.  Fails without memory; the connection is to be aborted then. */
must_check int conn_set_host(struct conn *c, struct sv host, uint16_t port);

/* Takes *fd. */
void conn_start(struct edge *g, int *fd, const struct dest *dest);
void conn_run(struct conn *c);

/* For steps.  conn_set_state() also starts the state's deadline. */
void conn_set_state(struct conn *c, enum conn_state state);
/* HTTP begins: from now on the face's step works. */
void conn_speak(struct conn *c, const struct face *face);
/* Something moved: deadlines count from now. */
void conn_note_progress(struct conn *c);
/* Is a call between its verdict and its last byte? */
bool conn_is_carrying(const struct conn *c);
/* Does it wait for the agent to begin something? */
bool conn_is_idle(const struct conn *c);
/* Reads more into `in`, up to `most` bytes in it; false: nothing came. */
bool conn_fill(struct conn *c, size_t most);
/* The next bytes of `out` are about to come: write them together.  Undone by
 * conn_release(), or soon by itself. */
void conn_hold(struct conn *c);
void conn_release(struct conn *c);
bool conn_is_held(const struct conn *c);
/* Writes `out`, then says goodbye and lingers. */
void conn_finish(struct conn *c);
/* Ends it: abort with a reset, so that what was sent shows as cut off. */
void conn_close(struct conn *c);
void conn_abort(struct conn *c);
/* REFUSED for this connection. */
void conn_refused(struct conn *c, struct sv reason);

/* For edge.c: all connections. */
void conn_resume_all(struct edge *g);
void conn_check_deadlines(struct edge *g);
/* The connection that has been idle for longest, and long enough to be closed
 * for another; NULL: each is at work. */
struct conn *conn_most_idle(const struct edge *g);
/* Closes it, without lingering. */
void conn_retire(struct conn *c);
void conn_bury(struct edge *g);

/* For conn.c. */
void conn_enlist(struct conn *c);
void conn_delist(struct conn *c);	/* among the dead from now on */
void conn_on_hold_over(struct timer *t);
void conn_flush(struct conn *c);
/* The last byte is written: nothing is answered any more. */
void conn_say_goodbye(struct conn *c);
bool conn_linger(struct conn *c);

#endif
