/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/2 session with the agent: its streams, and the calls at work on them.
 *
 * nghttp2 knows frames, header compression and flow control.  Its callbacks only
 * note what came; what follows is done between its functions, by h2_reader.c and
 * h2_face.c, because a session must not end within one.
 *
 * A stream lives from its first frame until nghttp2 has closed it and its call is
 * through with it, whichever comes later; a call can be free for the next stream
 * while the response before it is still on its way to the agent.
 */
#ifndef EDGE_H2_SESSION_H
#define EDGE_H2_SESSION_H

#include <nghttp2/nghttp2.h>

#include "call.h"
#include "h2_bounds.h"
#include "h2_head.h"

enum {
	H2_STREAMS_MAX = 100,	/* at once, as the agent is told */
	H2_WINDOW = 65536,	/* of a body on its way to dial ... */
	H2_WIDE = 1 << 18,	/* ... which is long, while there are few such */
	H2_WIDE_MAX = 64,	/* of all connections */
	H2_PIECE = H2_WINDOW / 2,	/* for dial, while there is more to read */
	H2_OUT_MAX = 1 << 18,
	H2_UNREAD_MAX = 65536,	/* in `conn.out`, before the agent reads */
	H2_RESET_COST = 10,	/* see h2_charge() */
};

struct h2_stream {
	struct h2_stream *next;
	struct h2 *h2;
	struct call *call;	/* at work on it; NULL: it needs none any more */
	int32_t id;
	struct h2_list list;	/* the head, of the call's arena */
	struct buf in;		/* body that waits for dial; at most a window */
	size_t in_whole;	/* of it, in frames that came whole */
	struct buf out;		/* body that waits for the agent ... */
	size_t out_sent;	/* ... behind so much that does not */
	struct arena memory;	/* of the trailers, which wait behind `out` */
	struct http_fields trailers;
	uint64_t body_left;	/* of a request with a length */
	uint64_t consumed;	/* of it; see h2_consumed() */
	uint64_t born_ms;
	bool is_wide;		/* its window */
	bool is_head_whole;
	bool is_asked;		/* the head was taken to warden, or refused */
	bool is_ended;		/* the agent sent its last byte */
	bool may_continue;	/* the 100 was said, or was not wanted */
	bool is_last;		/* the response ends with `out` */
	bool is_answered;	/* the end of the response was sent */
	bool closed, cut;	/* over for nghttp2, and not as it should be */
};

struct h2 {
	nghttp2_session *session;	/* owned */
	struct conn *conn;
	struct h2_stream *streams, **end;	/* owned, oldest first */
	unsigned n;		/* streams */
	int64_t patience;	/* see h2_charge() */
	uint64_t patience_ms;
	unsigned malformed;	/* requests, to be recorded */
	bool has_more;		/* to read, and reads it next */
	const char *fault;	/* why the session cannot go on; NULL: it can */
};

/* For handshake.c: the session of c, whose first bytes are still to come. */
must_check int h2_start(struct conn *c);
/* For conn_bury(). */
void h2_free(struct h2 *h);
/* Is there a stream? */
bool h2_is_busy(const struct h2 *h);

/* Gives nghttp2 what is in conn.in. */
void h2_receive(struct h2 *h);
/* Takes from it what is to be written; false: nothing. */
bool h2_transmit(struct h2 *h);
/* GOAWAY, and nothing afterwards; conn_flush() and the like are the caller's. */
void h2_say_goodbye(struct h2 *h, uint32_t error);
/* The streams that are over, and have no call, go. */
void h2_reap(struct h2 *h);

/*
 * What costs us work and the agent nothing uses up patience, which comes back
 * with time and with every piece of a body that the agent takes.  Without any
 * the session ends: floods of resets, pings, settings and empty frames.
 */
void h2_charge(struct h2 *h, int cost);
/* They are sent behind the last byte of `out`; without memory, not at all. */
void h2_keep_trailers(struct h2_stream *s, const struct http_fields *f);
/* n bytes of the body wait no more: the agent may send as many, or more when it
 * has filled a window already. */
void h2_consumed(struct h2_stream *s, size_t n);
/* Nothing waits for dial any more. */
void h2_drop_in(struct h2_stream *s);
/* Ends a stream; NGHTTP2_NO_ERROR and others. */
void h2_reset(struct h2_stream *s, uint32_t error);

/* For h2_frames.c: with a call, and an exchange whose arena takes the head. */
must_check int h2_open_stream(struct h2 *h, int32_t id);
/* For h2_session.c; NULL: no memory. */
must_check nghttp2_session_callbacks *h2_callbacks(void);

#endif
