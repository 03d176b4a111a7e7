/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call: one request and its response at a time, under one number.
 *
 * The number is what warden and dial know as a "conn": requests of one number
 * follow each other, and share a stream to dial.  An HTTP/1 connection has one
 * call; one that carries several requests at once has a call for each of them,
 * and reuses those that are idle.
 *
 *	IDLE --call_begin, call_ask--> VERDICT --yes--> EXCHANGE --> IDLE
 *	                                  +--no: call_page()---------^
 *
 * Below it are warden and dial, above it the face of its connection (face.h),
 * which knows how requests and responses look to the agent.  The face fills in
 * the request and hands over its body; the call hands over a response that it
 * has checked.  A call knows no bytes of HTTP.
 *
 *	call.c		its life, its request
 *	call_stream.c	its response: what dial says
 *	call_table.c	all of them, by number
 */
#ifndef EDGE_CALL_H
#define EDGE_CALL_H

#include "conn.h"
#include "h1_exchange.h"
#include "page.h"
#include "placeholder.h"
#include "request.h"

enum call_state {
	CALL_IDLE = 1,		/* no request, or one whose head still comes */
	CALL_VERDICT,		/* warden was asked */
	CALL_EXCHANGE,		/* body to dial, response back */
};

/* One request and its response. */
struct exchange {
	struct arena arena;		/* owned; all views of the request */
	struct http_request request;
	uint32_t id;
	/* the body, towards dial */
	bool is_large;			/* its head */
	bool body_done;			/* BODY_END was sent, or there is no body */
	bool upgraded;			/* it is a WebSocket now */
	bool untaken;			/* a relay's, until dial says TAKEN */
	unsigned violations;
	struct placeholder_scan scan;
	/* the response, towards the agent */
	bool head_sent;
	bool bounded;			/* exactly response_left bytes more */
	bool response_done;
	uint64_t response_left;
	struct h1_exchange h1;		/* for the face of HTTP/1 alone */
};

/* Are both halves? */
static inline bool exchange_is_over(const struct exchange *x)
{
	return x->body_done && x->response_done && !x->untaken;
}
struct h2_stream;

struct call {
	struct conn *conn;	/* whose call it is */
	struct call *next;	/* of its connection; later of the dead */
	struct call *in_slot;	/* of its slot of numbers */
	struct channel stream;	/* to dial; open from the first allowed request */
	struct exchange *exchange;	/* owned; NULL: no request */
	struct h2_stream *h2;	/* of HTTP/2, the request's; NULL: none */
	uint32_t number;	/* as warden and dial know it */
	uint32_t last_id;	/* of its requests */
	enum call_state state;
};

/* Idle and among the calls of c, which owns it; NULL: no memory. */
must_check struct call *call_new(struct conn *c);
/* Its number ends, warden is told.  The memory stays until call_bury(), so
 * that a callback may end the call that it was called for. */
void call_end(struct call *call);
/* Gives up the request at work and the stream, for good: a verdict on its way
 * may carry a stream that is then lost, and warden gives only one. */
void call_reset(struct call *call);
/* A number that dial has not seen: its next request gets a new stream. */
void call_renumber(struct call *call);

/* An empty exchange, whose request the face fills in; NULL: no memory. */
must_check struct exchange *call_begin(struct call *call);
/* Frees it: there was no request after all. */
void call_forget(struct call *call);
/* The exchange is over: the call is idle. */
void call_rest(struct call *call);
/* Asks warden.  A request too large to be asked is answered. */
void call_ask(struct call *call);

/* While this holds, the body has to wait; face.proceed ends that. */
bool call_is_full(const struct call *call);
/* The next piece of the body, and its end.  false: it was aborted. */
bool call_send(struct call *call, struct sv data);
bool call_send_end(struct call *call);
/* The body broke off: dial sees the stream end without BODY_END. */
void call_cut(struct call *call);

/* Answers the request at work with a page and rests.  p->close: the call cannot
 * have another request. */
void call_page(struct call *call, struct page *p);
/* The same for a refusal that warden has not heard of: REFUSED is sent. */
void call_refuse(struct call *call, uint16_t status, struct sv reason);

/* For edge.c. */
void call_on_verdict(struct edge *g, struct msg *m);
void call_bury(struct edge *g);

/* For call.c and what belongs to it. */
void call_set_state(struct call *call, enum call_state state);
void call_enlist(struct call *call);	/* under a new number */
void call_delist(struct call *call);
/* Takes *fd: the stream to dial. */
must_check int call_open_stream(struct call *call, int *fd);
/* Both halves are over. */
void call_done(struct call *call);

#endif
