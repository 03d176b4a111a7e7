/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a call and its request: see call.h.
 *
 * What goes to warden and dial is the canonical request and the bare body; how
 * they were written is the face's.
 */
#include "call.h"

#include <stdlib.h>

#include "canonical.h"
#include "face.h"
#include "head.h"
#include "own.h"

enum {
	EXCHANGE_ARENA = 1 << 19,
	VIOLATIONS_MAX = 4,	/* told for one request */
};

struct call *call_new(struct conn *c)
{
	struct call *call = calloc(1, sizeof *call);

	if (!call)
		return NULL;
	call->conn = c;
	call->state = CALL_IDLE;
	call->next = c->calls;
	c->calls = call;
	call_enlist(call);
	return call;
}

void call_forget(struct call *call)
{
	if (!call->exchange)
		return;
	edge_put_large(call->conn->edge, &call->exchange->is_large);
	arena_free(&call->exchange->arena);
	free(call->exchange);
	call->exchange = NULL;
}

void call_reset(struct call *call)
{
	channel_close(&call->stream);
	call_forget(call);
	call->state = CALL_IDLE;
}

void call_end(struct call *call)
{
	struct edge *g = call->conn->edge;
	struct call **at = &call->conn->calls;

	call_reset(call);
	call_delist(call);
	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	call->next = g->dead_calls;
	g->dead_calls = call;
	loop_arm(g->loop, &g->burial, 0);
}

void call_renumber(struct call *call)
{
	channel_close(&call->stream);
	call_delist(call);
	call_enlist(call);
}

void call_set_state(struct call *call, enum call_state state)
{
	call->state = state;
	conn_note_progress(call->conn);
}

struct exchange *call_begin(struct call *call)
{
	struct exchange *x = calloc(1, sizeof *x);

	if (x)
		x->arena = arena_new(EXCHANGE_ARENA);
	call->exchange = x;
	return x;
}

void call_rest(struct call *call)
{
	call_forget(call);
	call_set_state(call, CALL_IDLE);
}

void call_done(struct call *call)
{
	call->conn->face->done(call);
	call_rest(call);
}

void call_ask(struct call *call)
{
	static struct buf fields = { .max = 65536 };
	struct exchange *x = call->exchange;
	struct msg m = { .kind = MSG_REQUEST };

	x->id = call->last_id + 1;
	x->body_done = request_is_bare(&x->request);
	head_to_request(&x->request, call->number, x->id, &fields, &m.REQUEST);
	if (fields.full) {
		call_refuse(call, 431, SV("the header fields are too large"));
		return;
	}
	if (fields.n + x->request.path.n + x->request.query.n > EDGE_LARGE &&
	    !edge_take_large(call->conn->edge, &x->is_large)) {
		call_refuse(call, 503, EDGE_TOO_LARGE);
		return;
	}
	/* warden counts, too. */
	call->last_id = x->id;
	call_set_state(call, CALL_VERDICT);
	edge_tell(call->conn->edge, &m);
}

bool call_is_full(const struct call *call)
{
	return channel_is_full(&call->stream);
}

static void look_for_placeholder(struct call *call, struct sv data)
{
	struct exchange *x = call->exchange;
	struct msg m = { .kind = MSG_VIOLATION };
	struct placeholder_core found;

	if (x->violations >= VIOLATIONS_MAX ||
	    !placeholder_scan(&x->scan, call->conn->edge->shaped, data,
			      &found))
		return;
	x->violations++;
	m.VIOLATION.conn = call->number;
	m.VIOLATION.id = x->id;
	m.VIOLATION.placeholder = sv_of(found.text, found.n);
	m.VIOLATION.where = SV("body");
	edge_tell(call->conn->edge, &m);
}

bool call_send(struct call *call, struct sv data)
{
	struct msg m = { .kind = MSG_BODY };
	struct err e = { 0 };

	look_for_placeholder(call, data);
	while (data.n) {
		m.BODY.data = sv_head(data, WIRE_CHUNK_MAX);
		data = sv_from(data, m.BODY.data.n);
		if (channel_send(&call->stream, &m, &e) < 0) {
			call->conn->face->abort(call);
			return false;
		}
	}
	return true;
}

bool call_send_end(struct call *call)
{
	struct exchange *x = call->exchange;
	struct msg m = { .kind = MSG_BODY_END };
	struct err e = { 0 };

	x->body_done = true;
	if (channel_send(&call->stream, &m, &e) < 0) {
		call->conn->face->abort(call);
		return false;
	}
	if (exchange_is_over(x))
		call_done(call);
	return true;
}

void call_cut(struct call *call)
{
	channel_close(&call->stream);
}

void call_page(struct call *call, struct page *p)
{
	const struct http_request *r = &call->exchange->request;
	auto_buf struct buf request = buf_new(HTTP_HEAD_MAX);

	buf_put(&request, r->method);
	buf_putc(&request, ' ');
	request_put_url(r, &request);
	p->request = buf_sv(&request);
	p->plain = page_wants_plain(http_field_get(&r->fields,
						   SV("user-agent")));
	p->grpc = page_wants_grpc(http_field_get(&r->fields,
						 SV("content-type")));
	p->head_only = sv_eq(r->method, SV("HEAD"));
	call->conn->face->page(call, p);
	call_rest(call);
}

void call_refuse(struct call *call, uint16_t status, struct sv reason)
{
	struct page p = { .status = status, .reason = reason };
	struct conn *c = call->conn;

	edge_refused(c->edge, call->number, conn_meant_host(c),
		     conn_meant_port(c), reason);
	call_page(call, &p);
}
