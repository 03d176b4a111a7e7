/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All connections: their numbers, verdicts for them, and their deadlines.
 *
 * The deadlines are looked at every few seconds: none of them is exact, and a
 * timer for each connection would have to be moved with each byte.
 */
#include <stdlib.h>

#include "conn.h"
#include "inbound.h"

enum {
	OPENING_MS = 30000,
	HANDSHAKE_MS = 30000,
	HEAD_MS = 60000,
	IDLE_MS = 300000,
	LINGER_MS = 30000,
};

static struct conn **slot_of(struct edge *g, uint32_t number)
{
	return &g->slots[number % EDGE_CONN_SLOTS];
}

struct conn *conn_find(struct edge *g, uint32_t number)
{
	struct conn *c = *slot_of(g, number);

	while (c && c->number != number)
		c = c->next;
	return c;
}

void conn_enlist(struct conn *c)
{
	struct conn **slot;

	/* Numbers may wrap in a long run; 0 and one in use are passed over. */
	do {
		c->number = ++c->edge->last_number;
	} while (c->number == 0 || conn_find(c->edge, c->number));
	c->last_id = 0;
	slot = slot_of(c->edge, c->number);
	c->next = *slot;
	*slot = c;
}

void conn_delist(struct conn *c)
{
	struct conn **at = slot_of(c->edge, c->number);

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (c->last_id) {
		struct msg m = { .kind = MSG_HANGUP };

		m.HANGUP.conn = c->number;
		edge_tell(c->edge, &m);
	}
}

void conn_renumber(struct conn *c)
{
	channel_close(&c->stream);
	conn_delist(c);
	conn_enlist(c);
}

void conn_bury(struct edge *g)
{
	while (g->dead) {
		struct conn *c = g->dead;

		g->dead = c->next;
		free(c);
	}
}

void conn_on_verdict(struct edge *g, struct msg *m)
{
	struct conn *c = conn_find(g, m->VERDICT.conn);

	/* A verdict for a connection that has ended meanwhile is void. */
	if (c && inbound_on_verdict(c, m))
		conn_run(c);
}

/* Calls fn for every connection; fn may end its own one. */
static void for_each(struct edge *g, void (*fn)(struct conn *c))
{
	for (size_t i = 0; i < EDGE_CONN_SLOTS; i++)
		for (struct conn *c = g->slots[i], *next; c; c = next) {
			next = c->next;
			fn(c);
		}
}

void conn_resume_all(struct edge *g)
{
	for_each(g, conn_run);
}

static uint64_t patience_ms(const struct conn *c)
{
	switch (c->state) {
	case CONN_OPENING:
		return OPENING_MS;
	case CONN_HANDSHAKE:
	case CONN_DNS:
		return HANDSHAKE_MS;
	case CONN_HEAD:
		return c->in.n ? HEAD_MS : IDLE_MS;
	case CONN_EXCHANGE:
		/* Not the origin's time: that may think as long as it likes. */
		return c->want_read || c->out.n ? IDLE_MS : 0;
	case CONN_LINGER:
		return LINGER_MS;
	case CONN_VERDICT:
	case CONN_DEAD:
		break;
	}
	return 0;
}

static void check_deadline(struct conn *c)
{
	uint64_t patience = patience_ms(c);

	if (patience == 0 || loop_now_ms() - c->since_ms < patience)
		return;
	if (c->state == CONN_OPENING) {
		conn_refused(c, SV("the client sent nothing; only protocols in"
				   " which it speaks first are carried"));
		conn_close(c);
	} else if (c->state == CONN_HEAD && c->out.n == 0) {
		inbound_timed_out(c);
		conn_run(c);
	} else if (c->state == CONN_EXCHANGE) {
		conn_abort(c);
	} else {
		conn_close(c);
	}
}

void conn_check_deadlines(struct edge *g)
{
	for_each(g, check_deadline);
}
