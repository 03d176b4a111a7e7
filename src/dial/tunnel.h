/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection that a proxy makes: one CONNECT, between the socket and the first
 * byte for the origin.
 *
 *	-> CONNECT HOST:PORT HTTP/1.1, with the login for the proxy if there is one
 *	<- 2xx		from here on the bytes are the origin's
 *
 * Nothing of the agent's is in what the proxy reads, and nothing of its answer
 * goes further than the status, in a sentence of ours.  What follows the answer
 * without having been asked for is an error, except in a relay, whose origin may
 * speak first.
 *
 * The whole answer has TUNNEL_MS, however often a byte of it comes, and 8 KiB.
 */
#ifndef DIAL_TUNNEL_H
#define DIAL_TUNNEL_H

#include "dial.h"
#include "upstream.h"

enum { TUNNEL_MS = 30000 };

struct tunnel;

/*
 * What DIAL_START says of the proxy.  With a login no socket is taken from
 * resolve until vault has sent the password.
 */
must_check int tunnel_init(struct dial *d, const struct msg_DIAL_START *m,
			   struct err *e);
/* What vault says of it. */
void tunnel_login(const struct msg_LEASE *m);

/*
 * u is open.  address is what the proxy is to dial, judged by resolve, or empty:
 * then it is the name.
 */
must_check int tunnel_begin(struct upstream *u, struct sv address,
			    struct err *e);
/*
 * OK when bytes go to the origin, also where there is no proxy; after AGAIN
 * upstream's `ready` says when to call it next.  opaque: of a relay.
 */
must_check enum upstream_status tunnel_run(struct upstream *u, bool opaque,
					   struct err *e);
void tunnel_free(struct tunnel *t);	/* accepts NULL */

#endif
