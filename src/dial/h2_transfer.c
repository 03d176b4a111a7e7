/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the bytes of an exchange over HTTP/2: see transfer.h.
 *
 * The session reads and writes for all its requests (h2_origin.h).  Here the
 * body that it asks for comes from edge, and what waits for edge goes on as edge
 * takes it; the origin may send as much again.
 */
#include "h2_origin.h"
#include "own.h"
#include "transfer.h"

static void on_news(struct h2_call *c)
{
	exchange_resume(c->user);
}

static int begin(struct exchange *x)
{
	x->h2 = h2_call_begin(x->upstream->h2, &x->out, &x->in,
			      x->scrub != NULL);
	if (!x->h2)
		return -1;
	x->h2->user = x;
	x->h2->news = on_news;
	return 0;
}

static int forward(struct exchange *x, struct err *e)
{
	static struct buf gathered = { .max = 2 * H2_WINDOW };
	struct h2_call *c = x->h2;

	for (; c->n_hints_told < c->n_hints; c->n_hints_told++)
		if (transfer_hints(x, &c->hints[c->n_hints_told], e) < 0)
			return -1;
	if (c->has_head && !x->responded && transfer_head(x, e) < 0)
		return -1;
	while (x->responded && c->in.n && !channel_is_full(&x->stream->edge)) {
		struct sv piece = sv_head(buf_sv(&c->in), WIRE_CHUNK_MAX);

		buf_reset(&gathered);
		if (transfer_piece(x, piece, &gathered, e) < 0 ||
		    buf_check(&gathered, "a piece of the response", e) < 0 ||
		    transfer_body(x, buf_sv(&gathered), e) < 0)
			return -1;
		h2_call_consumed(c, piece.n);
	}
	return 0;
}

/* What the scrubber held back, and the trailers. */
static int forward_end(struct exchange *x, struct err *e)
{
	auto_buf struct buf rest = buf_new(2 * H2_WINDOW);
	struct http_fields *f = &x->h2->trailers;

	x->received_all = true;
	if ((x->scrub && scrub_finish(x->scrub, &rest, e) < 0) ||
	    transfer_trailers(x, f, e) < 0)
		return -1;
	return transfer_body(x, buf_sv(&rest), e);
}

/* The stream has ended, or the connection, and not the response. */
static enum transfer_result on_cut(struct exchange *x, struct err *e)
{
	const struct h2_call *c = x->h2;
	bool is_new = c && (c->has_head || c->interims);

	x->refused = !c || c->refused;
	if (!x->retried && !is_new &&
	    (x->refused || (x->reused && c->cut)))
		return TRANSFER_STALE;
	(void)err_kind(e, ERR_PROTO, "%s %s", x->upstream->host,
		       x->refused ? "refused the request" :
		       c->cut ? "closed the connection before the response "
				"was complete" :
				"broke off the response");
	return TRANSFER_FAILED;
}

static enum transfer_result receive_response(struct exchange *x, struct err *e)
{
	const struct h2_call *c = x->h2;

	if (c->fault) {
		x->in.reason = c->fault;
		return transfer_malformed(x, e);
	}
	if (forward(x, e) < 0)
		return TRANSFER_FAILED;
	if (c->in.n && (x->responded || !c->closed))
		return TRANSFER_WAITS;
	if (x->responded && c->ended)
		return forward_end(x, e) < 0 ? TRANSFER_FAILED : TRANSFER_OVER;
	return c->closed || c->cut ? on_cut(x, e) : TRANSFER_WAITS;
}

enum transfer_result h2_transfer_run(struct exchange *x, struct err *e)
{
	enum transfer_result result;

	if (!x->h2 && begin(x) < 0)
		return on_cut(x, e);
	x->h2->has_news = false;
	h2_call_push(x->h2);
	result = receive_response(x, e);
	if (result != TRANSFER_WAITS)
		return result;
	x->deaf = x->h2->closed || x->h2->cut;
	stream_hold(x->stream,
		    (!x->deaf && outgoing_pending(&x->out).n) ||
		    x->out.ended || x->allowance.waits);
	return result;
}
