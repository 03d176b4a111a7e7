/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nghttp2 calls when frames came or were sent: see h2_session.h.
 *
 * It checks what frames and messages must be (RFC 9113, 8.1 and 8.2), and resets
 * the stream or ends the session.  What it lets through is a list of fields and
 * bytes of a body; h2_reader.c makes the request of them.
 */
#include "h2_session.h"

static int on_begin_frame(nghttp2_session *session,
			  const nghttp2_frame_hd *hd, void *data)
{
	struct h2 *h = data;

	(void)session;
	switch (hd->type) {
	case NGHTTP2_HEADERS:
		break;
	case NGHTTP2_DATA:
		if (hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM))
			h2_charge(h, 1);
		break;
	case NGHTTP2_RST_STREAM:
		h2_charge(h, H2_RESET_COST);
		break;
	default:
		h2_charge(h, 1);
	}
	return 0;
}

static int on_begin_headers(nghttp2_session *session,
			    const nghttp2_frame *frame, void *data)
{
	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST &&
	    h2_open_stream(data, frame->hd.stream_id) < 0)
		(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE,
						frame->hd.stream_id,
						NGHTTP2_REFUSED_STREAM);
	return 0;
}

static struct h2_stream *stream_of(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

/* Trailers are read and dropped: no rule ever looks at them. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
		     const uint8_t *name, size_t name_n, const uint8_t *value,
		     size_t value_n, uint8_t flags, void *data)
{
	struct h2_stream *s = stream_of(session, frame->hd.stream_id);

	(void)flags;
	(void)data;
	if (s && s->call && !s->is_head_whole)
		h2_list_add(&s->list, &s->call->exchange->arena,
			    sv_of_u8(name, name_n), sv_of_u8(value, value_n));
	return 0;
}

/* Without this, nghttp2 would leave it out. */
static int on_invalid_header(nghttp2_session *session,
			     const nghttp2_frame *frame, const uint8_t *name,
			     size_t name_n, const uint8_t *value,
			     size_t value_n, uint8_t flags, void *data)
{
	struct h2_stream *s = stream_of(session, frame->hd.stream_id);

	(void)name;
	(void)name_n;
	(void)value;
	(void)value_n;
	(void)flags;
	(void)data;
	if (s && s->is_head_whole)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (s)
		(void)h1_refuse(&s->list.why, 400, "a malformed field");
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
		    void *data)
{
	struct h2_stream *s = NULL;

	(void)data;
	if (frame->hd.type == NGHTTP2_HEADERS ||
	    frame->hd.type == NGHTTP2_DATA)
		s = stream_of(session, frame->hd.stream_id);
	if (!s)
		return 0;
	s->is_head_whole = true;
	s->in_whole = s->in.n;
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		s->is_ended = true;
	return 0;
}

/* nghttp2 resets the stream, which is charged for, or ends the session. */
static int on_invalid_frame(nghttp2_session *session,
			    const nghttp2_frame *frame, int error, void *data)
{
	struct h2 *h = data;

	(void)session;
	/* More streams than we permit are a matter of luck. */
	if (frame->hd.type == NGHTTP2_HEADERS &&
	    error != NGHTTP2_ERR_REFUSED_STREAM)
		h->malformed++;
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
		   const uint8_t *p, size_t n, void *data)
{
	struct h2_stream *s = stream_of(session, id);

	(void)flags;
	(void)data;
	(void)nghttp2_session_consume_connection(session, n);
	if (!s || !s->call) {
		(void)nghttp2_session_consume_stream(session, id, n);
		return 0;
	}
	buf_put(&s->in, sv_of_u8(p, n));
	return s->in.full ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id,
			   uint32_t error, void *data)
{
	struct h2_stream *s = stream_of(session, id);

	(void)data;
	if (!s)
		return 0;
	s->closed = true;
	s->cut = error != NGHTTP2_NO_ERROR || !s->is_ended || !s->is_answered;
	return 0;
}

static void on_response_sent(nghttp2_session *session, int32_t id)
{
	struct h2_stream *s = stream_of(session, id);

	if (!s)
		return;
	s->is_answered = true;
	/* Edge has answered by itself: no more of the body is wanted. */
	if (!s->call && !s->is_ended)
		(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id,
						NGHTTP2_NO_ERROR);
}

/* A denial in the middle of a body, or one of too many streams. */
static bool is_harmless(const nghttp2_frame *reset)
{
	return reset->rst_stream.error_code == NGHTTP2_NO_ERROR ||
	       reset->rst_stream.error_code == NGHTTP2_REFUSED_STREAM;
}

static int on_sent(nghttp2_session *session, const nghttp2_frame *frame,
		   void *data)
{
	struct h2 *h = data;
	bool has_end = frame->hd.type == NGHTTP2_DATA ||
		       frame->hd.type == NGHTTP2_HEADERS;

	/* It costs the agent two updates of windows. */
	if (frame->hd.type == NGHTTP2_DATA)
		h2_charge(h, -3);
	if (has_end && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		on_response_sent(session, frame->hd.stream_id);
	if (frame->hd.type == NGHTTP2_RST_STREAM)
		h2_charge(h, is_harmless(frame) ? 1 : H2_RESET_COST);
	if (frame->hd.type == NGHTTP2_GOAWAY &&
	    frame->goaway.error_code != NGHTTP2_NO_ERROR && !h->fault)
		h->fault = "malformed HTTP/2";
	return 0;
}

nghttp2_session_callbacks *h2_callbacks(void)
{
	static nghttp2_session_callbacks *cbs;

	if (cbs || nghttp2_session_callbacks_new(&cbs) != 0)
		return cbs;
	nghttp2_session_callbacks_set_on_begin_frame_callback(cbs,
							      on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(
		cbs, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cbs, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(
		cbs, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, on_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
		cbs, on_invalid_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cbs,
							       on_stream_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(cbs, on_sent);
	return cbs;
}
