/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses: see outbound.h.
 *
 * dial sends a parsed head and the pieces of a body; the framing towards the
 * agent is made anew.  A response that dial cuts short ends the connection with
 * a reset: the client must not take it for a whole one.
 */
#include "outbound.h"

#include "canonical.h"
#include "field.h"
#include "head.h"
#include "h1_response.h"
#include "inbound.h"
#include "own.h"

static bool is_bodiless(const struct exchange *x, uint16_t status)
{
	return status < 200 || status == 204 || status == 304 ||
	       sv_eq(x->head.request.method, SV("HEAD"));
}

/* How the body goes on to this client; rewrites r to say so. */
static void choose_framing(struct exchange *x, struct http_response *r)
{
	bool unbounded = r->body == HTTP_BODY_CHUNKED ||
			 r->body == HTTP_BODY_CLOSE;

	if (is_bodiless(x, r->status)) {
		r->body = HTTP_BODY_NONE;
		r->length = 0;
	} else if (!unbounded) {
		r->body = HTTP_BODY_LENGTH;
	} else if (x->head.is_http10) {
		r->body = HTTP_BODY_CLOSE;
		x->close = true;
	} else {
		r->body = HTTP_BODY_CHUNKED;
	}
	x->chunks = r->body == HTTP_BODY_CHUNKED;
	x->bounded = r->body == HTTP_BODY_LENGTH || r->body == HTTP_BODY_NONE;
	x->response_left = r->length;
}

/* Once more, since dial reads what strangers send.  Other ways to the same
 * origin are not offered: there is only this one. */
static int check_fields(struct http_fields *f, struct err *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (!is_field_name(f->v[i].name) ||
		    !is_field_value(f->v[i].value))
			return err_kind(e, ERR_PROTO, "malformed field");
		if (!sv_eq(f->v[i].name, SV("alt-svc")))
			f->v[kept++] = f->v[i];
	}
	f->n = kept;
	return 0;
}

static int on_response(struct conn *c, const struct msg_RESPONSE *m,
		       struct err *e)
{
	struct exchange *x = c->exchange;
	struct http_response r = { .status = m->status, .length = m->length,
				   .body = (enum http_body)m->body };

	if (x->head_sent || m->id != x->id)
		return err_kind(e, ERR_PROTO, "a response out of order");
	if (m->body > HTTP_BODY_CLOSE || m->status < 100 || m->status > 599 ||
	    m->status == 101 ||
	    (m->body != HTTP_BODY_LENGTH && m->length))
		return err_kind(e, ERR_PROTO, "malformed response");
	if (head_get_fields(m->fields, &x->arena, &r.fields, e) < 0 ||
	    check_fields(&r.fields, e) < 0)
		return -1;
	if (m->status < 200) {
		/* edge says 100 by itself; others are hints. */
		if (m->status != 100 && !x->head.is_http10)
			h1_write_response_head(&c->out, &r, true);
		return 0;
	}
	choose_framing(x, &r);
	h1_write_response_head(&c->out, &r, !x->close);
	x->head_sent = true;
	if (!x->bounded || x->response_left)
		conn_hold(c);
	return 0;
}

static int on_chunk(struct conn *c, struct sv data, struct err *e)
{
	struct exchange *x = c->exchange;

	if (!x->head_sent || (x->bounded && data.n > x->response_left))
		return err_kind(e, ERR_PROTO, "more body than was announced");
	if (x->bounded)
		x->response_left -= data.n;
	if (x->chunks)
		chunked_put(&c->out, data);
	else
		buf_put(&c->out, data);
	return 0;
}

static int on_chunk_end(struct conn *c, struct err *e)
{
	struct exchange *x = c->exchange;

	if (!x->head_sent || x->response_left)
		return err_kind(e, ERR_PROTO, "less body than was announced");
	if (x->chunks)
		chunked_put_last(&c->out);
	x->response_done = true;
	if (x->body_done)
		inbound_next(c);
	return 0;
}

static void on_failure(struct conn *c, const struct msg_FAILURE *m)
{
	struct page p = { .status = m->status < 500 || m->status > 599 ?
					    502 : m->status,
			  .reason = m->reason, .close = true };

	channel_close(&c->stream);
	if (c->exchange->head_sent)
		conn_abort(c);
	else
		outbound_page(c, &p);
}

static int on_message(struct channel *stream, struct msg *m, struct err *e)
{
	struct conn *c = container_of(stream, struct conn, stream);
	int result;

	/* dial may be faster than the verdict that set it to work. */
	if ((c->state != CONN_EXCHANGE && c->state != CONN_VERDICT) ||
	    c->exchange->response_done)
		return err_kind(e, ERR_PROTO, "%s without a request",
				msg_name(m->kind));
	conn_release(c);
	if (m->kind == MSG_RESPONSE) {
		result = on_response(c, &m->RESPONSE, e);
	} else if (m->kind == MSG_CHUNK) {
		result = on_chunk(c, m->CHUNK.data, e);
	} else if (m->kind == MSG_CHUNK_END) {
		result = on_chunk_end(c, e);
	} else {
		on_failure(c, &m->FAILURE);
		result = 0;
	}
	if (result == 0)
		conn_run(c);
	return result;
}

/* dial is gone, or said what it may not say. */
static void on_closed(struct channel *stream, const struct err *e)
{
	struct conn *c = container_of(stream, struct conn, stream);
	struct page p = { .status = 502, .close = true,
			  .reason = SV("the connection to the origin ended"
				       " without a response") };

	(void)e;
	conn_release(c);
	if (c->state == CONN_HEAD) {
		conn_finish(c);
	} else if (c->state == CONN_VERDICT) {
		/* The verdict will find no stream. */
		if (c->exchange->head_sent)
			conn_abort(c);
	} else if (c->state == CONN_EXCHANGE) {
		if (c->exchange->response_done)
			conn_finish(c);
		else if (c->exchange->head_sent)
			conn_abort(c);
		else
			outbound_page(c, &p);
	}
	conn_run(c);
}

static void on_drained(struct channel *stream)
{
	conn_run(container_of(stream, struct conn, stream));
}

int outbound_open(struct conn *c, int *fd)
{
	struct err e = { 0 };

	c->stream.message = on_message;
	c->stream.closed = on_closed;
	c->stream.drained = on_drained;
	if (channel_open(&c->stream, c->edge->loop, *fd, ROLE_EDGE, ROLE_DIAL,
			 PHASE_RUN, &e) < 0)
		return -1;
	*fd = -1;
	return 0;
}

void outbound_page(struct conn *c, struct page *p)
{
	struct exchange *x = c->exchange;
	auto_buf struct buf request = buf_new(HTTP_HEAD_MAX);

	if (x) {
		const struct http_request *r = &x->head.request;

		buf_put(&request, r->method);
		buf_putc(&request, ' ');
		request_put_url(r, &request);
		p->request = buf_sv(&request);
		p->plain = page_wants_plain(http_field_get(
			&r->fields, SV("user-agent")));
		p->head_only = sv_eq(r->method, SV("HEAD"));
		p->http10 = x->head.is_http10;
		/* A body that was not asked for may still be on its way. */
		p->close |= x->close || r->body == HTTP_BODY_CHUNKED ||
			    x->body_left > 0 || p->status == 426;
	} else {
		/* Not understood: its first line, as it was. */
		p->request = sv_head(buf_sv(&c->in),
				     sv_find(buf_sv(&c->in), '\r'));
		p->close = true;
	}
	page_put(&c->out, p);
	exchange_free(c);
	conn_set_state(c, CONN_HEAD);
	if (p->close)
		conn_finish(c);
}

void outbound_refuse(struct conn *c, uint16_t status, struct sv reason)
{
	struct page p = { .status = status, .reason = reason };

	conn_refused(c, reason);
	outbound_page(c, &p);
}
