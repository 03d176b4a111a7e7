/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge: the process that faces the agent.
 *
 * It accepts every connection that leaves the sandbox, ends TLS, parses HTTP
 * and DNS, asks warden about each request, and carries the bodies of allowed
 * ones over a stream to dial.  It holds no secret, opens no file and makes no
 * socket; what it reads is hostile.
 *
 *	edge.c		start, the channels to warden, the one timer
 *	listener.c	captured connections, where they were meant to go
 *	conn.c		one connection: its states and its end
 *	conn_io.c	its bytes, plain or through TLS
 *	conn_table.c	all of them, and their deadlines
 *	handshake.c	TLS on a connection; certificates from vault
 *	call.c		one request: verdict, body to dial
 *	call_stream.c	its response: what dial says
 *	call_table.c	all calls, by number
 *	face.h		how HTTP looks to the agent
 *	h1_reader.c	HTTP/1: the agent's bytes become requests
 *	h1_face.c	HTTP/1: responses become bytes
 *	h2_session.c	HTTP/2: the session, its streams, what it bears
 *	h2_frames.c	HTTP/2: what came and what was sent, noted
 *	h2_reader.c	HTTP/2: streams become requests
 *	h2_face.c	HTTP/2: responses become streams
 *	proxy.c		the explicit proxy: CONNECT and absolute form
 *	relay_face.c	connections whose bytes are not read
 *	page.c		what a refusal looks like
 *	dns.c names.c	every name has a synthetic address
 */
#ifndef EDGE_EDGE_H
#define EDGE_EDGE_H

#include "channel.h"
#include "names.h"

struct call;
struct conn;
struct tls_server;

enum {
	EDGE_CALLS_MAX = 10240, EDGE_CALL_SLOTS = 4096,
	/* A head of so many bytes is a large one, of which there may be fewer:
	 * it is kept here, and in dial, until its request is answered. */
	EDGE_LARGE = 16384, EDGE_LARGE_MAX = 1024,
};

#define EDGE_TOO_LARGE SV("too many requests with large heads at once")

struct edge {
	struct loop *loop;
	struct channel warden;
	struct channel vault;		/* open only with intercept */
	bool intercept;
	bool shaped;			/* some placeholders are */
	struct names *names;
	struct tls_server *tls;
	struct watch listener, dns;	/* their descriptors are owned */
	struct conn *conns, **conns_end;	/* oldest first */
	struct call *slots[EDGE_CALL_SLOTS];	/* by number */
	struct conn *dead_conns;	/* freed when no callback can be on */
	struct call *dead_calls;
	struct timer tick, burial;
	unsigned n_conns;
	unsigned n_calls, max_calls;	/* at least one for each connection */
	unsigned n_large;		/* heads */
	unsigned n_wide;		/* windows: h2_session.h */
	bool accepts;			/* the listener is being watched for more */
	uint32_t last_number;
};

/*
 * Sends to warden, or ends the process: what cannot be asked or recorded must
 * not go on.
 */
void edge_tell(struct edge *g, const struct msg *m);
/* REFUSED, with the host and the port that were meant. */
void edge_refused(struct edge *g, uint32_t conn, struct sv host, uint16_t port,
		  struct sv reason);

/* One more large head, if there may be; *is_large is noted, and given back by
 * edge_put_large(), which accepts one that is not. */
static inline bool edge_take_large(struct edge *g, bool *is_large)
{
	if (!*is_large && g->n_large < EDGE_LARGE_MAX) {
		*is_large = true;
		g->n_large++;
	}
	return *is_large;
}

static inline void edge_put_large(struct edge *g, bool *is_large)
{
	g->n_large -= *is_large;
	*is_large = false;
}

/* The tick runs while there is something to look after. */
void edge_need_tick(struct edge *g);

/* listener.c */
must_check int listener_start(struct edge *g, int fd, struct err *e);
/* Accepts again after a connection ended or warden took what was queued. */
void listener_resume(struct edge *g);

#endif
