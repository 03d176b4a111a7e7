/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of an HTTP/1 request, from the agent's bytes to struct http_request.
 */
#ifndef HTTP_H1_REQUEST_H
#define HTTP_H1_REQUEST_H

#include <sys/types.h>

#include "request.h"

/* Results beside a number of consumed bytes, which is above 0. */
enum { H1_MORE = 0, H1_BAD = -1 };

/*
 * Where the bytes came in.
 *
 * Transparent: the agent believes that it talks to the origin.  Scheme, host
 * (from SNI, or the synthetic DNS name) and port are known and Host must agree.
 * Only the origin form is accepted, and "*" for OPTIONS is refused.
 * Proxy: the agent talks to us as a proxy; absolute form, or CONNECT.
 */
struct h1_inlet {
	bool proxy;
	enum http_scheme scheme;	/* transparent only, these three */
	struct sv host;			/* canonical; must outlive the request */
	uint16_t port;
};

struct h1_request {
	struct http_request request;
	bool is_connect;	/* only host, port, fields are meaningful */
	struct sv websocket_key;	/* with request.upgrade */
	bool is_http10;
	/* With H1_BAD: what to answer before closing. */
	uint16_t status;	/* 400, 403, 413, 414, 417, 431, 501, 505 */
	const char *reason;	/* a constant sentence */
};

/*
 * Parses one head at the start of in: returns the bytes it took, H1_MORE
 * (nothing decided yet; call again with more of the same bytes), or H1_BAD.
 * After H1_BAD the connection cannot go on: its framing is unknown.
 *
 * All views of the result are the arena's, so in may be reused at once.  The
 * body starts at the returned offset.
 */
must_check ssize_t h1_parse_request(struct sv in, const struct h1_inlet *inlet,
				    struct arena *a, struct h1_request *ret);

#endif
