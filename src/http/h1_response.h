/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of an HTTP/1 response from an origin, and the writers of both heads.
 */
#ifndef HTTP_H1_RESPONSE_H
#define HTTP_H1_RESPONSE_H

#include <sys/types.h>

#include "buf.h"
#include "h1_request.h"		/* H1_MORE, H1_BAD */
#include "request.h"

struct h1_response {
	struct http_response response;
	const char *reason;	/* with H1_BAD: a constant sentence */
};

/*
 * As h1_parse_request(), for a response to a request with that method.  A
 * status of 100 or 103 is an interim head: the real one follows behind it; the
 * caller bounds how many it takes.  101 is the last head, and for the caller to
 * refuse where it was not asked for.
 */
must_check ssize_t h1_parse_response(struct sv in, struct sv method,
				     struct arena *a, struct h1_response *ret);

/* Origin form, Host, explicit framing, connection: keep-alive.  The caller
 * checks b->full. */
void h1_write_request(struct buf *b, const struct http_request *r);
/* With a framing that suits r->body (CLOSE too); Date and the like are the
 * origin's own fields.  For an interim status no framing is written. */
void h1_write_response_head(struct buf *b, const struct http_response *r,
			    bool keep_alive);
/* The standard phrase of a status, "" if unknown. */
const char *h1_phrase(uint16_t status);

#endif
