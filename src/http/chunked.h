/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunked coding (RFC 9112, 7.1), strict and incremental.
 *
 * The decoder never copies: data is a view into the input.  Extensions are
 * dropped (256 bytes a chunk at most); trailers (8192 bytes at most) are dropped
 * as well, unless there is a buffer for their lines.  Anything else than CRLF
 * line ends is an error.
 */
#ifndef HTTP_CHUNKED_H
#define HTTP_CHUNKED_H

#include "buf.h"
#include "request.h"

enum {
	CHUNK_EXTENSION_MAX = 256,
	CHUNK_TRAILERS_MAX = 8192,
};

/* Zeroed is the start of a body. */
struct chunked {
	unsigned state;
	unsigned digits;
	size_t dropped;		/* bytes of this extension or of the trailers */
	uint64_t left;		/* of this chunk */
	bool in_name;		/* of a trailer line */
	bool quoted;		/* within a quoted extension value */
	struct buf *trailers;	/* borrowed; NULL: they are dropped */
};

enum chunked_result {
	CHUNKED_BAD = -1,	/* stays so */
	CHUNKED_MORE = 0,	/* *in is used up, the body goes on */
	CHUNKED_DATA = 1,	/* *data is a non-empty piece of the body */
	CHUNKED_END = 2,	/* the body is over, *in begins behind it */
};

/* Takes what it used off the front of *in.  Call until it is not DATA. */
must_check enum chunked_result chunked_next(struct chunked *c, struct sv *in,
					    struct sv *data);

/* One whole chunk; nothing for empty data, which would end the body. */
void chunked_put(struct buf *b, struct sv data);
void chunked_put_last(struct buf *b);
/* The same with trailers. */
void chunked_put_trailers(struct buf *b, const struct http_fields *f);

#endif
