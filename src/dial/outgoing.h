/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request, from the canonical form and the agent's body to bytes: pure.
 *
 * The head is written anew from the canonical form; the body is framed by
 * what that form says, and a body that does not keep to it is an error.
 * Little is held: the head, then one piece of the body at a time.
 */
#ifndef DIAL_OUTGOING_H
#define DIAL_OUTGOING_H

#include "buf.h"
#include "request.h"

enum {
	/* One piece and its framing. */
	OUTGOING_BODY_MAX = 65536 + 64,
	OUTGOING_HEAD_MAX = 4 * HTTP_HEAD_MAX,
};

struct outgoing {
	struct buf head;	/* may hold a credential: wiped */
	struct buf body;	/* the piece that is under way */
	size_t head_written, body_written;
	enum http_body framing;
	uint64_t left;		/* with HTTP_BODY_LENGTH */
	uint64_t sent;		/* bytes of the body taken so far */
	bool ended;		/* the agent's side has said so */
	bool begun;		/* something of the body was taken */
	bool keep_head;		/* it may have to be written once more */
	bool bare;		/* HTTP/2: the head is a list of fields, and the
				   body has no framing of its own */
};

must_check int outgoing_init(struct outgoing *o, const struct http_request *r,
			     struct err *e);
/* For HTTP/2: the head is encoded as fields are in messages (wire/head.h). */
must_check int outgoing_init_bare(struct outgoing *o,
				  const struct http_request *r, struct err *e);
void outgoing_fini(struct outgoing *o);	/* accepts a zeroed one */

/* Only when outgoing_pending() is empty.  ERR_PROTO: not what was announced. */
must_check int outgoing_put(struct outgoing *o, struct sv data, struct err *e);
must_check int outgoing_end(struct outgoing *o, struct err *e);

/* What is to be written next; empty when there is nothing. */
struct sv outgoing_pending(const struct outgoing *o);
void outgoing_wrote(struct outgoing *o, size_t n);
bool outgoing_head_is_out(const struct outgoing *o);
/* Everything that the request consists of is written. */
bool outgoing_is_complete(const struct outgoing *o);
/* On a new connection, from its first byte; only while keep_head. */
void outgoing_rewind(struct outgoing *o);
/* The head will not be written again: wiped as soon as it is out. */
void outgoing_release_head(struct outgoing *o);

#endif
