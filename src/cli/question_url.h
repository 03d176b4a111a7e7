/* SPDX-License-Identifier: Apache-2.0 */
/* What a question of `stockade check` about the network names: a URL, or a host
 * and a port. */
#ifndef CLI_QUESTION_URL_H
#define CLI_QUESTION_URL_H

#include "match.h"
#include "match_relay.h"

/* Does the word say what it is about by itself: "wss://...", "tcp://..."? */
bool question_has_scheme(struct sv word);

/*
 * method and URL (https where it names no scheme) as the one canonical request.
 * wss and ws are the GET that opens a WebSocket: *ret_websocket is set then, and
 * method may be empty.  NULL, or why there is no such request; views are the
 * arena's or method's.
 */
must_check const char *question_url(struct sv method, struct sv url,
				    struct arena *a, struct question *ret,
				    bool *ret_websocket);

/* HOST:PORT, or HOST for TLS, which has a usual one; the same behind "tcp://" and
 * "tls://". */
must_check const char *question_endpoint(struct sv text, struct arena *a,
					 struct relay_question *ret);

#endif
