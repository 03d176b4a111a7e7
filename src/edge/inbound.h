/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: from the agent's bytes to warden's question and dial's body. */
#ifndef EDGE_INBOUND_H
#define EDGE_INBOUND_H

#include "chunked.h"
#include "conn.h"
#include "h1_request.h"
#include "placeholder.h"

/* One request and its response; made when the head is complete. */
struct exchange {
	struct arena arena;		/* all views of head */
	struct h1_request head;
	uint32_t id;
	/* the body, towards dial */
	struct chunked chunked;
	uint64_t body_left;
	bool body_done;			/* BODY_END was sent */
	bool continued;			/* the agent got its 100 */
	unsigned violations;
	struct placeholder_scan scan;
	/* the response, towards the agent */
	bool head_sent;
	bool chunks;			/* in the chunked coding */
	bool bounded;			/* exactly response_left bytes more */
	uint64_t response_left;
	bool response_done;
	bool close;			/* the connection ends after it */
};

void exchange_free(struct conn *c);

bool inbound_head(struct conn *c);
bool inbound_body(struct conn *c);
/* false when it was void. */
bool inbound_on_verdict(struct conn *c, struct msg *m);
/* No head came in time. */
void inbound_timed_out(struct conn *c);
/* Both halves of the exchange are over: on to the next request. */
void inbound_next(struct conn *c);

#endif
