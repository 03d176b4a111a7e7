/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/2 session with an origin, and the requests under way in it.
 *
 * nghttp2 knows frames, header compression and flow control, and refuses what no
 * message may be.  Its callbacks only note what came; then, between its
 * functions, `news` of each request that is concerned is called.
 *
 * Both ends of a compression keep a table of what they have said.  There is none
 * here in either direction, and the memory that nghttp2 gives back is wiped:
 * credentials are in what is sent, and in what is sent back.
 */
#ifndef DIAL_H2_ORIGIN_H
#define DIAL_H2_ORIGIN_H

#include <nghttp2/nghttp2.h>

#include "h2_bounds.h"
#include "h2_response.h"
#include "incoming.h"
#include "outgoing.h"
#include "upstream.h"

enum {
	H2_CALLS_MAX = 100,	/* at once on a connection */
	H2_WINDOW = 1 << 17,	/* of a body on its way to edge */
};

/* One request and its response; the session's, until both sides are through. */
struct h2_call {
	struct h2_call *next;
	struct h2_origin *h2;
	void (*news)(struct h2_call *c);
	void *user;		/* NULL: given up */
	struct outgoing *out;	/* the user's */
	struct incoming *incoming;	/* the user's; its head, its arena */
	int32_t id;
	struct h2_list list;	/* the head, later the trailers */
	struct http_fields trailers;
	struct buf in;		/* body that waits for edge; at most a window */
	unsigned interims;
	struct http_fields hints[INCOMING_INTERIM_MAX];	/* of each 103 */
	unsigned n_hints, n_hints_told;
	bool has_news;
	bool has_head;
	bool has_trailers;
	bool ended;		/* the origin sent its last byte */
	bool closed;		/* over for nghttp2 */
	bool refused;		/* the origin has not looked at it */
	bool cut;		/* the connection ended */
	const char *fault;	/* what is malformed: a constant sentence */
};

struct h2_origin {
	nghttp2_session *session;	/* owned */
	struct upstream *up;
	struct h2_call *calls;	/* owned */
	unsigned n;
	struct buf out;		/* frames that TLS has not taken; wiped */
	struct loop *loop;
	struct timer again;
	bool over;		/* the connection: nothing comes any more */
	bool running;		/* within its events */
	bool tainted;		/* something malformed came */
	/* Nobody has a request in it; may free it.  Elsewhere it is not to be
	 * freed while it is `running`. */
	void (*unused)(struct upstream *u);
};

/* u is connected and has chosen HTTP/2: u->h2 and u->ready are the session's. */
must_check int h2_origin_start(struct upstream *u, struct loop *l,
			       void (*unused)(struct upstream *u),
			       struct err *e);
/* For the upstream, which is closed: no `news`. */
void h2_origin_free(struct h2_origin *h);
/* May there be another request, when others have ended? */
bool h2_origin_is_usable(const struct h2_origin *h);
/* ... now? */
bool h2_origin_has_room(const struct h2_origin *h);
/* From the loop, everything is looked at again. */
void h2_origin_wake(struct h2_origin *h);
/* Hears what the origin has said by now. */
void h2_origin_poll(struct h2_origin *h);

/* Sends the head that out->head holds as fields.  secret: no field of it may be
 * remembered on the way.  NULL: no memory, or the session is over. */
must_check struct h2_call *h2_call_begin(struct h2_origin *h,
					 struct outgoing *out,
					 struct incoming *in, bool secret);
/* There is more of the body, or its end; writes what can be written. */
void h2_call_push(struct h2_call *c);
/* n bytes of c->in went on to edge. */
void h2_call_consumed(struct h2_call *c, size_t n);
/* The user is through with it; what is not over is reset. */
void h2_call_leave(struct h2_call *c);

#endif
