/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's connections, as warden follows them. */
#ifndef WARDEN_CONN_H
#define WARDEN_CONN_H

#include "warden.h"

/* Edge's calls, and those that dial is still at. */
enum { CONNS_MAX = 16384 };

struct conn {
	struct conn *next;	/* in its bucket */
	uint32_t number;	/* edge's, from 1 on */
	uint32_t id;		/* of the newest request */
	bool has_stream;	/* edge and dial share a stream for it */
	bool dispatched;	/* dial is at the newest request */
	bool hung_up;		/* by the agent; a DONE is still to come */
	bool claimed;		/* dial has what it carries, or will */
	bool waits;		/* ... when what is renewed is there */
	bool rejected;		/* the origin has answered 401 to that */
	uint32_t owed;		/* DONEs that dial has still to say */
	uint32_t done_id;	/* of the last one */
	uint8_t connects;	/* how often dial needed a connection for it */
	uint8_t n_secrets;
	/* Of the newest request: number and version of each, those that are sent
	 * before those that are only masked. */
	uint8_t n_sent;
	uint32_t secrets[EDITS_MAX], versions[EDITS_MAX];
	/* The newest request's origin, for CONNECT. */
	struct buf host;
	uint16_t port;
};

/* NULL when there is none of that number. */
struct conn *conn_find(struct warden *w, uint32_t number);
/* NULL when there are too many. */
struct conn *conn_add(struct warden *w, uint32_t number);
/* The request of that id is the connection's newest, and for that origin.  One
 * at a time, counted without gaps: ERR_PROTO else. */
must_check int conn_take(struct conn *c, uint32_t id, struct sv host,
			 uint16_t port, struct err *e);
/* dial is at the newest request from now on, and owes its end: one DONE. */
void conn_dispatch(struct conn *c);
/* The end of request id; ERR_PROTO when it is not owed. */
must_check int conn_done(struct conn *c, uint32_t id, struct err *e);
void conn_remove(struct warden *w, uint32_t number);
void conn_remove_all(struct warden *w);

#endif
