/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/2 session with an origin: see h2_origin.h. */
#include "h2_origin.h"

#include <stdlib.h>

#include "cur.h"
#include "h2_frames.h"
#include "h2_memory.h"
#include "own.h"

enum {
	OUT_MAX = 65536,	/* of frames, before the origin reads */
	OUT_FULL = 32768,
	READ_SIZE = 32768,
	BYTES_A_TURN = 512 * 1024,
	HEAD_BLOCK_MAX = 4 * HTTP_HEAD_MAX,
	FIELDS_MAX = HTTP_FIELDS_MAX + 16,
};

static nghttp2_option *options(void)
{
	static nghttp2_option *o;

	if (o || !(o = h2_bounds_new()))
		return o;
	nghttp2_option_set_max_deflate_dynamic_table_size(o, 0);
	nghttp2_option_set_max_send_header_block_length(o, HEAD_BLOCK_MAX);
	return o;
}

static void reap(struct h2_origin *h)
{
	struct h2_call **at = &h->calls;

	while (*at) {
		struct h2_call *c = *at;

		if (c->user || (!c->closed && !h->over)) {
			at = &c->next;
			continue;
		}
		/* What is still known of it must not lead here. */
		(void)nghttp2_session_set_stream_user_data(h->session, c->id,
							   NULL);
		*at = c->next;
		h->n--;
		buf_wipe(&c->in);
		free(c);
	}
}

static void end(struct h2_origin *h)
{
	h->over = true;
	for (struct h2_call *c = h->calls; c; c = c->next) {
		c->cut = !c->closed;
		c->has_news = true;
	}
}

static bool collect(struct h2_origin *h)
{
	while (h->out.n < OUT_FULL) {
		const uint8_t *p;
		ssize_t n = nghttp2_session_mem_send(h->session, &p);

		if (n < 0)
			return false;
		if (n == 0)
			break;
		buf_put(&h->out, sv_of((const char *)p, (size_t)n));
		/* Fields may be in it, and the memory is used again. */
		explicit_bzero((void *)(uintptr_t)p, (size_t)n);
	}
	return true;
}

static enum upstream_status write_out(struct h2_origin *h)
{
	enum upstream_status s = UPSTREAM_OK;
	struct sv rest = buf_sv(&h->out);
	struct err ignored;

	while (s == UPSTREAM_OK && rest.n) {
		size_t n = 0;

		s = upstream_write(h->up, rest, &n, &ignored);
		rest = sv_from(rest, s == UPSTREAM_OK ? n : 0);
	}
	buf_consume(&h->out, h->out.n - rest.n);
	return s;
}

static void transmit(struct h2_origin *h)
{
	/* At once: a buffer that moves leaves a copy of a credential behind. */
	while (!h->over) {
		enum upstream_status s;

		if (!buf_reserve(&h->out, OUT_MAX - h->out.n) || !collect(h)) {
			end(h);
			break;
		}
		if (h->out.n == 0)
			break;
		s = write_out(h);
		if (s == UPSTREAM_AGAIN)
			break;
		if (s != UPSTREAM_OK)
			end(h);
	}
	/* nghttp2 has said why it cannot go on, or both have said goodbye. */
	if (!h->over && h->out.n == 0 &&
	    !nghttp2_session_want_read(h->session))
		end(h);
	if (h->out.n == 0 || h->over)
		buf_wipe(&h->out);
	upstream_await(h->up, !h->over, h->out.n > 0);
}

static void receive(struct h2_origin *h)
{
	static char bytes[READ_SIZE];
	struct err ignored;
	size_t turn = 0;

	while (!h->over) {
		size_t n = 0;
		enum upstream_status s = upstream_read(h->up, bytes,
						       sizeof bytes, &n,
						       &ignored);

		if (n && nghttp2_session_mem_recv(h->session,
						  (const uint8_t *)bytes,
						  n) < 0) {
			h->tainted = true;
			end(h);
		}
		explicit_bzero(bytes, n);
		if (s == UPSTREAM_AGAIN)
			return;
		if (s != UPSTREAM_OK)
			end(h);
		turn += n;
		if (turn >= BYTES_A_TURN) {
			loop_arm(h->loop, &h->again, 0);
			return;
		}
	}
}

/* Each may end itself, and others. */
static void tell(struct h2_origin *h)
{
	struct h2_call *c = h->calls;

	while (c) {
		if (!c->has_news || !c->user) {
			c = c->next;
			continue;
		}
		c->has_news = false;
		c->news(c);
		c = h->calls;
	}
}

bool h2_origin_is_usable(const struct h2_origin *h)
{
	return !h->over && !h->tainted &&
	       nghttp2_session_check_request_allowed(h->session);
}

/* Not between functions of its own, so that nobody holds what is freed. */
static void check_unused(struct h2_origin *h)
{
	unsigned used = 0;

	reap(h);
	for (struct h2_call *c = h->calls; c; c = c->next)
		used += c->user != NULL;
	if (!used)
		h->unused(h->up);
}

/* Writing has ended the wait of others. */
static void tell_later(struct h2_origin *h, const struct h2_call *but)
{
	for (const struct h2_call *c = h->calls; c; c = c->next)
		if (c != but && c->has_news && c->user)
			loop_arm(h->loop, &h->again, 0);
}

static void run(struct h2_origin *h)
{
	h->running = true;
	tell(h);
	transmit(h);
	h->running = false;
	tell_later(h, NULL);
	check_unused(h);
}

static void on_ready(struct upstream *u)
{
	receive(u->h2);
	run(u->h2);
}

static void on_again(struct timer *t)
{
	on_ready(container_of(t, struct h2_origin, again)->up);
}

void h2_origin_wake(struct h2_origin *h)
{
	/* Else it is done when all have had their turn. */
	if (!h->running)
		loop_arm(h->loop, &h->again, 0);
}

void h2_origin_poll(struct h2_origin *h)
{
	receive(h);
	transmit(h);
	h2_origin_wake(h);
}

int h2_origin_start(struct upstream *u, struct loop *l,
		    void (*unused)(struct upstream *u), struct err *e)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0 },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
	};
	struct h2_origin *h = calloc(1, sizeof *h);

	if (!h || !h2_origin_callbacks() || !options() ||
	    nghttp2_session_client_new3(&h->session, h2_origin_callbacks(), h,
					options(), h2_memory()) != 0) {
		free(h);
		return err_kind(e, ERR_LIMIT, "out of memory");
	}
	h->up = u;
	h->loop = l;
	h->out = buf_new(OUT_MAX);
	h->again.fired = on_again;
	h->unused = unused;
	u->h2 = h;
	u->ready = on_ready;
	if (nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
				    countof(settings)) != 0 ||
	    nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE,
						  0, H2_SESSION_WINDOW) != 0) {
		u->h2 = NULL;
		h2_origin_free(h);
		return err_kind(e, ERR_LIMIT, "out of memory");
	}
	transmit(h);
	return 0;
}

void h2_origin_free(struct h2_origin *h)
{
	if (!h)
		return;
	loop_disarm(h->loop, &h->again);
	nghttp2_session_del(h->session);
	while (h->calls) {
		struct h2_call *c = h->calls;

		h->calls = c->next;
		buf_wipe(&c->in);
		free(c);
	}
	buf_wipe(&h->out);
	free(h);
}

bool h2_origin_has_room(const struct h2_origin *h)
{
	uint32_t most = nghttp2_session_get_remote_settings(
		h->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

	return h->n < H2_CALLS_MAX && h->n < most && h2_origin_is_usable(h);
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *to,
			 size_t max, uint32_t *flags,
			 nghttp2_data_source *source, void *data)
{
	struct h2_call *c = source->ptr;
	struct sv v;

	(void)session;
	(void)id;
	(void)data;
	if (!c->user)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	v = sv_head(outgoing_pending(c->out), max);
	if (v.n) {
		memcpy(to, v.p, v.n);
		outgoing_wrote(c->out, v.n);
		c->has_news = outgoing_pending(c->out).n == 0;
	}
	if (outgoing_is_complete(c->out))
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	else if (v.n == 0)
		return NGHTTP2_ERR_DEFERRED;
	return (ssize_t)v.n;
}

/* Views into the head. */
static size_t head_fields(struct sv head, bool secret, nghttp2_nv v[FIELDS_MAX])
{
	struct cur cur = cur_of(head);
	size_t n = 0;

	while (n < FIELDS_MAX && cur.rest.n && !cur.bad) {
		struct sv name = cur_sv(&cur, HTTP_HEAD_MAX);
		struct sv value = cur_sv(&cur, HTTP_HEAD_MAX);

		v[n++] = (nghttp2_nv){
			.name = (uint8_t *)(uintptr_t)name.p,
			.namelen = name.n,
			.value = (uint8_t *)(uintptr_t)value.p,
			.valuelen = value.n,
			.flags = secret ? NGHTTP2_NV_FLAG_NO_INDEX :
					  NGHTTP2_NV_FLAG_NONE,
		};
	}
	return cur.rest.n || cur.bad ? 0 : n;
}

struct h2_call *h2_call_begin(struct h2_origin *h, struct outgoing *out,
			      struct incoming *in, bool secret)
{
	struct h2_call *c = calloc(1, sizeof *c);
	nghttp2_data_provider body = { .source.ptr = c,
				       .read_callback = read_body };
	nghttp2_nv v[FIELDS_MAX];
	size_t n = head_fields(outgoing_pending(out), secret, v);
	bool has_body = out->left || out->body.n ||
			(out->framing == HTTP_BODY_CHUNKED && !out->ended);

	if (!c || n == 0 || h->over) {
		free(c);
		return NULL;
	}
	c->h2 = h;
	c->out = out;
	c->incoming = in;
	c->in = buf_new(H2_WINDOW);
	c->id = nghttp2_submit_request(h->session, NULL, v, n,
				       has_body ? &body : NULL, c);
	if (c->id < 0) {
		free(c);
		return NULL;
	}
	outgoing_wrote(out, out->head.n);
	c->next = h->calls;
	h->calls = c;
	h->n++;
	return c;
}

void h2_call_push(struct h2_call *c)
{
	struct h2_origin *h = c->h2;

	if (!c->closed && !h->over)
		(void)nghttp2_session_resume_data(h->session, c->id);
	/* Else it is done when all have had their turn. */
	if (h->running)
		return;
	transmit(h);
	tell_later(h, c);
}

void h2_call_consumed(struct h2_call *c, size_t n)
{
	size_t before = c->in.n;

	buf_consume(&c->in, n);
	/* Of a secret that was reflected, no more stays than waits. */
	if (before)
		explicit_bzero(c->in.p + c->in.n, before - c->in.n);
	if (!c->closed && !c->h2->over)
		(void)nghttp2_session_consume_stream(c->h2->session, c->id, n);
	/* The origin waits to hear that it may send more. */
	h2_origin_wake(c->h2);
}

void h2_call_leave(struct h2_call *c)
{
	struct h2_origin *h = c->h2;

	c->user = NULL;
	if (!c->closed && !h->over)
		(void)nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE,
						c->id, NGHTTP2_CANCEL);
	h2_origin_wake(h);
}
