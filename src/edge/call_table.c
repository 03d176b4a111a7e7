/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All calls: their numbers, and the verdicts for them.
 */
#include <stdlib.h>

#include "call.h"
#include "face.h"

static struct call **slot_of(struct edge *g, uint32_t number)
{
	return &g->slots[number % EDGE_CALL_SLOTS];
}

static struct call *find(struct edge *g, uint32_t number)
{
	struct call *call = *slot_of(g, number);

	while (call && call->number != number)
		call = call->in_slot;
	return call;
}

void call_enlist(struct call *call)
{
	struct edge *g = call->conn->edge;
	struct call **slot;

	/* Numbers may wrap in a long run; 0 and one in use are passed over. */
	do {
		call->number = ++g->last_number;
	} while (call->number == 0 || find(g, call->number));
	call->last_id = 0;
	slot = slot_of(g, call->number);
	call->in_slot = *slot;
	*slot = call;
	g->n_calls++;
}

void call_delist(struct call *call)
{
	struct edge *g = call->conn->edge;
	struct call **at = slot_of(g, call->number);

	while (*at != call)
		at = &(*at)->in_slot;
	*at = call->in_slot;
	g->n_calls--;
	if (call->last_id) {
		struct msg m = { .kind = MSG_HANGUP };

		m.HANGUP.conn = call->number;
		edge_tell(g, &m);
	}
}

void call_bury(struct edge *g)
{
	while (g->dead_calls) {
		struct call *call = g->dead_calls;

		g->dead_calls = call->next;
		free(call);
	}
}

static void on_denied(struct call *call, const struct msg_VERDICT *v)
{
	struct page p = { .status = v->status, .rule = v->rule,
			  .reason = v->reason, .allow_with = v->allow_with };

	if (call->exchange->head_sent)
		call->conn->face->abort(call);
	else
		call_page(call, &p);
}

static void on_allowed(struct call *call, struct msg *m)
{
	struct page p = { .status = 502, .close = true,
			  .reason = SV("the connection to the origin ended"
				       " before the request") };

	if (m->n_fds && !channel_is_open(&call->stream) &&
	    call_open_stream(call, &m->fds[0]) < 0) {
		call->conn->face->abort(call);
		return;
	}
	if (m->is_short) {
		p.reason = SV("edge has no descriptor left for this request");
		conn_refused(call->conn, p.reason);
	}
	if (!channel_is_open(&call->stream)) {
		call_page(call, &p);
		return;
	}
	call_set_state(call, CALL_EXCHANGE);
	call->conn->face->proceed(call);
}

void call_on_verdict(struct edge *g, struct msg *m)
{
	struct call *call = find(g, m->VERDICT.conn);

	/* A verdict for what has ended meanwhile is void. */
	if (!call || call->state != CALL_VERDICT ||
	    call->exchange->id != m->VERDICT.id)
		return;
	if (m->VERDICT.status)
		on_denied(call, &m->VERDICT);
	else
		on_allowed(call, m);
	conn_run(call->conn);
}
