/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent may send over HTTP/2, with a stand-in for the connection below and
 * for warden and dial above.  Whatever comes: what is asked is canonical and for the
 * connection's host, a body is as long as was said, what waits is bounded, a call
 * works on one stream, and in the end nothing is left.
 */
#include "canonical.h"
#include "fuzz.h"
#include "h2_face.h"

#define MAGIC "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

static struct edge edge;
static struct conn conn;
static struct sv decisions;	/* what warden and dial do */
static struct call *dead;

struct call *call_new(struct conn *c)
{
	struct call *call = calloc(1, sizeof *call);

	MUST(call);
	*call = (struct call){ .conn = c, .next = c->calls,
			       .number = ++edge.last_number,
			       .state = CALL_IDLE };
	c->calls = call;
	MUST(++edge.n_calls <= edge.max_calls);
	return call;
}

static void forget(struct call *call)
{
	if (call->exchange)
		arena_free(&call->exchange->arena);
	free(call->exchange);
	call->exchange = NULL;
}

void call_reset(struct call *call)
{
	forget(call);
	call->stream.loop = NULL;
	call->state = CALL_IDLE;
}

void call_end(struct call *call)
{
	struct call **at = &conn.calls;

	call_reset(call);
	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	call->next = dead;
	dead = call;
	edge.n_calls--;
}

void call_renumber(struct call *call)
{
	call->number = ++edge.last_number;
	call->last_id = 0;
}

struct exchange *call_begin(struct call *call)
{
	MUST(call->state == CALL_IDLE && !call->exchange && !call->h2);
	call->exchange = calloc(1, sizeof *call->exchange);
	MUST(call->exchange);
	call->exchange->arena = arena_new(1 << 19);
	return call->exchange;
}

void call_rest(struct call *call)
{
	forget(call);
	call->state = CALL_IDLE;
}

void call_ask(struct call *call)
{
	const struct http_request *r = &call->exchange->request;

	MUST(request_is_canonical(r));
	MUST(sv_eq(r->host, SV("h.test")) && r->port == 443);
	call->last_id++;
	call->state = CALL_VERDICT;
	call->exchange->response_left = 0;
}

bool call_is_full(const struct call *call)
{
	(void)call;
	return fuzz_byte(&decisions) & 1;
}

bool call_send(struct call *call, struct sv data)
{
	struct exchange *x = call->exchange;

	MUST(call->state == CALL_EXCHANGE && !x->body_done);
	/* Nobody else counts in it: it is for HTTP/1. */
	x->h1.body_left += data.n;
	MUST(x->request.body == HTTP_BODY_CHUNKED || x->upgraded ||
	     (x->request.body == HTTP_BODY_LENGTH &&
	      x->h1.body_left <= x->request.length));
	return true;
}

static void call_is_done(struct call *call)
{
	call->conn->face->done(call);
	call_rest(call);
}

bool call_send_end(struct call *call)
{
	struct exchange *x = call->exchange;

	MUST(!x->body_done);
	MUST(x->request.body != HTTP_BODY_LENGTH ||
	     x->h1.body_left == x->request.length);
	x->body_done = true;
	if (x->response_done)
		call_is_done(call);
	return true;
}

static void deny(struct call *call, bool close)
{
	struct page p = { .status = 403, .reason = SV("no"), .close = close };

	conn.face->page(call, &p);
	call_rest(call);
}

void call_refuse(struct call *call, uint16_t status, struct sv reason)
{
	(void)status;
	(void)reason;
	deny(call, false);
}

static void answer(struct call *call, uint8_t how)
{
	struct exchange *x = call->exchange;
	struct http_response r = { .status = 200, .body = HTTP_BODY_CHUNKED };

	if (how & 1) {
		r.body = HTTP_BODY_LENGTH;
		r.length = x->response_left = 5;
		x->bounded = true;
	}
	if (x->request.upgrade && how & 4) {
		r = (struct http_response){ .status = 101, .upgrade = true,
					    .body = HTTP_BODY_CHUNKED };
		x->response_left = 0;
		x->bounded = false;
		x->upgraded = true;
	}
	x->head_sent = true;
	conn.face->response(call, &r);
	if (how & 2)
		return;
	x->response_left = 0;
	conn.face->data(call, SV("hello"));
	x->response_done = true;
	conn.face->end(call, &(struct http_fields){ 0 });
	if (x->body_done)
		call_is_done(call);
}

/* One thing that warden or dial may say to a call. */
static void decide(struct call *call)
{
	uint8_t how = fuzz_byte(&decisions);

	if (how & 1)
		return;
	if (call->state == CALL_VERDICT && how & 2) {
		deny(call, how & 4);
	} else if (call->state == CALL_VERDICT) {
		call->state = CALL_EXCHANGE;
		call->stream.loop = (struct loop *)&edge;
		conn.face->proceed(call);
	} else if (call->state == CALL_EXCHANGE &&
		   !call->exchange->head_sent) {
		answer(call, how >> 2);
	} else if (call->state == CALL_EXCHANGE &&
		   !call->exchange->response_done && how & 2) {
		conn.face->abort(call);
	}
}

void conn_abort(struct conn *c)
{
	c->state = CONN_DEAD;
}

void conn_finish(struct conn *c)
{
	c->finishing = true;
}

bool conn_fill(struct conn *c, size_t most)
{
	(void)c;
	(void)most;
	return false;
}

void conn_run(struct conn *c) { (void)c; }
void conn_hold(struct conn *c) { (void)c; }
void conn_release(struct conn *c) { (void)c; }

void conn_refused(struct conn *c, struct sv reason)
{
	(void)c;
	MUST(reason.n);
}

void edge_refused(struct edge *g, uint32_t number, struct sv host,
		  uint16_t port, struct sv reason)
{
	(void)g;
	(void)number;
	(void)host;
	(void)port;
	MUST(reason.n);
}

bool channel_is_full(const struct channel *c)
{
	(void)c;
	return false;
}

static void check(void)
{
	unsigned n = 0;

	for (struct h2_stream *s = conn.h2->streams; s; s = s->next) {
		n++;
		MUST(s->in.n <= H2_WINDOW && s->out.n <= H2_OUT_MAX);
		MUST(!s->call || s->call->h2 == s);
	}
	MUST(n == conn.h2->n && n <= H2_STREAMS_MAX + 28);
	MUST(conn.calls && conn.out.n <= 1 << 18 && !conn.out.full);
}

static void run(struct sv piece)
{
	struct call *next;
	int rounds = 0;

	buf_put(&conn.in, piece);
	while (!conn.finishing && h2_step(&conn) && rounds++ < 64)
		buf_reset(&conn.out);
	buf_reset(&conn.out);
	check();
	for (struct call *call = conn.calls; call; call = next) {
		next = call->next;
		if (call->h2)
			decide(call);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	size_t cut = fuzz_byte(&in) * 8U + 1;

	decisions = sv_head(in, fuzz_byte(&in) % 32);
	in = sv_from(in, decisions.n);
	edge = (struct edge){ .max_calls = 200 };
	conn = (struct conn){ .edge = &edge, .face = &h2_face,
			      .state = CONN_HTTP, .in = buf_new(CONN_IN_MAX),
			      .out = buf_new(CONN_OUT_MAX), .port = 443,
			      .tls = (struct tls *)&edge,
			      .host = (char *)(uintptr_t)"h.test",
			      .host_n = 6, .dest.number = 1 };
	(void)call_new(&conn);
	MUST(h2_start(&conn) == 0);
	run(SV(MAGIC));
	while (in.n && !conn.finishing) {
		run(sv_head(in, cut));
		in = sv_from(in, cut);
	}
	conn.eof = true;
	for (int i = 0; i < 4; i++)
		run(SV(""));
	h2_free(conn.h2);
	while (conn.calls)
		call_end(conn.calls);
	while (dead) {
		struct call *call = dead;

		dead = call->next;
		free(call);
	}
	buf_free(&conn.in);
	buf_free(&conn.out);
	return 0;
}
