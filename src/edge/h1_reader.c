/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1 requests: the agent's bytes become calls.
 *
 * One request at a time: the next head is looked at when the response before
 * it is complete; what a pipelining client sends meanwhile stays in `in` and
 * in the socket.  A body goes to dial piece by piece, and is read only while
 * the stream takes it.
 *
 * What cannot become a canonical request is answered here, recorded as REFUSED
 * and ends the connection, since where the next request would begin is unknown.
 */
#include "h1_face.h"
#include "h1_request.h"
#include "proxy.h"
#include "relay_face.h"

enum { HEAD_MS = 60000, IDLE_MS = 300000 };

/* Parsing starts anew each time, so only when a line was completed. */
static bool is_worth_parsing(const struct conn *c)
{
	struct sv fresh = sv_from(buf_sv(&c->in), c->scanned);

	return fresh.n && (c->scanned == 0 || c->in.n >= HTTP_HEAD_MAX ||
			   sv_find(fresh, '\n') < fresh.n);
}

/* The first line, but for an empty one before it; as far as there is one. */
static struct sv first_line(const struct conn *c, bool *ret_whole)
{
	struct sv in = buf_sv(&c->in);
	size_t n;

	if (sv_starts(in, SV("\r\n")))
		in = sv_from(in, 2);
	n = sv_find(in, '\n');
	*ret_whole = n < in.n;
	return sv_head(in, n);
}

static bool resembles_http(struct sv line)
{
	return sv_find_sv(line, SV(" /")) < line.n ||
	       sv_find_sv(line, SV("HTTP/")) < line.n;
}

/* Another protocol, which an answer of ours would only confuse. */
static bool is_foreign(const struct conn *c)
{
	bool whole;

	return !c->used && !c->tls && !resembles_http(first_line(c, &whole));
}

/* ... which shows before the end of a head that never comes. */
static bool begins_foreign(const struct conn *c)
{
	bool whole;
	struct sv line = first_line(c, &whole);

	return whole && line.n && is_foreign(c);
}

static void refuse_foreign(struct conn *c)
{
	relay_suggest(c, RELAY_TCP, "neither TLS nor HTTP");
	conn_finish(c);
}

static bool wait_for_more(struct conn *c)
{
	if (!c->eof)
		return conn_fill(c, CONN_IN_MAX);
	if (c->in.n && is_foreign(c))
		refuse_foreign(c);
	else if (c->in.n)
		conn_refused(c, SV("the client left in the middle of a request"));
	conn_finish(c);
	return true;
}

/* A page for what did not become a request, and the last of the connection. */
static void refuse_bytes(struct conn *c, uint16_t status, struct sv reason)
{
	struct sv in = buf_sv(&c->in);
	struct page p = { .status = status, .reason = reason, .close = true,
			  .request = sv_head(in, sv_find(in, '\r')) };

	conn_refused(c, reason);
	page_put(&c->out, &p);
	conn_note_progress(c);
	conn_finish(c);
}

/* The head is malformed: where the next one would begin is unknown. */
static void refuse_head(struct conn *c, const struct h1_request *bad)
{
	if (is_foreign(c)) {
		refuse_foreign(c);
	} else if (conn_is_literal(c) && !c->host_n) {
		refuse_bytes(c, 403, CONN_LITERAL);
	} else {
		refuse_bytes(c, bad->status, sv_str(bad->reason));
	}
}

/* The head is whole and well-formed. */
static void on_head(struct call *call, const struct h1_request *head)
{
	struct conn *c = call->conn;
	struct exchange *x = call->exchange;
	const struct http_request *r = &head->request;

	x->request = *r;
	x->h1.is_http10 = head->is_http10;
	/* What comes behind a WebSocket that was not opened is no request. */
	x->h1.close = r->close || r->upgrade;
	x->h1.websocket_key = head->websocket_key;
	x->h1.may_continue = !r->expects_continue;
	x->h1.body_left = r->body == HTTP_BODY_LENGTH ? r->length : 0;
	c->used = true;
	if (head->is_connect)
		proxy_connect(call);
	else if (conn_is_literal(c))
		call_refuse(call, 403, CONN_LITERAL);
	else if (c->proxy && !c->tunnel && proxy_retarget(call) < 0)
		conn_abort(c);
	else
		call_ask(call);
}

static bool read_head(struct call *call)
{
	struct conn *c = call->conn;
	struct h1_inlet inlet = {
		.proxy = c->proxy && !c->tunnel,
		.scheme = c->tls ? HTTP_TLS : HTTP_PLAIN,
		.host = conn_host(c), .port = c->port,
	};
	struct h1_request head = { 0 };
	struct exchange *x;
	ssize_t n;

	/* First the answer before it. */
	if (c->out.n)
		return false;
	if (!is_worth_parsing(c))
		return wait_for_more(c);
	x = call_begin(call);
	if (!x) {
		conn_abort(c);
		return false;
	}
	n = h1_parse_request(buf_sv(&c->in), &inlet, &x->arena, &head);
	c->scanned = n == H1_MORE ? c->in.n : 0;
	if (n > 0) {
		buf_consume(&c->in, (size_t)n);
		edge_put_large(c->edge, &c->is_large);
		on_head(call, &head);
		return true;
	}
	call_forget(call);
	if (n != H1_MORE || begins_foreign(c)) {
		refuse_head(c, &head);
		return true;
	}
	if (c->in.n <= EDGE_LARGE || edge_take_large(c->edge, &c->is_large))
		return wait_for_more(c);
	refuse_bytes(c, 503, EDGE_TOO_LARGE);
	return true;
}

static void take_length(struct call *call)
{
	struct conn *c = call->conn;
	struct h1_exchange *h1 = &call->exchange->h1;
	size_t n = c->in.n < h1->body_left ? c->in.n : (size_t)h1->body_left;

	if (!call_send(call, sv_of(c->in.p, n)))
		return;
	buf_consume(&c->in, n);
	h1->body_left -= n;
	if (h1->body_left == 0)
		call_send_end(call);
}

static void take_chunks(struct call *call)
{
	struct conn *c = call->conn;
	struct exchange *x = call->exchange;
	struct sv rest = buf_sv(&c->in), data = { 0 };
	enum chunked_result r;

	while ((r = chunked_next(&x->h1.chunked, &rest, &data)) ==
	       CHUNKED_DATA) {
		if (!call_send(call, data))
			return;
		if (call_is_full(call))
			break;
	}
	buf_consume(&c->in, c->in.n - rest.n);
	if (r == CHUNKED_END) {
		call_send_end(call);
	} else if (r == CHUNKED_BAD) {
		call_cut(call);
		if (x->head_sent) {
			conn_abort(c);
			return;
		}
		x->h1.close = true;
		call_refuse(call, 400, SV("malformed chunked body"));
	}
}

static bool read_body(struct call *call)
{
	struct conn *c = call->conn;
	const struct exchange *x = call->exchange;

	if (x->body_done || call_is_full(call))
		return false;
	/* Its bytes are none of a request: they wait for the 101. */
	if (x->request.upgrade && !x->head_sent)
		return false;
	if (x->request.body == HTTP_BODY_NONE ||
	    (x->request.body == HTTP_BODY_LENGTH && x->h1.body_left == 0)) {
		call_send_end(call);
		return true;
	}
	if (c->in.n == 0) {
		if (!c->eof)
			return conn_fill(c, CONN_READ);
		conn_refused(c, SV("the client left in the middle of a body"));
		conn_abort(c);
		return false;
	}
	if (x->request.body == HTTP_BODY_LENGTH)
		take_length(call);
	else
		take_chunks(call);
	return true;
}

bool h1_step(struct conn *c)
{
	struct call *call = c->calls;

	switch (call->state) {
	case CALL_IDLE:
		return read_head(call);
	case CALL_EXCHANGE:
		return read_body(call);
	case CALL_VERDICT:
		break;
	}
	return false;
}

static uint64_t patience_ms(const struct conn *c)
{
	const struct exchange *x = c->calls->exchange;

	switch (c->calls->state) {
	case CALL_IDLE:
		return c->in.n ? HEAD_MS : IDLE_MS;
	case CALL_EXCHANGE:
		/* Not the origin's time: that may think as long as it likes.
		 * Where both speak at once, it may be nobody's. */
		if (x->head_sent && !x->response_done && !c->out.n)
			return UINT64_MAX;
		return c->want_read || c->out.n ? IDLE_MS : UINT64_MAX;
	case CALL_VERDICT:
		break;
	}
	return UINT64_MAX;
}

void h1_check_deadline(struct conn *c, uint64_t waited_ms)
{
	if (waited_ms < patience_ms(c))
		return;
	/* What is not read must not look whole. */
	if (c->out.n || c->calls->state == CALL_EXCHANGE) {
		conn_abort(c);
		return;
	}
	if (c->in.n)
		refuse_bytes(c, 408, SV("the request did not arrive in time"));
	conn_finish(c);
	conn_run(c);
}
