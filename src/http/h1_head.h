/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the heads of HTTP/1 requests and responses share: lines, fields and
 * what the fields say of the framing.  For h1_request.c and h1_response.c.
 */
#ifndef HTTP_H1_HEAD_H
#define HTTP_H1_HEAD_H

#include <sys/types.h>

#include "request.h"

/* Why a head was refused. */
struct h1_refusal {
	uint16_t status;
	const char *reason;
};

/* Keeps the first reason; returns -1. */
int h1_refuse(struct h1_refusal *r, uint16_t status, const char *reason);

/*
 * The length of the head at the start of in, with the empty line that ends it;
 * H1_MORE; or H1_BAD for a line end that is not CRLF.
 */
ssize_t h1_head_length(struct sv in);

/* Cuts the first line off the front of *head, without its CRLF. */
struct sv h1_line(struct sv *head);

/*
 * The fields of head, which is without its first line: names are brought to
 * lower case in place, so head must be writable memory of the arena.
 */
must_check int h1_fields_parse(struct sv head, struct arena *a,
			       struct http_fields *ret, struct h1_refusal *why);

struct h1_framing {
	bool has_length, chunked;
	uint64_t length;
	struct sv host;		/* .p NULL: no such field */
	bool wants_close;	/* Connection: close */
	bool wants_continue;
	bool wants_trailers;	/* TE: trailers */
	bool wants_upgrade;	/* Connection: upgrade */
	bool wants_websocket;	/* the same, and Upgrade: websocket */
};

/* Reads what ends at this hop, and removes it from f. */
must_check int h1_framing_take(struct http_fields *f, struct h1_framing *ret,
			       struct h1_refusal *why);

/* Is the method one whose body is expected, so that none is a length of 0? */
bool h1_expects_body(struct sv method);

/* The length of a body that is not there, as in the answer to HEAD, back among
 * the fields. */
must_check int h1_keep_length(uint64_t length, struct arena *a,
			      struct http_fields *f, struct h1_refusal *why);

/* " 1*DIGIT" forms: "HTTP/1.0" and "HTTP/1.1" to 0 and 1; -1: no version of
 * HTTP at all; -2: one that is not spoken here. */
int h1_version(struct sv v);

#endif
