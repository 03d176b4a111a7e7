/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One relay: bytes both ways between an agent's connection and an origin's,
 * which nobody reads; or a WebSocket, which is the same once it is open.
 *
 *	connecting	NEED is with warden; resolve will send the socket
 *	in between	the socket is open, and a proxy's, which connects
 *	connected	RESPONSE was sent; BODY goes out, CHUNK comes in
 *
 * There is no TLS of ours and never a credential, but with a WebSocket: then the
 * payloads of the frames that come in are masked.  Each direction ends by itself:
 * BODY_END shuts the origin's socket for writing, the origin's end
 * becomes CHUNK_END; the relay is over with both.  A connection that breaks off
 * is broken off on the other side as well, by a reset, so that what is not whole
 * does not look whole.
 *
 * Neither side is ahead by more than one message.  Nothing but connecting has a
 * limit of time: a database's connection may be silent all day.
 */
#ifndef DIAL_RELAY_EXCHANGE_H
#define DIAL_RELAY_EXCHANGE_H

#include "allowance.h"
#include "buf.h"
#include "head.h"
#include "stream.h"
#include "upstream.h"
#include "websocket_mask.h"

enum { RELAY_LIMIT_MAX = 200 };

struct relay {
	struct stream *stream;
	struct upstream own;
	struct upstream *upstream;	/* own, or a WebSocket's, of the pool */
	/* its own: never shared */
	uint32_t id;
	uint16_t port;
	char host[HTTP_HOST_MAX + 1];
	char limit[RELAY_LIMIT_MAX];	/* what allowance.limit views */
	struct allowance allowance;	/* of what the agent sends */
	bool connected;
	bool ended;		/* the agent's side is: BODY_END came */
	bool shut;		/* ... and the origin was told */
	bool deaf;		/* the origin takes no more bytes */
	bool received_all;	/* the origin's side has ended: CHUNK_END */
	struct buf out;		/* the piece that is under way */
	size_t written;
	/* Of a WebSocket. */
	uint16_t status;	/* 101; 0 for others */
	struct websocket_mask *mask;	/* owned; NULL without a credential */
	size_t n_secrets;		/* whose values it masks */
	uint32_t secrets[EDITS_MAX];
	struct websocket_frames frames;	/* that come in */
	bool unframed;		/* they are none, and nothing depends on it */
	struct timer deadline;	/* of connecting, and of a proxy's answer */
	struct timer again;	/* to go on after the others' turn */
	uint64_t sent, received;
};

/* The stream is new.  Ends by itself. */
void relay_begin(struct stream *s, const struct msg_RELAY *m);
/* The stream has a connection that has become a WebSocket, of the exchange `id`,
 * which is not over for warden, and takes it.  NULL: no memory.  The first relay_resume() is the
 * caller's. */
must_check struct relay *relay_of_websocket(struct stream *s, uint32_t id,
					    const struct allowance *a,
					    struct upstream *from,
					    struct err *e);
/* What the origin has sent: to edge. */
must_check int relay_received(struct relay *r, struct sv data, struct err *e);
/* resolve's answer; takes fd (-1 with an error). */
void relay_socket(struct relay *r, int fd, const struct msg_SOCKET *m);
/* warden's answer to DRAW. */
must_check int relay_allowance(struct relay *r, uint64_t bytes, struct err *e);
/* vault's MASK: that secret has these values, one a line. */
void relay_mask(struct relay *r, uint32_t secret, struct sv values);
/* BODY or BODY_END. */
void relay_message(struct relay *r, const struct msg *m);
/* One of the two sides may be ready to move bytes. */
void relay_resume(struct relay *r);
/* edge is gone: the origin sees a reset. */
void relay_abandon(struct relay *r, const char *why);
/* Nobody is told. */
void relay_free(struct relay *r);

#endif
