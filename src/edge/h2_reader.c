/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 requests: streams become calls.
 *
 * A step gives nghttp2 what came, takes each head that is whole to warden, and
 * hands bodies to dial as far as their streams there take them.  What cannot
 * become a canonical request is answered here, and recorded as REFUSED; unlike
 * in HTTP/1 the connection goes on, as where the next request begins is known.
 */
#include "h2_face.h"
#include "own.h"

enum { HEAD_MS = 60000, IDLE_MS = 300000 };

/* The head is no request. */
static void refuse_head(struct h2_stream *s)
{
	auto_buf struct buf request = buf_new(HTTP_HEAD_MAX + 2);
	const struct h1_refusal *why = &s->list.why;
	struct call *call = s->call;
	struct conn *c = call->conn;
	struct page p = { .status = why->status,
			  .reason = sv_str(why->reason) };

	buf_put(&request, http_field_get(&s->list.fields, SV(":method")));
	buf_putc(&request, ' ');
	buf_put(&request, http_field_get(&s->list.fields, SV(":path")));
	p.request = buf_sv(&request);
	edge_refused(c->edge, call->number, conn_meant_host(c),
		     conn_meant_port(c), p.reason);
	h2_charge(s->h2, H2_RESET_COST);
	c->face->page(call, &p);
	call_rest(call);
}

static void on_head(struct h2_stream *s)
{
	struct call *call = s->call;
	struct conn *c = call->conn;
	struct exchange *x = call->exchange;
	struct h1_inlet inlet = {
		.scheme = c->tls ? HTTP_TLS : HTTP_PLAIN,
		.host = conn_host(c), .port = c->port,
	};

	s->is_asked = true;
	c->used = true;
	if (h2_parse_request(&s->list, s->is_ended && s->in.n == 0, &inlet,
			     &x->arena, &x->request) < 0) {
		refuse_head(s);
		return;
	}
	s->may_continue = !x->request.expects_continue;
	s->body_left = x->request.length;
	if (conn_is_literal(c))
		call_refuse(call, 403, CONN_LITERAL);
	else
		call_ask(call);
}

/* false: it was too much, or too little, and the stream is no more. */
static bool count_body(struct h2_stream *s, size_t n)
{
	if (s->call->exchange->request.body != HTTP_BODY_LENGTH)
		return true;
	if (n > s->body_left || (n == 0 && s->body_left)) {
		h2_give_up(s, NGHTTP2_PROTOCOL_ERROR);
		return false;
	}
	s->body_left -= n;
	return true;
}

/* A WebSocket's bytes wait for the switch; without one they are nobody's. */
static bool is_held_back(struct h2_stream *s)
{
	struct exchange *x = s->call->exchange;

	if (!x->request.upgrade || x->upgraded)
		return false;
	if (x->head_sent)
		call_send_end(s->call);
	return true;
}

/* A frame is larger than a record of TLS and comes in two pieces: one of them is
 * nothing to wake dial for, and the other an instant away. */
static void send_body(struct h2_stream *s)
{
	struct call *call = s->call;
	struct sv rest;

	if (call->exchange->body_done || call_is_full(call) || is_held_back(s))
		return;
	/* Streams take turns, frame by frame. */
	if (s->h2->has_more && !s->is_ended && s->in_whole < H2_PIECE)
		return;
	rest = sv_head(buf_sv(&s->in), s->in_whole);
	while (rest.n && !call_is_full(call)) {
		struct sv piece = sv_head(rest, WIRE_CHUNK_MAX);

		if (!count_body(s, piece.n) || !call_send(call, piece))
			return;
		rest = sv_from(rest, piece.n);
		h2_consumed(s, piece.n);
	}
	buf_consume(&s->in, s->in_whole - rest.n);
	s->in_whole = rest.n;
	if (s->in.n || !s->is_ended || call_is_full(call))
		return;
	h2_drop_in(s);
	if (count_body(s, 0))
		call_send_end(call);
}

/* What has come on it, and that it is over. */
static void run_stream(struct h2_stream *s)
{
	if (s->closed && s->cut)
		h2_give_up(s, NGHTTP2_CANCEL);
	else if (s->call->state == CALL_EXCHANGE)
		send_body(s);
	else if (s->is_head_whole && !s->is_asked &&
		 !channel_is_full(&s->h2->conn->edge->warden))
		on_head(s);
}

static void run_streams(struct h2 *h)
{
	for (struct h2_stream *s = h->streams; s; s = s->next)
		if (s->call)
			run_stream(s);
	h2_reap(h);
}

static bool finish(struct conn *c, uint32_t error)
{
	h2_say_goodbye(c->h2, error);
	conn_finish(c);
	return true;
}

/* The agent will say nothing more: what it has not ended cannot end. */
static bool on_eof(struct conn *c)
{
	for (struct h2_stream *s = c->h2->streams; s; s = s->next)
		if (s->call && !s->is_ended)
			h2_give_up(s, NGHTTP2_CANCEL);
	if (h2_transmit(c->h2))
		return true;
	return c->h2->streams ? false : finish(c, NGHTTP2_NO_ERROR);
}

bool h2_step(struct conn *c)
{
	struct h2 *h = c->h2;

	/* Not while the agent reads nothing. */
	bool may_read = c->out.n < H2_UNREAD_MAX;

	if (c->in.n && may_read)
		h2_receive(h);
	h->has_more = may_read && c->readable && !c->eof;
	run_streams(h);
	if (h2_transmit(h))
		return true;
	if (h->fault) {
		conn_refused(c, sv_str(h->fault));
		return finish(c, NGHTTP2_ENHANCE_YOUR_CALM);
	}
	for (; h->malformed; h->malformed--)
		conn_refused(c, SV("a malformed HTTP/2 request"));
	/* After a GOAWAY of the agent: a call may still have to hear its end. */
	if (!h->streams && !nghttp2_session_want_read(h->session) &&
	    !nghttp2_session_want_write(h->session)) {
		conn_finish(c);
		return true;
	}
	if (!may_read)
		return false;
	if (c->eof)
		return on_eof(c);
	/* What has waited for more goes on without. */
	return conn_fill(c, CONN_READ) || (h->has_more && !c->readable);
}

/* Is it nobody's turn to say something: as in a WebSocket, a call of gRPC, or
 * any stream whose answer has begun before the request is over? */
static bool is_both_ways(const struct h2_stream *s)
{
	const struct exchange *x = s->call ? s->call->exchange : NULL;
	struct sv type;

	if (!x || x->response_done)
		return false;
	type = http_field_get(&x->request.fields, SV("content-type"));
	return x->head_sent || page_wants_grpc(type);
}

/* Not the origin's time: that may think as long as it likes. */
static uint64_t patience_ms(const struct conn *c)
{
	uint64_t patience = c->h2->streams ? UINT64_MAX : IDLE_MS;

	if (c->out.n)
		return IDLE_MS;
	for (const struct h2_stream *s = c->h2->streams; s; s = s->next)
		if (s->out.n || !s->call ||
		    (!s->is_ended && !is_both_ways(s)))
			patience = IDLE_MS;
	return patience;
}

static bool is_head_late(const struct conn *c)
{
	for (const struct h2_stream *s = c->h2->streams; s; s = s->next)
		if (!s->is_head_whole && loop_now_ms() - s->born_ms >= HEAD_MS)
			return true;
	return false;
}

void h2_check_deadline(struct conn *c, uint64_t waited_ms)
{
	if (waited_ms < patience_ms(c) && !is_head_late(c))
		return;
	/* What is not read must not look whole. */
	if (c->out.n || c->h2->streams) {
		conn_abort(c);
		return;
	}
	finish(c, NGHTTP2_NO_ERROR);
	conn_run(c);
}
