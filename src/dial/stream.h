/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the agent, as dial sees it: the channel to edge, and at most
 * one exchange at a time, or a relay.
 *
 *	idle		paused: what edge sends early waits in the socket
 *	an exchange	exchange.h
 *	a relay		relay_exchange.h; then nothing else, before or after
 *	over		something went wrong, and edge was told; what it still
 *			sends is dropped, until it closes.  Closing first would
 *			throw away what it has not read yet.
 *
 * A response may be over before edge has sent the whole request, or just its
 * BODY_END.  The rest is then drained, also while the next exchange begins or is
 * at work: bodies and exchanges come on different channels, in whatever order.
 */
#ifndef DIAL_STREAM_H
#define DIAL_STREAM_H

#include "dial.h"

enum {
	STREAMS_MAX = 12288,	/* edge's calls, and those that it has left */
	STREAM_LINGER_MS = 10000,	/* over, before we close ourselves */
};

struct exchange;
struct relay;

struct stream {
	struct stream *next;		/* in its bucket, or in the grave */
	struct dial *dial;
	uint32_t conn;
	struct channel edge;
	struct exchange *exchange;	/* owned; NULL between two */
	struct relay *relay;		/* owned; NULL: none */
	bool over;
	unsigned unread;		/* bodies to drain, up to a BODY_END each */
	bool held;			/* as stream_hold() said */
	struct timer linger;
};

/* A new one; takes fd in any case.  Beyond the maximum fd is just closed. */
must_check int stream_open(struct dial *d, uint32_t conn, int fd,
			   struct err *e);
/* NULL when there is none: the agent has hung up. */
struct stream *stream_find(uint32_t conn);

/* Whether what edge sends has to wait; not what is drained. */
void stream_hold(struct stream *s, bool held);
/* The exchange is over and freed: ready for the next one.  body_ended: edge has
 * sent the whole request. */
void stream_rest(struct stream *s, bool body_ended);
/* The relay is over and freed; edge closes when it has read all of it. */
void stream_finish(struct stream *s);
/* The exchange or relay is over and freed, and there will be no other. */
void stream_end(struct stream *s);
/* vault's MASK, for all that is under way. */
void stream_mask_all(uint32_t secret, struct sv values);
/* There is no memory to begin the request `id`: the same, and warden is told. */
void stream_refuse(struct stream *s, uint32_t id);

#endif
