/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: see inbound.h.
 *
 * One request at a time: the next head is looked at when the response before
 * it is complete; what a pipelining client sends meanwhile stays in `in` and
 * in the socket.  A body goes to dial piece by piece, and is read only while
 * the stream takes it.
 *
 * What cannot become a canonical request is answered here, recorded as REFUSED
 * and ends the connection, since where the next request would begin is unknown.
 */
#include "inbound.h"

#include <stdlib.h>

#include "head.h"
#include "outbound.h"
#include "proxy.h"

enum {
	EXCHANGE_ARENA = 1 << 19,
	VIOLATIONS_MAX = 4,	/* told for one request */
};

void exchange_free(struct conn *c)
{
	if (!c->exchange)
		return;
	arena_free(&c->exchange->arena);
	free(c->exchange);
	c->exchange = NULL;
}

static struct exchange *exchange_new(struct conn *c)
{
	struct exchange *x = calloc(1, sizeof *x);

	if (x)
		x->arena = arena_new(EXCHANGE_ARENA);
	c->exchange = x;
	return x;
}

/* Parsing starts anew each time, so only when a line was completed. */
static bool is_worth_parsing(const struct conn *c)
{
	struct sv fresh = sv_from(buf_sv(&c->in), c->scanned);

	return fresh.n && (c->scanned == 0 || c->in.n >= HTTP_HEAD_MAX ||
			   sv_find(fresh, '\n') < fresh.n);
}

static bool wait_for_more(struct conn *c)
{
	if (!c->eof)
		return conn_fill(c, CONN_IN_MAX);
	if (c->in.n)
		conn_refused(c, SV("the client left in the middle of a request"));
	conn_finish(c);
	return true;
}

static bool resembles_http(struct sv in)
{
	struct sv line = sv_head(in, sv_find(in, '\n'));

	return sv_find_sv(line, SV(" /")) < line.n ||
	       sv_find_sv(line, SV("HTTP/")) < line.n;
}

static void refuse_literal(struct conn *c)
{
	outbound_refuse(c, 403, SV("a literal address is never dialled; use a"
				   " host name"));
}

/* The head is malformed: where the next one would begin is unknown. */
static void refuse_head(struct conn *c)
{
	struct h1_request bad = c->exchange->head;

	exchange_free(c);
	c->scanned = 0;
	if (!c->used && !c->tls && !resembles_http(buf_sv(&c->in))) {
		conn_refused(c, SV("neither TLS nor HTTP; no other protocol is"
				   " carried"));
		conn_finish(c);
		return;
	}
	if (conn_is_literal(c) && !c->host_n)
		refuse_literal(c);
	else
		outbound_refuse(c, bad.status, sv_str(bad.reason));
	conn_finish(c);
}

static void ask_warden(struct conn *c)
{
	static struct buf fields = { .max = 65536 };
	struct exchange *x = c->exchange;
	struct msg m = { .kind = MSG_REQUEST };

	x->id = ++c->last_id;
	head_to_request(&x->head.request, c->number, x->id, &fields,
			&m.REQUEST);
	if (fields.full) {
		outbound_refuse(c, 431, SV("the header fields are too large"));
		return;
	}
	conn_set_state(c, CONN_VERDICT);
	edge_tell(c->edge, &m);
}

/* The head is whole and well-formed. */
static void on_head(struct conn *c)
{
	struct exchange *x = c->exchange;
	const struct http_request *r = &x->head.request;

	c->used = true;
	x->close = r->close;
	x->body_left = r->body == HTTP_BODY_LENGTH ? r->length : 0;
	if (x->head.is_connect) {
		proxy_connect(c);
		return;
	}
	if (conn_is_literal(c)) {
		refuse_literal(c);
		return;
	}
	if (c->proxy && !c->tunnel)
		proxy_retarget(c);
	if (x->head.wants_websocket)
		outbound_refuse(c, 426, SV("WebSockets are not carried"));
	else
		ask_warden(c);
}

bool inbound_head(struct conn *c)
{
	struct h1_inlet inlet = {
		.proxy = c->proxy && !c->tunnel,
		.scheme = c->tls ? HTTP_TLS : HTTP_PLAIN,
		.host = conn_host(c), .port = c->port,
	};
	struct exchange *x;
	ssize_t n;

	/* First the answer before it, and warden's queue. */
	if (c->out.n || channel_is_full(&c->edge->warden))
		return false;
	if (!is_worth_parsing(c))
		return wait_for_more(c);
	x = exchange_new(c);
	if (!x) {
		conn_abort(c);
		return false;
	}
	n = h1_parse_request(buf_sv(&c->in), &inlet, &x->arena, &x->head);
	if (n == H1_MORE) {
		exchange_free(c);
		c->scanned = c->in.n;
		return wait_for_more(c);
	}
	if (n < 0) {
		refuse_head(c);
		return true;
	}
	buf_consume(&c->in, (size_t)n);
	c->scanned = 0;
	on_head(c);
	return true;
}

void inbound_timed_out(struct conn *c)
{
	if (c->in.n)
		outbound_refuse(c, 408, SV("the request did not arrive in"
					   " time"));
	conn_finish(c);
}

bool inbound_on_verdict(struct conn *c, struct msg *m)
{
	const struct msg_VERDICT *v = &m->VERDICT;
	struct exchange *x = c->exchange;
	struct page p = { .status = v->status, .rule = v->rule,
			  .reason = v->reason, .allow_with = v->allow_with };

	if (c->state != CONN_VERDICT || !x || x->id != v->id)
		return false;
	if (v->status && x->head_sent) {
		conn_abort(c);
		return false;
	}
	if (v->status) {
		outbound_page(c, &p);
		return true;
	}
	if (m->n_fds && !channel_is_open(&c->stream) &&
	    outbound_open(c, &m->fds[0]) < 0) {
		conn_abort(c);
		return false;
	}
	if (!channel_is_open(&c->stream)) {
		p = (struct page){ .status = 502, .close = true,
				   .reason = SV("the connection to the origin"
						" ended before the request") };
		outbound_page(c, &p);
		return true;
	}
	conn_set_state(c, CONN_EXCHANGE);
	if (x->head.request.expects_continue && !x->head_sent &&
	    x->head.request.body != HTTP_BODY_NONE && c->in.n == 0)
		buf_puts(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
	return true;
}

static void look_for_placeholder(struct conn *c, struct sv data)
{
	struct exchange *x = c->exchange;
	struct msg m = { .kind = MSG_VIOLATION };
	char found[PLACEHOLDER_SIZE];

	if (x->violations >= VIOLATIONS_MAX ||
	    !placeholder_scan(&x->scan, data, found))
		return;
	x->violations++;
	m.VIOLATION.conn = c->number;
	m.VIOLATION.id = x->id;
	m.VIOLATION.placeholder = sv_of(found, sizeof found);
	m.VIOLATION.where = SV("body");
	edge_tell(c->edge, &m);
}

static bool send_piece(struct conn *c, struct sv data)
{
	struct msg m = { .kind = MSG_BODY };
	struct err e = { 0 };

	look_for_placeholder(c, data);
	while (data.n) {
		m.BODY.data = sv_head(data, WIRE_CHUNK_MAX);
		data = sv_from(data, m.BODY.data.n);
		if (channel_send(&c->stream, &m, &e) < 0) {
			conn_abort(c);
			return false;
		}
	}
	return true;
}

static void end_body(struct conn *c)
{
	struct exchange *x = c->exchange;
	struct msg m = { .kind = MSG_BODY_END };
	struct err e = { 0 };

	x->body_done = true;
	if (channel_send(&c->stream, &m, &e) < 0)
		conn_abort(c);
	else if (x->response_done)
		inbound_next(c);
}

static void take_length(struct conn *c)
{
	struct exchange *x = c->exchange;
	size_t n = c->in.n < x->body_left ? c->in.n : (size_t)x->body_left;

	if (!send_piece(c, sv_of(c->in.p, n)))
		return;
	buf_consume(&c->in, n);
	x->body_left -= n;
	if (x->body_left == 0)
		end_body(c);
}

static void take_chunks(struct conn *c)
{
	struct exchange *x = c->exchange;
	struct sv rest = buf_sv(&c->in), data = { 0 };
	enum chunked_result r;

	while ((r = chunked_next(&x->chunked, &rest, &data)) == CHUNKED_DATA) {
		if (!send_piece(c, data))
			return;
		if (channel_is_full(&c->stream))
			break;
	}
	buf_consume(&c->in, c->in.n - rest.n);
	if (r == CHUNKED_END) {
		end_body(c);
	} else if (r == CHUNKED_BAD) {
		/* dial sees the stream end without BODY_END: the request was
		 * never complete. */
		channel_close(&c->stream);
		if (x->head_sent) {
			conn_abort(c);
			return;
		}
		x->close = true;
		outbound_refuse(c, 400, SV("malformed chunked body"));
	}
}

bool inbound_body(struct conn *c)
{
	struct exchange *x = c->exchange;

	if (x->body_done || channel_is_full(&c->stream))
		return false;
	if (x->head.request.body == HTTP_BODY_NONE ||
	    (x->head.request.body == HTTP_BODY_LENGTH && x->body_left == 0)) {
		end_body(c);
		return true;
	}
	if (c->in.n == 0) {
		if (!c->eof)
			return conn_fill(c, CONN_READ);
		conn_refused(c, SV("the client left in the middle of a body"));
		conn_abort(c);
		return false;
	}
	if (x->head.request.body == HTTP_BODY_LENGTH)
		take_length(c);
	else
		take_chunks(c);
	return true;
}

void inbound_next(struct conn *c)
{
	bool close = c->exchange->close || (c->eof && c->in.n == 0) ||
		     !channel_is_open(&c->stream);

	exchange_free(c);
	conn_set_state(c, CONN_HEAD);
	if (close)
		conn_finish(c);
}
