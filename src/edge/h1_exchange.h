/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP/1 has to remember of an exchange: how both bodies are framed. */
#ifndef EDGE_H1_EXCHANGE_H
#define EDGE_H1_EXCHANGE_H

#include "chunked.h"

struct h1_exchange {
	struct chunked chunked;		/* the request's body */
	uint64_t body_left;		/* of a request with a length */
	struct sv websocket_key;	/* the agent's */
	bool is_http10;
	bool may_continue;		/* the 100 was said, or was not wanted */
	bool chunks;			/* the response is in the chunked coding */
	bool close;			/* the connection ends after it */
};

#endif
