/* SPDX-License-Identifier: Apache-2.0 */
/* Responses: from dial's messages, or pages of our own, to the agent. */
#ifndef EDGE_OUTBOUND_H
#define EDGE_OUTBOUND_H

#include "conn.h"

/* Takes *fd: the stream to dial. */
must_check int outbound_open(struct conn *c, int *fd);

/*
 * Answers the request at work (c->exchange; may be NULL when its head was not
 * understood) with a page.  The connection goes on only if its framing is known
 * and no body is outstanding.
 */
void outbound_page(struct conn *c, struct page *p);
/* The same for a refusal that warden has not heard of: REFUSED is sent. */
void outbound_refuse(struct conn *c, uint16_t status, struct sv reason);

#endif
