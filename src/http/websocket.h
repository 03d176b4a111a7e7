/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSockets (RFC 6455), as far as who stands between the two ends has to know
 * them: what the heads say, and where in the bytes frames begin.
 */
#ifndef HTTP_WEBSOCKET_H
#define HTTP_WEBSOCKET_H

#include "request.h"

enum {
	WEBSOCKET_KEY = 24,	/* base64 of 16 bytes */
	WEBSOCKET_HEAD_MAX = 14,
};

/* Takes what belongs to one hop out of the fields of a request: the version, and
 * the key, which HTTP/2 does not need.  NULL, or why it is no WebSocket's. */
must_check const char *websocket_take(struct http_fields *f, bool needs_key,
				      struct sv *ret_key);
/* The answer chooses none but the one protocol and extensions of those that were
 * offered. */
bool websocket_is_offered(const struct http_fields *request,
			  const struct http_fields *response);
/* All fields of that name are removed. */
void websocket_drop(struct http_fields *f, struct sv name);

/* What a server sends: a zeroed one begins at a frame. */
struct websocket_frames {
	uint8_t head[WEBSOCKET_HEAD_MAX];
	size_t head_n;
	uint64_t left;		/* of the payload */
	bool extended;		/* extensions were chosen */
	/* Of this frame. */
	bool is_control;
	bool is_last;		/* of its message, as each control frame is */
	bool closes;		/* the connection */
	bool closed;		/* nothing may follow */
};

enum websocket_piece {
	WEBSOCKET_BAD = -1,	/* these are no frames, or not a server's */
	WEBSOCKET_MORE = 0,	/* *in is used up */
	WEBSOCKET_HEAD,		/* *piece is the whole head of a frame */
	WEBSOCKET_DATA,		/* *piece is of its payload; `left` 0: the end */
};

/* Takes the next piece off the front of *in.  A head is in f, until the next
 * call. */
must_check enum websocket_piece websocket_next(struct websocket_frames *f,
					       struct sv *in,
					       struct sv *piece);

#endif
