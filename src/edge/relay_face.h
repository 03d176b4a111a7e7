/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that are carried without being read, where a rule for tcp or tls
 * says so.
 *
 *	asked at once	tcp: the server may be the one that begins
 *	looked at	tls: the ClientHello is peeked at until it is whole; its
 *			server name must be the name that was connected to
 *	carried		both ways, until both have ended
 *
 * edge knows no rules, only at which ports it is worth to ask.  warden may say
 * that this one is no relay: it then goes on as any other, none of its bytes
 * having been taken.
 *
 * Each direction ends by itself.  What was refused or broke off is reset, so that
 * it cannot be taken for an end; a client of tls gets an alert, one that sent a
 * CONNECT a page.
 */
#ifndef EDGE_RELAY_FACE_H
#define EDGE_RELAY_FACE_H

#include "face.h"
#include "relay_kind.h"

/* Once it is carried, also a WebSocket's. */
extern const struct face relay_face;

/* EDGE_START's `relays`. */
must_check int relay_learn(struct sv hints, struct err *e);
/* That port of the loopback is captured: `localhost` is a host as others. */
bool relay_is_local_port(uint16_t port);
/* Is it worth to ask for that kind? */
bool relay_may_be(const struct conn *c, enum relay_kind kind);
/* At its start: to wait for the first byte might hang it.  May end it. */
void relay_start(struct conn *c);
/* Asks warden. */
void relay_ask(struct conn *c, enum relay_kind kind);
/* The same for tls, when the ClientHello is there. */
void relay_look(struct conn *c);
/* REFUSED, with the statement that would carry it unread. */
void relay_suggest(struct conn *c, enum relay_kind kind, const char *why);

#endif
