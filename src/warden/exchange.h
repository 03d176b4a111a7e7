/* SPDX-License-Identifier: Apache-2.0 */
/* An allowed request on its way: the stream, the connection, the credentials. */
#ifndef WARDEN_EXCHANGE_H
#define WARDEN_EXCHANGE_H

#include "conn.h"
#include "match.h"

/* Starts what is needed, hands the request to dial and the verdict to edge.
 * Trouble is answered to edge as 502, not returned. */
must_check int exchange_begin(struct warden *w, struct conn *c,
			      const struct msg_REQUEST *m,
			      struct credential_use *use, struct err *e);

/* vault leases what that connection's request carries. */
must_check int exchange_grant(struct warden *w, const struct conn *c,
			      struct err *e);
/* The agent has hung up. */
void exchange_hung_up(struct warden *w, uint32_t conn);
/* dial and resolve are gone: what was under way is recorded as over. */
must_check int exchange_end_all(struct warden *w, struct err *e);
/* Is there a request that was allowed and is not over? */
bool exchange_is_any(const struct warden *w);
/* The reason for a request that comes after a fault, in the arena. */
struct sv exchange_why_ended(const struct warden *w, struct arena *a);
/* Gives dial the stream of a connection; edge's end of it in *ret_edge_fd. */
must_check int exchange_send_stream(struct warden *w, struct conn *c,
				    int *ret_edge_fd, struct err *e);

/* Tells edge what to answer; status 0 allows (decision.c). */
void decision_send(struct warden *w, const struct msg_REQUEST *m,
		   uint16_t status, const struct answer *answer);

#endif
