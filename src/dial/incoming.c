/* SPDX-License-Identifier: Apache-2.0 */
/* One response: see incoming.h. */
#include "incoming.h"

#include "field.h"
#include "h1_head.h"
#include "h1_response.h"

void incoming_init(struct incoming *i, struct sv method)
{
	*i = (struct incoming){
		.method = method,
		.head = buf_new(HTTP_HEAD_MAX),
		.arena = arena_new(INCOMING_ARENA),
		.trailer_lines = buf_new(CHUNK_TRAILERS_MAX),
	};
}

void incoming_fini(struct incoming *i)
{
	/* What an origin reflects may hold a credential. */
	buf_wipe(&i->head);
	buf_wipe(&i->trailer_lines);
	arena_free(&i->arena);
}

static enum incoming_result bad(struct incoming *i, const char *reason)
{
	i->at = INCOMING_OVER;
	i->reason = reason;
	return INCOMING_BAD;
}

/* What an interim head needed is free again. */
static void forget_interim(struct incoming *i)
{
	arena_free(&i->arena);
	i->arena = arena_new(INCOMING_ARENA);
	i->response = (struct http_response){ 0 };
	i->is_interim = false;
}

/*
 * Parses the heads at the front of *bytes and takes them off it.  1: the real
 * one was there, or a 103; 0: more is needed; -1: *why.  100 is edge's to say,
 * and what else there may be tells a client nothing that it must know.
 */
static int parse_heads(struct incoming *i, struct sv *bytes, const char **why)
{
	struct h1_response r;
	ssize_t n;

	if (i->is_interim)
		forget_interim(i);
	while ((n = h1_parse_response(*bytes, i->method, &i->arena, &r)) > 0) {
		*bytes = sv_from(*bytes, (size_t)n);
		if (r.response.upgrade && !i->upgrade) {
			*why = "a switch of protocols that was not asked for";
			return -1;
		}
		i->response = r.response;
		if (r.response.status >= 200 || r.response.upgrade) {
			i->left = r.response.length;
			i->at = INCOMING_IN_BODY;
			return 1;
		}
		if (++i->interims > INCOMING_INTERIM_MAX) {
			*why = "too many interim responses";
			return -1;
		}
		i->is_interim = r.response.status == 103;
		if (i->is_interim)
			return 1;
		forget_interim(i);
		if (bytes->n == 0)
			return 0;
	}
	*why = r.reason;
	return n < 0 ? -1 : 0;
}

/* A head that came whole, as nearly all do, is parsed where it lies. */
static enum incoming_result take_head(struct incoming *i, struct sv *in)
{
	struct sv rest = *in;
	const char *why = NULL;
	int got;

	if (i->head.n) {
		/* Room for a head; what lies behind it stays in *in. */
		rest = sv_head(*in, i->head.max - i->head.n);
		buf_put(&i->head, rest);
		*in = sv_from(*in, rest.n);
		rest = buf_sv(&i->head);
	}
	got = parse_heads(i, &rest, &why);
	if (got < 0)
		return bad(i, why);
	if (i->head.n == 0) {
		*in = rest;
	} else if (got > 0) {
		/* The rest came with the last bytes: *in, stepped back. */
		in->p -= rest.n;
		in->n += rest.n;
	} else {
		buf_consume(&i->head, i->head.n - rest.n);
	}
	if (got > 0) {
		buf_wipe(&i->head);
		return i->is_interim ? INCOMING_HINTS : INCOMING_HEAD;
	}
	if (i->head.n == 0)
		buf_put(&i->head, *in);
	else if (in->n)
		return bad(i, "the response head is too large");
	*in = sv_from(*in, in->n);
	return i->head.full ? bad(i, "the response head is too large") :
			      INCOMING_MORE;
}

static enum incoming_result end(struct incoming *i)
{
	i->at = INCOMING_OVER;
	return INCOMING_END;
}

/* As the fields of a head, and then those that may be forwarded. */
static enum incoming_result end_chunked(struct incoming *i)
{
	struct sv lines = arena_dup(&i->arena, buf_sv(&i->trailer_lines));
	struct h1_refusal why = { 0 };
	struct http_fields f = { 0 };
	size_t kept = 0;

	if (i->trailer_lines.full || !lines.p ||
	    h1_fields_parse(lines, &i->arena, &f, &why) < 0)
		return bad(i, "malformed trailers");
	for (size_t k = 0; k < f.n; k++)
		if (field_is_trailer(f.v[k].name))
			f.v[kept++] = f.v[k];
	f.n = kept;
	i->trailers = f;
	return end(i);
}

static enum incoming_result take_chunked(struct incoming *i, struct sv *in,
					 struct sv *data)
{
	/* Here, as whoever holds it may move it before. */
	i->chunked.trailers = &i->trailer_lines;
	switch (chunked_next(&i->chunked, in, data)) {
	case CHUNKED_DATA:
		return INCOMING_DATA;
	case CHUNKED_MORE:
		return INCOMING_MORE;
	case CHUNKED_END:
		return i->trailer_lines.n ? end_chunked(i) : end(i);
	case CHUNKED_BAD:
		break;
	}
	return bad(i, "malformed chunks");
}

static enum incoming_result take_body(struct incoming *i, struct sv *in,
				      struct sv *data)
{
	switch (i->response.body) {
	case HTTP_BODY_NONE:
		return end(i);
	case HTTP_BODY_LENGTH:
		if (i->left == 0)
			return end(i);
		*data = sv_head(*in, i->left < in->n ? (size_t)i->left : in->n);
		i->left -= data->n;
		break;
	case HTTP_BODY_CHUNKED:
		return take_chunked(i, in, data);
	case HTTP_BODY_CLOSE:
		*data = *in;
		break;
	default:
		return bad(i, "unknown framing");
	}
	*in = sv_from(*in, data->n);
	return data->n ? INCOMING_DATA : INCOMING_MORE;
}

enum incoming_result incoming_next(struct incoming *i, struct sv *in,
				   struct sv *data)
{
	switch (i->at) {
	case INCOMING_IN_HEAD:
		return in->n ? take_head(i, in) : INCOMING_MORE;
	case INCOMING_IN_BODY:
		return take_body(i, in, data);
	case INCOMING_OVER:
		break;
	}
	return bad(i, "bytes behind the end");
}

enum incoming_result incoming_eof(struct incoming *i, bool clean)
{
	if (i->at == INCOMING_IN_BODY && clean &&
	    i->response.body == HTTP_BODY_CLOSE)
		return end(i);
	return bad(i, incoming_has_begun(i) ?
			   "the response was cut short" :
			   "the connection was closed without a response");
}
