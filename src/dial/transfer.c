/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the bytes of an exchange: see transfer.h. */
#include "transfer.h"

#include "own.h"
#include "upgrade.h"

enum {
	/* Then it is the turn of the others. */
	BYTES_A_TURN = 512 * 1024,
	/* A read of at least this much is probably followed by another that
	 * fits into the same message. */
	LARGE_READ = 4096,
	/* A piece, and what the scrubber had held back before. */
	BODY_MAX = 512 * 1024,
};

static int send_edge(struct exchange *x, const struct msg *m, struct err *e)
{
	return channel_send(&x->stream->edge, m, e);
}

static const char *host_of(const struct exchange *x)
{
	return x->upstream->host;
}

/* The request, as far as the origin takes it. */
static void send_request(struct exchange *x)
{
	struct upstream *u = x->upstream;
	struct err ignored;
	struct sv v;

	while (!x->deaf && (v = outgoing_pending(&x->out)).n) {
		size_t n = 0;
		enum upstream_status s = upstream_write(u, v, &n, &ignored);

		if (s == UPSTREAM_AGAIN)
			return;
		/* It may have answered before it stopped to listen: what
		 * there is to read decides. */
		if (s != UPSTREAM_OK)
			x->deaf = true;
		else
			outgoing_wrote(&x->out, n);
	}
}

/* A response to a request with a credential must be readable to be scrubbed. */
static int check_scrubbable(const struct exchange *x,
			    const struct http_response *r, struct err *e)
{
	for (size_t i = 0; i < r->fields.n; i++)
		if (r->body != HTTP_BODY_NONE &&
		    sv_eq(r->fields.v[i].name, SV("content-encoding")) &&
		    !sv_eq_nocase(r->fields.v[i].value, SV("identity")))
			return err_kind(e, ERR_PROTO,
					"%s encoded its response though "
					"identity was asked for", host_of(x));
	if (r->status == 206)
		return err_kind(e, ERR_PROTO, "%s sent a range that was not "
				"asked for", host_of(x));
	return 0;
}

int transfer_hints(struct exchange *x, struct http_fields *f, struct err *e)
{
	struct msg m = { .kind = MSG_RESPONSE };
	auto_buf struct buf fields = buf_new(HTTP_HEAD_MAX);

	if (x->scrub && scrub_fields(x->scrub, f, &x->in.arena, e) < 0)
		return -1;
	head_put_fields(&fields, f);
	if (buf_check(&fields, "the hints of a response", e) < 0)
		return -1;
	m.RESPONSE = (struct msg_RESPONSE){ .id = x->id, .status = 103,
					    .fields = buf_sv(&fields) };
	return send_edge(x, &m, e);
}

int transfer_trailers(struct exchange *x, struct http_fields *f,
		      struct err *e)
{
	if (x->scrub && scrub_fields(x->scrub, f, &x->in.arena, e) < 0)
		return -1;
	head_put_fields(&x->trailers, f);
	return buf_check(&x->trailers, "the trailers", e);
}

/* Before edge hears of it: what the agent asks next is decided after that. */
static void tell_rejected(const struct exchange *x)
{
	const struct msg m = { .kind = MSG_REJECTED, .REJECTED = {
		.conn = x->stream->conn, .id = x->id } };
	bool carries = false;

	for (size_t i = 0; i < x->n_edits; i++)
		carries |= x->edits[i].form != EDIT_MASK;
	if (carries)
		dial_report(x->stream->dial, &m);
}

int transfer_head(struct exchange *x, struct err *e)
{
	struct http_response *r = &x->in.response;
	struct msg m = { .kind = MSG_RESPONSE };
	auto_buf struct buf fields = buf_new(HTTP_HEAD_MAX);

	outgoing_release_head(&x->out);
	if (x->scrub && (check_scrubbable(x, r, e) < 0 ||
			 scrub_fields(x->scrub, &r->fields, &x->in.arena,
				      e) < 0))
		return -1;
	x->reusable = !r->close && r->body != HTTP_BODY_CLOSE;
	head_put_fields(&fields, &r->fields);
	if (buf_check(&fields, "the response's head", e) < 0)
		return -1;
	m.RESPONSE = (struct msg_RESPONSE){
		.id = x->id, .status = r->status, .fields = buf_sv(&fields),
		.body = (uint8_t)r->body, .length = r->length };
	if (r->status == 401)
		tell_rejected(x);
	if (send_edge(x, &m, e) < 0)
		return -1;
	x->responded = true;
	return 0;
}

int transfer_body(struct exchange *x, struct sv rest, struct err *e)
{
	while (rest.n) {
		struct msg m = { .kind = MSG_CHUNK };

		m.CHUNK.data = sv_head(rest, WIRE_CHUNK_MAX);
		if (send_edge(x, &m, e) < 0)
			return -1;
		rest = sv_from(rest, m.CHUNK.data.n);
	}
	return 0;
}

int transfer_malformed(struct exchange *x, struct err *e)
{
	return err_kind(e, ERR_PROTO, "%s sent no proper response: %s",
			host_of(x), x->in.reason);
}

/* A piece of the body: gathered, or forwarded as it lies when it is large. */
int transfer_piece(struct exchange *x, struct sv data, struct buf *gathered,
		   struct err *e)
{
	x->received += data.n;
	if (x->scrub)
		return scrub_push(x->scrub, data, gathered, e);
	if (gathered->n == 0 && data.n >= LARGE_READ)
		return transfer_body(x, data, e);
	buf_put(gathered, data);
	return 0;
}

/* All small pieces of one read become one run of CHUNKs. */
static int feed(struct exchange *x, struct sv in, struct err *e)
{
	static struct buf gathered = { .max = BODY_MAX };
	struct sv data = { 0 };
	enum incoming_result got;

	buf_reset(&gathered);
	while ((got = incoming_next(&x->in, &in, &data)) > INCOMING_MORE &&
	       got != INCOMING_END)
		if (got == INCOMING_HEAD && x->in.response.upgrade)
			return upgrade_switch(x, in, e);
		else if ((got == INCOMING_HEAD ? transfer_head(x, e) :
			  got == INCOMING_HINTS ?
			  transfer_hints(x, &x->in.response.fields, e) :
			  transfer_piece(x, data, &gathered, e)) < 0)
			return -1;
	if (got == INCOMING_END) {
		x->received_all = true;
		/* What nobody asked for must not become the next answer. */
		x->reusable = x->reusable && in.n == 0;
		if (x->scrub && scrub_finish(x->scrub, &gathered, e) < 0)
			return -1;
		if (transfer_trailers(x, &x->in.trailers, e) < 0)
			return -1;
	}
	if (buf_check(&gathered, "a piece of the response", e) < 0 ||
	    transfer_body(x, buf_sv(&gathered), e) < 0)
		return -1;
	return got == INCOMING_BAD ? transfer_malformed(x, e) : 0;
}

/* Up to one message's worth; what is read is handled whatever came after. */
static enum upstream_status fill(struct exchange *x, char *p, size_t max,
				 size_t *ret_n, struct err *e)
{
	enum upstream_status s;
	size_t n;

	*ret_n = 0;
	do {
		n = 0;
		s = upstream_read(x->upstream, p + *ret_n,
				  max - *ret_n, &n, e);
		*ret_n += n;
	} while (s == UPSTREAM_OK && n >= LARGE_READ && *ret_n < max);
	return s;
}

static enum transfer_result on_end(struct exchange *x, bool clean,
				   struct err *e)
{
	auto_buf struct buf rest = buf_new(BODY_MAX);

	if (x->reused && !x->retried && !incoming_has_begun(&x->in))
		return TRANSFER_STALE;
	x->reusable = false;
	if (incoming_eof(&x->in, clean) == INCOMING_BAD)
		return transfer_malformed(x, e);
	if (x->scrub && scrub_finish(x->scrub, &rest, e) < 0)
		return TRANSFER_FAILED;
	return transfer_body(x, buf_sv(&rest), e) < 0 ? TRANSFER_FAILED :
						       TRANSFER_OVER;
}

static enum transfer_result receive_response(struct exchange *x, struct err *e)
{
	static char bytes[WIRE_CHUNK_MAX];
	size_t turn = 0, n;

	while (!channel_is_full(&x->stream->edge)) {
		enum upstream_status s = fill(x, bytes, sizeof bytes, &n, e);

		if (n && feed(x, sv_of(bytes, n), e) < 0)
			return TRANSFER_FAILED;
		if (x->stream->relay)
			return TRANSFER_UPGRADED;
		if (x->received_all)
			return TRANSFER_OVER;
		x->has_heard_all = s == UPSTREAM_AGAIN;
		if (x->has_heard_all)
			break;
		if (s != UPSTREAM_OK)
			return on_end(x, s == UPSTREAM_EOF, e);
		turn += n;
		if (turn >= BYTES_A_TURN) {
			loop_arm(x->stream->dial->loop, &x->again, 0);
			break;
		}
	}
	return TRANSFER_WAITS;
}

enum transfer_result transfer_run(struct exchange *x, struct err *e)
{
	struct stream *s = x->stream;
	enum transfer_result result = TRANSFER_WAITS;
	/* An answer to what was not yet asked is none; nor can there be one
	 * in the moment in which it is asked. */
	bool asked = outgoing_head_is_out(&x->out);
	bool has_piece = outgoing_pending(&x->out).n > 0;
	bool writes;

	send_request(x);
	/* While a body passes, the socket tells when there is an answer. */
	if (has_piece && x->has_heard_all && !outgoing_pending(&x->out).n)
		asked = false;
	if (asked || x->deaf)
		result = receive_response(x, e);
	if (result != TRANSFER_WAITS)
		return result;
	writes = !x->deaf && outgoing_pending(&x->out).n;
	upstream_await(x->upstream, outgoing_head_is_out(&x->out) &&
				    !channel_is_full(&s->edge), writes);
	stream_hold(s, writes || x->out.ended || x->allowance.waits);
	return result;
}
