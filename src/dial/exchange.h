/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request and its response.
 *
 *	QUEUED		as many connections as there may be are at work
 *	CONNECTING	NEED is with warden; resolve will send the socket
 *	TUNNEL		the socket is a proxy's, which connects (tunnel.h)
 *	HANDSHAKE	TLS, until the certificate is verified for the host
 *	LEASING		only then credentials are asked for, if there are any and
 *			the connection has no lease of them
 *	TRANSFER	the request goes out, the response comes in
 *
 * A connection that served before is used again when it goes to the same origin
 * for the same secrets, and is quiet (pool.h); the states before LEASING are then
 * skipped.  If it turns out to be closed all the same, the exchange starts once
 * more on a new one, but only when the request cannot have had an effect twice.
 *
 * Whatever goes wrong ends the exchange and the stream: FAILURE to edge, DONE
 * to warden.  The reasons are sentences of ours with the host's name: never a
 * byte of the origin's, never a credential.
 *
 * Time: waiting for a connection, connecting, the handshake and leasing have
 * limits.  A response has none, since a model may think for many minutes before
 * its first byte, and an event stream may be silent for hours; a dead origin
 * shows by TCP's keepalive, a living one is the agent's to give up.
 */
#ifndef DIAL_EXCHANGE_H
#define DIAL_EXCHANGE_H

#include "allowance.h"
#include "incoming.h"
#include "lease.h"
#include "outgoing.h"
#include "pool.h"
#include "scrub.h"
#include "stream.h"
#include "tunnel.h"
#include "websocket_key.h"

enum {
	EXCHANGE_QUEUE_MS = 60000,
	EXCHANGE_CONNECT_MS = 60000,	/* resolve gives up long before */
	EXCHANGE_HANDSHAKE_MS = 30000,
	EXCHANGE_LEASE_MS = 10000,
	EXCHANGE_ARENA = 512 * 1024,
};

enum exchange_state {
	EXCHANGE_QUEUED = 1,
	EXCHANGE_CONNECTING,
	EXCHANGE_TUNNEL,
	EXCHANGE_HANDSHAKE,
	EXCHANGE_LEASING,
	EXCHANGE_TRANSFER,
};

struct exchange {
	struct stream *stream;
	struct upstream *upstream;	/* the pool's, lent; NULL: none yet */
	struct turn turn;
	enum exchange_state state;
	uint32_t id;
	struct arena arena;		/* what of EXCHANGE must live on */
	struct http_request request;
	struct edit edits[EDITS_MAX];
	size_t n_edits;
	struct lease *claimed;		/* owned; until it is whole, or NULL */
	struct scrub *scrub;		/* owned; NULL without a credential */
	struct outgoing out;
	struct allowance allowance;	/* of its body */
	struct incoming in;
	struct timer deadline;		/* of the state */
	struct timer again;		/* to go on after the others' turn */
	struct h2_call *h2;		/* on such a connection; NULL: none */
	struct buf trailers;		/* of the response, encoded */
	bool reused;			/* the connection served before */
	bool retried;
	bool refused;			/* the origin has not looked at it */
	bool deaf;			/* the origin takes no more bytes */
	bool has_heard_all;		/* that has come: the socket tells of more */
	bool responded;			/* RESPONSE was sent */
	bool received_all;		/* of the response */
	bool reusable;			/* the connection, afterwards */
	uint64_t received;		/* bytes of the body */
	/* upgrade.h */
	struct http_fields offered;	/* before credentials were put in */
	char websocket_key[WEBSOCKET_KEY_SIZE];
};

/* The stream is idle.  Ends by itself. */
void exchange_begin(struct stream *s, const struct msg_EXCHANGE *m);
/* resolve's answer; takes fd (-1 with an error). */
void exchange_socket(struct exchange *x, int fd, const struct msg_SOCKET *m);
/* One of the credentials. */
void exchange_lease(struct exchange *x, const struct msg_LEASE *m);
/* vault's MASK: that secret has these values, one a line; they are not for it. */
void exchange_mask(struct exchange *x, uint32_t secret, struct sv values);
/* The agent's body. */
void exchange_body(struct exchange *x, struct sv data);
void exchange_body_end(struct exchange *x);
/* warden's answer to DRAW. */
must_check int exchange_allowance(struct exchange *x, uint64_t bytes,
				  struct err *e);
/* One of the two sides may be ready to move bytes. */
void exchange_resume(struct exchange *x);
/* edge is gone: there is nobody to answer. */
void exchange_abandon(struct exchange *x, const char *why);

#endif
