/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nghttp2 calls when frames of an origin came: see h2_origin.h.
 *
 * It checks what frames and messages must be (RFC 9113, 8.1 and 8.2), and resets
 * the stream or ends the session.  What it lets through is a list of fields, and
 * bytes of a body.
 */
#include "h2_frames.h"

static struct h2_call *call_of(nghttp2_session *session, int32_t id)
{
	struct h2_call *c = nghttp2_session_get_stream_user_data(session, id);

	return c && c->user ? c : NULL;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
		     const uint8_t *name, size_t name_n, const uint8_t *value,
		     size_t value_n, uint8_t flags, void *data)
{
	struct h2_call *c = call_of(session, frame->hd.stream_id);

	(void)flags;
	(void)data;
	if (c)
		h2_list_add(&c->list, &c->incoming->arena,
			    sv_of_u8(name, name_n), sv_of_u8(value, value_n));
	return 0;
}

/* The stream is of no use, and neither is an origin that writes such. */
static void malformed(struct h2_call *c, const char *why)
{
	if (!c->fault)
		c->fault = why ? why : "malformed HTTP/2";
	c->has_news = true;
	c->h2->tainted = true;
}

/* Without this, nghttp2 would leave it out. */
static int on_invalid_header(nghttp2_session *session,
			     const nghttp2_frame *frame, const uint8_t *name,
			     size_t name_n, const uint8_t *value,
			     size_t value_n, uint8_t flags, void *data)
{
	struct h2_call *c = call_of(session, frame->hd.stream_id);

	(void)name;
	(void)name_n;
	(void)value;
	(void)value_n;
	(void)flags;
	(void)data;
	if (c)
		malformed(c, "a malformed field");
	return 0;
}

static void take_head(struct h2_call *c)
{
	struct http_response r;

	if (h2_parse_response(&c->list, c->ended, c->incoming->method,
			      &c->incoming->arena, &r) < 0) {
		malformed(c, c->list.why.reason);
		return;
	}
	c->list = (struct h2_list){ 0 };
	if (r.status < 200) {
		if (++c->interims > INCOMING_INTERIM_MAX)
			malformed(c, "too many interim responses");
		else if (r.status == 103)
			c->hints[c->n_hints++] = r.fields;
		return;
	}
	c->incoming->response = r;
	c->has_head = true;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
		    void *data)
{
	struct h2_call *c = NULL;

	(void)data;
	if (frame->hd.type == NGHTTP2_HEADERS ||
	    frame->hd.type == NGHTTP2_DATA)
		c = call_of(session, frame->hd.stream_id);
	if (!c || c->fault)
		return 0;
	c->has_news = true;
	c->ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	if (frame->hd.type == NGHTTP2_DATA)
		return 0;
	if (!c->has_head)
		take_head(c);
	else if (h2_parse_trailers(&c->list, &c->trailers) < 0)
		malformed(c, c->list.why.reason);
	return 0;
}

static int on_invalid_frame(nghttp2_session *session,
			    const nghttp2_frame *frame, int error, void *data)
{
	struct h2_call *c = call_of(session, frame->hd.stream_id);
	struct h2_origin *h = data;

	(void)error;
	h->tainted = true;
	if (c)
		malformed(c, "a malformed frame");
	return 0;
}

/* The connection's window is opened at once: one body that stands still must not
 * stop the others. */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
		   const uint8_t *p, size_t n, void *data)
{
	struct h2_call *c = call_of(session, id);

	(void)flags;
	(void)data;
	(void)nghttp2_session_consume_connection(session, n);
	if (!c || c->fault) {
		(void)nghttp2_session_consume_stream(session, id, n);
		return 0;
	}
	buf_put(&c->in, sv_of_u8(p, n));
	c->has_news = true;
	return c->in.full ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id,
			   uint32_t error, void *data)
{
	struct h2_call *c = nghttp2_session_get_stream_user_data(session, id);

	(void)data;
	if (!c)
		return 0;
	c->closed = true;
	c->has_news = true;
	c->refused = error == NGHTTP2_REFUSED_STREAM && !c->has_head;
	/* By either side: it does not know how to write messages. */
	if (error == NGHTTP2_PROTOCOL_ERROR)
		c->h2->tainted = true;
	return 0;
}

/* A request that waited for its turn, and whose session takes no more. */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame,
		       int error, void *data)
{
	struct h2_origin *h = data;

	(void)session;
	(void)error;
	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	for (struct h2_call *c = h->calls; c; c = c->next) {
		if (c->id != frame->hd.stream_id)
			continue;
		c->closed = c->refused = c->has_news = true;
	}
	return 0;
}

nghttp2_session_callbacks *h2_origin_callbacks(void)
{
	static nghttp2_session_callbacks *cbs;

	if (cbs || nghttp2_session_callbacks_new(&cbs) != 0)
		return cbs;
	nghttp2_session_callbacks_set_on_header_callback(cbs, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(
		cbs, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, on_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
		cbs, on_invalid_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cbs,
							       on_stream_close);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(cbs,
								 on_not_sent);
	return cbs;
}
