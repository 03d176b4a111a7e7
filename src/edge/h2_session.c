/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of nghttp2: see h2_session.h.
 *
 * The connection's window is opened again at once, a stream's only when dial has
 * taken the bytes: one upload that stands still must not stop the others.
 */
#include "h2_session.h"

#include <stdlib.h>

#include "h2_face.h"
#include "own.h"

enum {
	STREAMS_KEPT = H2_STREAMS_MAX + 28,	/* with those that end */
	PATIENCE_MAX = 1000,
	PATIENCE_MS = 3,		/* for one more */
	H2_TRAILERS_MAX = 65536,
};

void h2_charge(struct h2 *h, int cost)
{
	uint64_t now_ms = loop_now_ms();
	uint64_t more = (now_ms - h->patience_ms) / PATIENCE_MS;

	h->patience_ms += more * PATIENCE_MS;
	if (more > PATIENCE_MAX)
		more = PATIENCE_MAX;
	h->patience += (int64_t)more - cost;
	if (h->patience > PATIENCE_MAX)
		h->patience = PATIENCE_MAX;
	if (h->patience < 0 && !h->fault)
		h->fault = "a flood of HTTP/2 frames";
}

int h2_open_stream(struct h2 *h, int32_t id)
{
	struct h2_stream *s = NULL;
	struct call *call = NULL;

	if (h->n < STREAMS_KEPT && !h->fault)
		s = calloc(1, sizeof *s);
	if (s)
		call = h2_take_call(h);
	if (!call || !call_begin(call)) {
		free(s);
		return -1;
	}
	s->h2 = h;
	s->id = id;
	s->in = buf_new(H2_WINDOW);
	s->out = buf_new(H2_OUT_MAX);
	s->memory = arena_new(H2_TRAILERS_MAX);
	s->born_ms = loop_now_ms();
	s->call = call;
	call->h2 = s;
	*h->end = s;
	h->end = &s->next;
	h->n++;
	return nghttp2_session_set_stream_user_data(h->session, id, s);
}

static nghttp2_option *options(void)
{
	static nghttp2_option *o;

	if (!o && (o = h2_bounds_new()) != NULL)
		nghttp2_option_set_stream_reset_rate_limit(o, 100, 33);
	return o;
}

int h2_start(struct conn *c)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
		{ NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1 },
	};
	struct h2 *h = calloc(1, sizeof *h);

	if (!h || !h2_callbacks() || !options() ||
	    nghttp2_session_server_new2(&h->session, h2_callbacks(), h,
					options()) != 0) {
		free(h);
		return -1;
	}
	h->conn = c;
	h->end = &h->streams;
	h->patience = PATIENCE_MAX;
	h->patience_ms = loop_now_ms();
	c->h2 = h;
	if (nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
				    countof(settings)) != 0)
		return -1;
	return nghttp2_session_set_local_window_size(
		h->session, NGHTTP2_FLAG_NONE, 0, H2_SESSION_WINDOW);
}

void h2_drop_in(struct h2_stream *s)
{
	buf_free(&s->in);
	s->in_whole = 0;
	s->h2->conn->edge->n_wide -= s->is_wide;
	s->is_wide = false;
}

static void stream_free(struct h2_stream *s)
{
	h2_drop_in(s);
	buf_free(&s->out);
	arena_free(&s->memory);
	free(s);
}

void h2_free(struct h2 *h)
{
	if (!h)
		return;
	while (h->streams) {
		struct h2_stream *s = h->streams;

		h->streams = s->next;
		stream_free(s);
	}
	nghttp2_session_del(h->session);
	free(h);
}

bool h2_is_busy(const struct h2 *h)
{
	return h->streams != NULL;
}

void h2_reap(struct h2 *h)
{
	struct h2_stream **at = &h->streams;

	while (*at) {
		struct h2_stream *s = *at;

		if (!s->closed || s->call) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		h->n--;
		stream_free(s);
	}
	h->end = at;
}

void h2_receive(struct h2 *h)
{
	struct buf *in = &h->conn->in;
	ssize_t n = nghttp2_session_mem_recv(h->session,
					     (const uint8_t *)in->p, in->n);

	if (n < 0 && !h->fault)
		h->fault = "malformed HTTP/2";
	buf_reset(in);
}

bool h2_transmit(struct h2 *h)
{
	struct buf *out = &h->conn->out;
	size_t before = out->n;

	while (out->n < H2_UNREAD_MAX) {
		const uint8_t *p;
		ssize_t n = nghttp2_session_mem_send(h->session, &p);

		if (n < 0 && !h->fault)
			h->fault = "an HTTP/2 session that cannot go on";
		if (n <= 0)
			break;
		buf_put(out, sv_of_u8(p, (size_t)n));
	}
	return out->n > before;
}

void h2_say_goodbye(struct h2 *h, uint32_t error)
{
	(void)nghttp2_session_terminate_session(h->session, error);
	(void)h2_transmit(h);
}

/* Each window that is filled and emptied again is a wait of the agent. */
static void widen(struct h2_stream *s)
{
	struct edge *g = s->h2->conn->edge;

	if (s->is_wide || g->n_wide == H2_WIDE_MAX ||
	    nghttp2_session_set_local_window_size(s->h2->session,
						  NGHTTP2_FLAG_NONE, s->id,
						  H2_WIDE) != 0)
		return;
	s->is_wide = true;
	g->n_wide++;
	s->in.max = H2_WIDE;
}

void h2_consumed(struct h2_stream *s, size_t n)
{
	if (s->closed)
		return;
	(void)nghttp2_session_consume_stream(s->h2->session, s->id, n);
	s->consumed += n;
	if (s->call && !s->is_ended && s->consumed >= H2_WINDOW)
		widen(s);
}

void h2_reset(struct h2_stream *s, uint32_t error)
{
	if (!s->closed)
		(void)nghttp2_submit_rst_stream(s->h2->session,
						NGHTTP2_FLAG_NONE, s->id,
						error);
}

void h2_keep_trailers(struct h2_stream *s, const struct http_fields *f)
{
	struct http_field *v = NULL;

	if (f->n)
		v = arena_alloc(&s->memory, f->n * sizeof *v);
	for (size_t i = 0; v && i < f->n; i++) {
		v[i].name = arena_dup(&s->memory, f->v[i].name);
		v[i].value = arena_dup(&s->memory, f->v[i].value);
		if (!v[i].name.p || !v[i].value.p)
			return;
	}
	s->trailers = (struct http_fields){ v, v ? f->n : 0 };
}
