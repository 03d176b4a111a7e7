/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 responses: what a call is answered becomes frames of its stream.
 *
 * A body waits in the stream until nghttp2 asks for it, as the agent's windows
 * open; meanwhile dial's stream is not read.  What must not look whole ends in
 * RST_STREAM, and other streams go on.
 *
 * A call that is free again, and whose stream to dial is open, takes the next
 * request: dial keeps the connection to the origin for it.  A few are kept.
 */
#include "h2_face.h"

#include <stdio.h>

#include "field.h"
#include "own.h"

enum {
	IDLE_CALLS_MAX = 8,
	BACKED_UP = 32768,
	EXTRA_FIELDS = 6,	/* of edge itself */
};

enum { DIGITS = 24 };

struct head {
	nghttp2_nv *v;
	size_t n;
	char status[DIGITS], length[DIGITS];
};

static void head_put(struct head *h, struct sv name, struct sv value)
{
	/* nghttp2 copies them, and changes nothing. */
	h->v[h->n++] = (nghttp2_nv){
		.name = (uint8_t *)(uintptr_t)name.p, .namelen = name.n,
		.value = (uint8_t *)(uintptr_t)value.p, .valuelen = value.n,
	};
}

static void head_put_number(struct head *h, struct sv name, char text[DIGITS],
			    uint64_t n)
{
	(void)snprintf(text, DIGITS, "%ju", (uintmax_t)n);
	head_put(h, name, sv_str(text));
}

struct call *h2_take_call(struct h2 *h)
{
	struct edge *g = h->conn->edge;
	struct call *fresh = NULL;

	for (struct call *call = h->conn->calls; call; call = call->next) {
		if (call->state != CALL_IDLE || call->exchange || call->h2)
			continue;
		if (channel_is_open(&call->stream))
			return call;
		fresh = call;
	}
	if (!fresh && g->n_calls < g->max_calls)
		fresh = call_new(h->conn);
	return fresh;
}

/* Its last call stays: a connection has a number to its end. */
static bool is_last(const struct call *call)
{
	return call->conn->calls == call && !call->next;
}

void h2_retire_call(struct call *call)
{
	call_reset(call);
	if (!is_last(call))
		call_end(call);
	else if (call->last_id)
		call_renumber(call);
}

static void spare_call(struct call *call)
{
	int idle = 0;

	for (struct call *o = call->conn->calls; o; o = o->next)
		idle += o != call && !o->h2 && o->state == CALL_IDLE;
	if (idle >= IDLE_CALLS_MAX)
		h2_retire_call(call);
}

void h2_part(struct h2_stream *s)
{
	s->call->h2 = NULL;
	s->call = NULL;
	h2_consumed(s, s->in.n);
	h2_drop_in(s);
}

void h2_give_up(struct h2_stream *s, uint32_t error)
{
	struct call *call = s->call;

	h2_reset(s, error);
	h2_part(s);
	h2_retire_call(call);
}

static bool submit_trailers(struct h2_stream *s)
{
	struct head h = { .v = arena_alloc(&s->memory, s->trailers.n *
							   sizeof *h.v) };

	for (size_t i = 0; h.v && i < s->trailers.n; i++)
		head_put(&h, s->trailers.v[i].name, s->trailers.v[i].value);
	return h.n && nghttp2_submit_trailer(s->h2->session, s->id, h.v,
					     h.n) == 0;
}

static ssize_t read_out(nghttp2_session *session, int32_t id, uint8_t *to,
			size_t max, uint32_t *flags, nghttp2_data_source *source,
			void *data)
{
	struct h2_stream *s = source->ptr;
	struct sv waiting = sv_from(buf_sv(&s->out), s->out_sent);
	size_t n = waiting.n < max ? waiting.n : max;

	(void)session;
	(void)id;
	(void)data;
	if (n == 0 && !s->is_last)
		return NGHTTP2_ERR_DEFERRED;
	if (n)
		memcpy(to, waiting.p, n);
	s->out_sent += n;
	if (n == waiting.n && s->is_last) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (s->trailers.n && submit_trailers(s))
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	}
	if (n == waiting.n) {
		buf_reset(&s->out);
		s->out_sent = 0;
	}
	return (ssize_t)n;
}

static void submit(struct h2_stream *s, const struct head *h, bool has_body)
{
	nghttp2_data_provider body = { .source.ptr = s,
				       .read_callback = read_out };

	if (!s->closed)
		(void)nghttp2_submit_response(s->h2->session, s->id, h->v, h->n,
					      has_body ? &body : NULL);
}

static void submit_interim(struct h2_stream *s, const struct head *h)
{
	if (!s->closed)
		(void)nghttp2_submit_headers(s->h2->session, NGHTTP2_FLAG_NONE,
					     s->id, NULL, h->v, h->n, NULL);
}

/* No more than was said is asked for: only a body that has not begun. */
static void proceed(struct call *call)
{
	struct h2_stream *s = call->h2;
	nghttp2_nv v[1];
	struct head h = { .v = v };

	if (!s->may_continue && !call->exchange->head_sent && s->in.n == 0 &&
	    !s->is_ended) {
		head_put(&h, SV(":status"), SV("100"));
		submit_interim(s, &h);
	}
	s->may_continue = true;
}

/* In the memory of the exchange; false: none was left. */
static bool head_take(struct call *call, const struct http_response *r,
		      struct head *h)
{
	size_t n = r->fields.n + EXTRA_FIELDS;

	h->n = 0;
	h->v = arena_alloc(&call->exchange->arena, n * sizeof *h->v);
	if (!h->v)
		return false;
	head_put_number(h, SV(":status"), h->status, r->status);
	for (size_t i = 0; i < r->fields.n; i++) {
		const struct http_field *f = &r->fields.v[i];

		/* The answer to HEAD says how long that to GET would be. */
		if (!field_is_hop(f->name) ||
		    (sv_eq(f->name, SV("content-length")) &&
		     r->body == HTTP_BODY_NONE))
			head_put(h, f->name, f->value);
	}
	if (r->body == HTTP_BODY_LENGTH)
		head_put_number(h, SV("content-length"), h->length, r->length);
	return true;
}

static void abort_stream(struct call *call)
{
	conn_release(call->conn);
	h2_give_up(call->h2, NGHTTP2_INTERNAL_ERROR);
}

static void interim(struct call *call, const struct http_response *r)
{
	struct head h;

	if (head_take(call, r, &h))
		submit_interim(call->h2, &h);
}

static void response(struct call *call, struct http_response *r)
{
	bool has_body = r->body == HTTP_BODY_CHUNKED || r->length;
	struct head h;

	if (r->upgrade)
		r->status = 200;	/* RFC 8441, 5 */
	if (!head_take(call, r, &h)) {
		abort_stream(call);
		return;
	}
	submit(call->h2, &h, has_body);
	if (has_body)
		conn_hold(call->conn);
}

/* Wakes nghttp2, which stopped asking when there was nothing.  What it has to say
 * goes behind the head that waits, to be written with it. */
static void resume(struct h2_stream *s)
{
	if (!s->closed)
		(void)nghttp2_session_resume_data(s->h2->session, s->id);
	(void)h2_transmit(s->h2);
}

static void data(struct call *call, struct sv piece)
{
	struct h2_stream *s = call->h2;

	const struct exchange *x = call->exchange;

	conn_release(call->conn);
	buf_consume(&s->out, s->out_sent);
	s->out_sent = 0;
	buf_put(&s->out, piece);
	/* The length says so as well: no frame of its own for the end. */
	s->is_last = x->bounded && x->response_left == 0;
	if (s->out.full)
		abort_stream(call);
	else
		resume(s);
}

static void end(struct call *call, const struct http_fields *trailers)
{
	conn_release(call->conn);
	h2_keep_trailers(call->h2, trailers);
	call->h2->is_last = true;
	resume(call->h2);
}

/* A call that ends with its head: whose status is 200, or a program of gRPC would
 * say that number alone. */
static void head_put_grpc(struct head *h, const struct page *p,
			  struct buf *message)
{
	page_put_grpc_message(message, p);
	head_put(h, SV(":status"), SV("200"));
	head_put(h, SV("content-type"), SV("application/grpc"));
	head_put_number(h, SV("grpc-status"), h->status, page_grpc_status(p));
	head_put(h, SV("grpc-message"), buf_sv(message));
}

static void head_put_page(struct head *h, const struct page *p, size_t length)
{
	head_put_number(h, SV(":status"), h->status, p->status);
	head_put(h, SV("content-type"), page_type(p));
	head_put_number(h, SV("content-length"), h->length, length);
}

/* The stream goes on by itself to the end of the page. */
static void page(struct call *call, struct page *p)
{
	auto_buf struct buf denial = buf_new(PAGE_MAX);
	auto_buf struct buf message = buf_new(PAGE_MAX);
	struct h2_stream *s = call->h2;
	nghttp2_nv v[EXTRA_FIELDS];
	struct head h = { .v = v };

	page_put_denial(&denial, p);
	s->is_last = true;
	if (p->grpc) {
		head_put_grpc(&h, p, &message);
	} else {
		page_put_body(&s->out, p);
		head_put_page(&h, p, s->out.n);
	}
	head_put(&h, SV("cache-control"), SV("no-store"));
	if (denial.n)
		head_put(&h, SV("stockade-denied"), buf_sv(&denial));
	submit(s, &h, !p->head_only && !p->grpc);
	h2_part(s);
	if (p->close)
		h2_retire_call(call);
	else
		spare_call(call);
}

/* A stream to dial that ended is never opened again under the same number. */
static void done(struct call *call)
{
	struct h2_stream *s = call->h2;
	const struct exchange *x = call->exchange;
	bool upgraded = x && x->upgraded;

	conn_release(call->conn);
	/* dial ended before it had taken all of a WebSocket. */
	if (s && upgraded && !exchange_is_over(x)) {
		h2_give_up(s, NGHTTP2_INTERNAL_ERROR);
		return;
	}
	/* Nobody has seen a request whose head is still to come. */
	if (s && call->state == CALL_IDLE)
		h2_reset(s, NGHTTP2_REFUSED_STREAM);
	if (s)
		h2_part(s);
	if (!channel_is_open(&call->stream) || upgraded)
		h2_retire_call(call);
	else
		spare_call(call);
}

static bool is_backed_up(const struct call *call)
{
	const struct h2_stream *s = call->h2;

	return s && s->out.n - s->out_sent >= BACKED_UP;
}

const struct face h2_face = {
	.step = h2_step,
	.check_deadline = h2_check_deadline,
	.proceed = proceed,
	.interim = interim,
	.response = response,
	.data = data,
	.end = end,
	.page = page,
	.done = done,
	.abort = abort_stream,
	.is_backed_up = is_backed_up,
};
