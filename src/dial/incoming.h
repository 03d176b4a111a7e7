/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One response, from an origin's bytes to its head and its body: pure.
 *
 * The framing is what the head says and nothing else; whatever does not fit
 * it is BAD, and the connection is over.  What follows behind the end is left
 * in *in for the owner to see: it was sent unasked.
 */
#ifndef DIAL_INCOMING_H
#define DIAL_INCOMING_H

#include "buf.h"
#include "chunked.h"
#include "request.h"

enum {
	INCOMING_INTERIM_MAX = 8,	/* heads before the real one */
	INCOMING_ARENA = 4 * HTTP_HEAD_MAX,
};

enum incoming_result {
	INCOMING_BAD = -1,	/* `reason` says why */
	INCOMING_MORE = 0,	/* *in is used up */
	INCOMING_HEAD,		/* `response` is there; once */
	INCOMING_HINTS,		/* a 103 is there, until the next call */
	INCOMING_DATA,		/* *data is a piece of the body, in *in's bytes */
	INCOMING_END,		/* the response is complete */
};

struct incoming {
	struct sv method;	/* of the request; borrowed */
	bool upgrade;		/* ... which asks for a WebSocket */
	struct http_response response;	/* from HEAD on; in the arena */
	const char *reason;	/* a constant sentence */
	/* The rest is private. */
	enum { INCOMING_IN_HEAD = 0, INCOMING_IN_BODY, INCOMING_OVER } at;
	unsigned interims;
	struct buf head;	/* until the head is complete */
	struct arena arena;
	struct http_fields trailers;	/* with END; in the arena */
	struct chunked chunked;
	struct buf trailer_lines;
	bool is_interim;	/* `response` is */
	uint64_t left;
};

void incoming_init(struct incoming *i, struct sv method);
void incoming_fini(struct incoming *i);

/* Takes what it used off the front of *in; call until MORE, END or BAD. */
must_check enum incoming_result incoming_next(struct incoming *i, struct sv *in,
					      struct sv *data);
/* The connection ended, clean or not: END or BAD. */
must_check enum incoming_result incoming_eof(struct incoming *i, bool clean);
/* Has a first byte been seen? */
static inline bool incoming_has_begun(const struct incoming *i)
{
	return i->at != INCOMING_IN_HEAD || i->interims || i->head.n;
}

#endif
