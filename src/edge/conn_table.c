/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All connections, and their deadlines.
 *
 * The deadlines are looked at every few seconds: none of them is exact, and a
 * timer for each connection would have to be moved with each byte.
 */
#include <stdlib.h>

#include "call.h"
#include "conn.h"
#include "face.h"
#include "h2_session.h"
#include "relay_face.h"
#include "tls.h"

enum {
	/* For a first byte, a handshake, a question of DNS, and lingering.
	 * HTTP has times of its own, see face.h. */
	STILL_MS = 30000,
	/* A client that has just been answered, or has just connected, is
	 * likely to go on. */
	RETIRE_MS = 1000,
	/* Its streams to dial are for requests that follow soon. */
	REST_MS = 10000,
};

void conn_enlist(struct conn *c)
{
	struct edge *g = c->edge;

	c->link = g->conns_end;
	*c->link = c;
	g->conns_end = &c->next;
	g->n_conns++;
	edge_need_tick(g);
}

void conn_delist(struct conn *c)
{
	struct edge *g = c->edge;

	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	else
		g->conns_end = c->link;
	g->n_conns--;
	c->next = g->dead_conns;
	g->dead_conns = c;
}

void conn_bury(struct edge *g)
{
	while (g->dead_conns) {
		struct conn *c = g->dead_conns;

		g->dead_conns = c->next;
		h2_free(c->h2);
		free(c->host);
		free(c);
	}
}

/* Calls fn for every connection; fn may end its own one. */
static void for_each(struct edge *g, void (*fn)(struct conn *c))
{
	for (struct conn *c = g->conns, *next; c; c = next) {
		next = c->next;
		fn(c);
	}
}

void conn_resume_all(struct edge *g)
{
	for_each(g, conn_run);
}

/* What it has in dial and warden ends, the next request begins anew. */
static void rest(struct conn *c)
{
	for (struct call *call = c->calls; call; call = call->next)
		if (channel_is_open(&call->stream))
			call_renumber(call);
}

static void check_deadline(struct conn *c)
{
	uint64_t waited_ms = loop_now_ms() - c->since_ms;

	/* Each may have something to tell warden. */
	if (channel_is_full(&c->edge->warden))
		return;
	if (waited_ms >= REST_MS && conn_is_idle(c))
		rest(c);
	if (c->state == CONN_HTTP) {
		c->face->check_deadline(c, waited_ms);
	} else if (waited_ms >= STILL_MS) {
		if (c->state == CONN_OPENING)
			relay_suggest(c, RELAY_TCP, "the client sent nothing,"
				      " and speaks first in TLS and HTTP");
		conn_close(c);
	}
}

void conn_check_deadlines(struct edge *g)
{
	for_each(g, check_deadline);
}

struct conn *conn_most_idle(const struct edge *g)
{
	uint64_t before_ms = loop_now_ms() - RETIRE_MS + 1;
	struct conn *found = NULL;

	for (struct conn *c = g->conns; c; c = c->next) {
		if (c->since_ms >= before_ms || !conn_is_idle(c))
			continue;
		before_ms = c->since_ms;
		found = c;
	}
	return found;
}

/* Its end is a clean one: nothing was begun. */
void conn_retire(struct conn *c)
{
	if (c->h2) {
		h2_say_goodbye(c->h2, NGHTTP2_NO_ERROR);
		conn_flush(c);
	}
	if (c->tls && tls_shutdown(c->tls) == TLS_FAILED)
		conn_abort(c);
	else
		conn_close(c);
}
