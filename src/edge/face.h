/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A face: how HTTP looks to the agent on a connection.
 *
 * Towards warden and dial every version of HTTP is the same; what differs is
 * here.  A face reads requests out of conn.in and begins calls for them, and
 * writes into conn.out what its calls are answered.  It keeps nothing of its
 * own but what is in struct conn and struct exchange.
 *
 * Functions for a call are called from events of warden and dial, and from calls
 * of the face itself.  They write, and may finish the connection; page(), done()
 * and abort() may end their call, abort() the connection as well.  conn_run()
 * is the caller's, afterwards.
 */
#ifndef EDGE_FACE_H
#define EDGE_FACE_H

#include "call.h"

struct face {
	/* The step of CONN_HTTP, see conn.h. */
	bool (*step)(struct conn *c);
	/* Nothing has moved for waited_ms: too long?  May end it. */
	void (*check_deadline)(struct conn *c, uint64_t waited_ms);

	/* The body of the request may go to dial: the verdict was yes, or the
	 * stream takes more again. */
	void (*proceed)(struct call *call);
	/* A status below 200 that the agent is to see. */
	void (*interim)(struct call *call, const struct http_response *r);
	/* The head.  r->body is NONE, LENGTH, or CHUNKED: of unknown length; its
	 * views are the exchange's, and the face may rewrite r. */
	void (*response)(struct call *call, struct http_response *r);
	void (*data)(struct call *call, struct sv data);
	/* With its trailers, whose views are gone afterwards. */
	void (*end)(struct call *call, const struct http_fields *trailers);
	/* The whole response, by edge itself; p->close as in call_page(). */
	void (*page)(struct call *call, struct page *p);
	/* Both halves are over, or the stream ended: if it is no longer open,
	 * there is no next request.  The call rests when this returns. */
	void (*done)(struct call *call);
	/* What was sent must not look whole: ends the call, or more. */
	void (*abort)(struct call *call);
	/* dial must not send more of the response for now. */
	bool (*is_backed_up)(const struct call *call);
};

#endif
