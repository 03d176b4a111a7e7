/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dial says to a call: see call.h.
 *
 * dial sends a parsed head and the pieces of a body.  It reads what strangers
 * send, so what it says is checked before the face shows it.  A response that
 * it cuts short is aborted: the client must not take it for a whole one.
 */
#include "call.h"
#include "face.h"
#include "field.h"
#include "head.h"
#include "websocket.h"

static bool is_bodiless(const struct exchange *x, uint16_t status)
{
	return (status < 200 && !x->upgraded) || status == 204 || status == 304 ||
	       sv_eq(x->request.method, SV("HEAD"));
}

/* How much of a body goes on to this client. */
static void choose_body(struct exchange *x, struct http_response *r)
{
	if (is_bodiless(x, r->status)) {
		r->body = HTTP_BODY_NONE;
		r->length = 0;
	} else if (r->body == HTTP_BODY_CLOSE) {
		r->body = HTTP_BODY_CHUNKED;
	} else if (r->body == HTTP_BODY_NONE) {
		r->body = HTTP_BODY_LENGTH;
	}
	x->bounded = r->body != HTTP_BODY_CHUNKED;
	x->response_left = r->length;
}

/* From now on it is bytes both ways, as a relay. */
static void upgrade(struct exchange *x, struct http_response *r)
{
	r->upgrade = true;
	x->upgraded = true;
	x->untaken = true;
	/* Each hop has its own. */
	websocket_drop(&r->fields, SV("sec-websocket-accept"));
}

/*
 * What frames a message or is of one hop is the face's to write, and other ways to
 * the origin, as Alt-Svc offers, there are none.  What is left of a body that HEAD
 * did not ask for is its length.
 */
static int check_fields(struct http_fields *f, bool is_head, struct err *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (!is_field_name(f->v[i].name) ||
		    !is_field_value(f->v[i].value))
			return err_kind(e, ERR_PROTO, "malformed field");
		if (!field_is_hop(f->v[i].name) ||
		    (is_head && sv_eq(f->v[i].name, SV("content-length"))))
			f->v[kept++] = f->v[i];
	}
	f->n = kept;
	return 0;
}

static int on_response(struct call *call, const struct msg_RESPONSE *m,
		       struct err *e)
{
	struct exchange *x = call->exchange;
	struct http_response r = { .status = m->status, .length = m->length,
				   .body = (enum http_body)m->body };
	bool is_head = m->status >= 200 &&
		       sv_eq(x->request.method, SV("HEAD"));

	if (x->head_sent || m->id != x->id)
		return err_kind(e, ERR_PROTO, "a response out of order");
	if (m->body > HTTP_BODY_CLOSE || m->status < 100 || m->status > 599 ||
	    (m->status == 101 && (!x->request.upgrade ||
				  m->body != HTTP_BODY_CLOSE)) ||
	    (m->body != HTTP_BODY_LENGTH && m->length))
		return err_kind(e, ERR_PROTO, "malformed response");
	if (head_get_fields(m->fields, &x->arena, &r.fields, e) < 0 ||
	    check_fields(&r.fields, is_head, e) < 0)
		return -1;
	if (m->status == 101) {
		upgrade(x, &r);
	} else if (m->status < 200) {
		/* edge says 100 by itself; others are hints. */
		if (m->status != 100)
			call->conn->face->interim(call, &r);
		return 0;
	}
	choose_body(x, &r);
	x->head_sent = true;
	call->conn->face->response(call, &r);
	return 0;
}

static int on_chunk(struct call *call, struct sv data, struct err *e)
{
	struct exchange *x = call->exchange;

	if (!x->head_sent || (x->bounded && data.n > x->response_left))
		return err_kind(e, ERR_PROTO, "more body than was announced");
	if (x->bounded)
		x->response_left -= data.n;
	call->conn->face->data(call, data);
	return 0;
}

/* What dial lets through is checked once more. */
static int check_trailers(const struct http_fields *f, struct err *e)
{
	for (size_t i = 0; i < f->n; i++)
		if (!is_field_name(f->v[i].name) ||
		    !is_field_value(f->v[i].value) ||
		    !field_is_trailer(f->v[i].name))
			return err_kind(e, ERR_PROTO, "malformed trailers");
	return 0;
}

static int on_chunk_end(struct call *call, const struct msg_CHUNK_END *m,
			struct err *e)
{
	struct exchange *x = call->exchange;
	struct http_fields trailers;

	if (!x->head_sent || x->response_left)
		return err_kind(e, ERR_PROTO, "less body than was announced");
	if (head_get_fields(m->fields, &x->arena, &trailers, e) < 0 ||
	    check_trailers(&trailers, e) < 0)
		return -1;
	x->response_done = true;
	call->conn->face->end(call, &trailers);
	if (exchange_is_over(x))
		call_done(call);
	return 0;
}

static int on_taken(struct call *call, struct err *e)
{
	struct exchange *x = call->exchange;

	if (!x->untaken || !x->body_done)
		return err_kind(e, ERR_PROTO, "TAKEN out of order");
	x->untaken = false;
	if (exchange_is_over(x))
		call_done(call);
	return 0;
}

/* A limit that is reached while dial works is a refusal; nothing else that is
 * not a failure is dial's to say. */
static uint16_t failure_status(uint16_t status)
{
	return status == 403 || status == 429 ||
	       (status >= 500 && status <= 599) ? status : 502;
}

static void on_failure(struct call *call, const struct msg_FAILURE *m)
{
	struct page p = { .status = failure_status(m->status),
			  .reason = m->reason, .close = true };

	channel_close(&call->stream);
	if (call->exchange->head_sent)
		call->conn->face->abort(call);
	else
		call_page(call, &p);
}

static int on_message(struct channel *stream, struct msg *m, struct err *e)
{
	struct call *call = container_of(stream, struct call, stream);
	int result = 0;

	/* dial may be faster than the verdict that set it to work. */
	if (call->state == CALL_IDLE ||
	    (call->exchange->response_done && m->kind != MSG_TAKEN))
		return err_kind(e, ERR_PROTO, "%s without a request",
				msg_name(m->kind));
	/* Or speak for it: with nothing to be sent, warden says no more. */
	if (call->state == CALL_VERDICT && call->exchange->body_done)
		call_set_state(call, CALL_EXCHANGE);
	if (m->kind == MSG_RESPONSE)
		result = on_response(call, &m->RESPONSE, e);
	else if (m->kind == MSG_CHUNK)
		result = on_chunk(call, m->CHUNK.data, e);
	else if (m->kind == MSG_CHUNK_END)
		result = on_chunk_end(call, &m->CHUNK_END, e);
	else if (m->kind == MSG_TAKEN)
		result = on_taken(call, e);
	else
		on_failure(call, &m->FAILURE);
	if (result == 0)
		conn_run(call->conn);
	return result;
}

/* dial is gone, or said what it may not say. */
static void on_closed(struct channel *stream, const struct err *e)
{
	struct call *call = container_of(stream, struct call, stream);
	const struct exchange *x = call->exchange;
	struct page p = { .status = 502, .close = true,
			  .reason = SV("the connection to the origin ended"
				       " without a response") };

	(void)e;
	if (call->state == CALL_IDLE ||
	    (call->state == CALL_EXCHANGE && x->response_done))
		call_done(call);
	else if (x->head_sent)
		call->conn->face->abort(call);
	else if (call->state == CALL_EXCHANGE || x->body_done)
		call_page(call, &p);
	/* Else the verdict will find no stream. */
	conn_run(call->conn);
}

static void on_drained(struct channel *stream)
{
	struct call *call = container_of(stream, struct call, stream);

	if (call->state == CALL_EXCHANGE && !call->exchange->body_done)
		call->conn->face->proceed(call);
	conn_run(call->conn);
}

int call_open_stream(struct call *call, int *fd)
{
	struct err e = { 0 };

	call->stream.message = on_message;
	call->stream.closed = on_closed;
	call->stream.drained = on_drained;
	if (channel_open(&call->stream, call->conn->edge->loop, *fd, ROLE_EDGE,
			 ROLE_DIAL, PHASE_RUN, &e) < 0)
		return -1;
	*fd = -1;
	return 0;
}
