/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1 responses: what a call is answered becomes bytes.
 *
 * The framing towards the agent is made anew.  Where it cannot show that a body
 * is not whole, the end of the connection does: a clean one or a reset.
 */
#include "h1_face.h"

#include "h1_response.h"
#include "websocket_face.h"

/* No more than was said is asked for: only a body that has not begun. */
static void proceed(struct call *call)
{
	struct exchange *x = call->exchange;

	if (!x->h1.may_continue && !x->head_sent &&
	    x->request.body != HTTP_BODY_NONE && call->conn->in.n == 0)
		buf_puts(&call->conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
	x->h1.may_continue = true;
}

static void interim(struct call *call, const struct http_response *r)
{
	if (!call->exchange->h1.is_http10)
		h1_write_response_head(&call->conn->out, r, true);
}

static void response(struct call *call, struct http_response *r)
{
	struct conn *c = call->conn;
	struct exchange *x = call->exchange;

	if (r->upgrade) {
		websocket_begin(call, r);
		return;
	}
	if (r->body == HTTP_BODY_CHUNKED && x->h1.is_http10) {
		r->body = HTTP_BODY_CLOSE;
		x->h1.close = true;
	}
	x->h1.chunks = r->body == HTTP_BODY_CHUNKED;
	h1_write_response_head(&c->out, r, !x->h1.close);
	if (!x->bounded || x->response_left)
		conn_hold(c);
}

static void data(struct call *call, struct sv piece)
{
	struct conn *c = call->conn;

	conn_release(c);
	if (call->exchange->h1.chunks)
		chunked_put(&c->out, piece);
	else
		buf_put(&c->out, piece);
}

static void end(struct call *call, const struct http_fields *trailers)
{
	const struct exchange *x = call->exchange;
	struct conn *c = call->conn;

	conn_release(c);
	if (x->h1.chunks && x->request.trailers)
		chunked_put_trailers(&c->out, trailers);
	else if (x->h1.chunks)
		chunked_put_last(&c->out);
}

/* The connection goes on only if no body is outstanding. */
static void page(struct call *call, struct page *p)
{
	const struct exchange *x = call->exchange;

	p->http10 = x->h1.is_http10;
	/* A body that was not asked for may still be on its way. */
	p->close |= x->h1.close || x->request.body == HTTP_BODY_CHUNKED ||
		    x->h1.body_left > 0;
	page_put(&call->conn->out, p);
	if (p->close)
		conn_finish(call->conn);
}

static void done(struct call *call)
{
	struct conn *c = call->conn;
	const struct exchange *x = call->exchange;

	conn_release(c);
	if ((x && x->h1.close) || (c->eof && c->in.n == 0) ||
	    !channel_is_open(&call->stream))
		conn_finish(c);
}

static void abort_connection(struct call *call)
{
	conn_abort(call->conn);
}

static bool is_backed_up(const struct call *call)
{
	return call->conn->out.n > 0 && !conn_is_held(call->conn);
}

const struct face h1_face = {
	.step = h1_step,
	.check_deadline = h1_check_deadline,
	.proceed = proceed,
	.interim = interim,
	.response = response,
	.data = data,
	.end = end,
	.page = page,
	.done = done,
	.abort = abort_connection,
	.is_backed_up = is_backed_up,
};
