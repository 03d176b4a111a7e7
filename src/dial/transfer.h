/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the bytes of an exchange: the request to the origin, the response to
 * edge, as far as both go without waiting.
 *
 * Neither side is ever ahead by more than one message: edge is not read while
 * the origin does not take what there is, the origin is not read while edge
 * does not.
 */
#ifndef DIAL_TRANSFER_H
#define DIAL_TRANSFER_H

#include "exchange.h"

enum transfer_result {
	TRANSFER_FAILED = -1,	/* *e says why */
	TRANSFER_WAITS = 0,
	TRANSFER_OVER,		/* the response was received and forwarded */
	/* The origin had closed before; nothing was said or taken. */
	TRANSFER_STALE,
	TRANSFER_UPGRADED,	/* the stream has a relay: upgrade.h */
};

must_check enum transfer_result transfer_run(struct exchange *x,
					     struct err *e);

/* The same for a connection that speaks HTTP/2. */
must_check enum transfer_result h2_transfer_run(struct exchange *x,
						struct err *e);

/* What both do with a response: the fields of a 103 to edge; */
must_check int transfer_hints(struct exchange *x, struct http_fields *f,
			      struct err *e);
/* x->in.response; */
must_check int transfer_head(struct exchange *x, struct err *e);
/* a piece of its body, gathered or forwarded as it lies; */
must_check int transfer_piece(struct exchange *x, struct sv data,
			      struct buf *gathered, struct err *e);
/* trailers, to go with its end; */
must_check int transfer_trailers(struct exchange *x, struct http_fields *f,
				 struct err *e);
/* what was gathered; */
must_check int transfer_body(struct exchange *x, struct sv rest,
			     struct err *e);
/* and the error that it is malformed: x->in.reason says why. */
int transfer_malformed(struct exchange *x, struct err *e);

#endif
