/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers that edge gives by itself: a refusal and its explanation.
 *
 * The reason has to reach whoever reads the client's output, so it is said
 * three times: in the status line (python, wget and node print it), in the
 * body (curl prints it) and, for git and go, as plain text (they print only that).
 * A program of gRPC shows neither: it is told in the two fields that end a call.
 */
#ifndef EDGE_PAGE_H
#define EDGE_PAGE_H

#include "buf.h"

enum { PAGE_MAX = 16384 };	/* head and body */

struct page {
	uint16_t status;
	struct sv request;	/* "GET https://host/path"; may be empty */
	struct sv rule;		/* the statement that decided, if one did */
	struct sv reason;
	struct sv allow_with;	/* the statement that would allow it, if any */
	bool plain;		/* text/plain, for git and go */
	bool grpc;		/* over HTTP/2: a call's end, without a body */
	bool head_only;		/* the answer to HEAD */
	bool http10;		/* the client speaks HTTP/1.0 */
	bool close;		/* the connection ends after it */
};

/* Whether a client with that User-Agent shows only plain text. */
bool page_wants_plain(struct sv user_agent);
/* Whether a request of that Content-Type is a call of gRPC. */
bool page_wants_grpc(struct sv content_type);
/* Its parts, for a face that writes heads otherwise: the body, its type, and the
 * reason as a field value, "" when it is no denial. */
void page_put_body(struct buf *out, const struct page *p);
struct sv page_type(const struct page *p);
void page_put_denial(struct buf *out, const struct page *p);
/* The number and the message of a call that ended so. */
unsigned int page_grpc_status(const struct page *p);
void page_put_grpc_message(struct buf *out, const struct page *p);
/* Appends the whole answer, head and body, to out. */
void page_put(struct buf *out, const struct page *p);

#endif
