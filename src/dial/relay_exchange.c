/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes both ways, which nobody reads: see relay_exchange.h. */
#include "relay_exchange.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "own.h"
#include "pool.h"
#include "tunnel.h"

enum {
	CONNECT_MS = 60000,		/* resolve gives up long before */
	BYTES_A_TURN = 512 * 1024,	/* then it is the turn of the others */
	LARGE_READ = 4096,		/* probably followed by another */
	MASKED_MAX = 512 * 1024,	/* a read, and what was held back before */
};

void relay_free(struct relay *r)
{
	struct loop *l = r->stream->dial->loop;

	loop_disarm(l, &r->deadline);
	loop_disarm(l, &r->again);
	if (r->upstream == &r->own)
		upstream_close(&r->own);
	else
		pool_drop(r->upstream);
	websocket_mask_free(r->mask);
	buf_free(&r->out);
	r->stream->relay = NULL;
	free(r);
}

static void done(struct relay *r, const char *error)
{
	uint64_t hits = r->mask ? r->mask->scrub->hits : 0;
	struct msg m = { .kind = MSG_DONE, .DONE = {
		.conn = r->stream->conn, .id = r->id, .status = r->status,
		.sent = r->sent, .received = r->received,
		.scrubbed = hits > UINT32_MAX ? UINT32_MAX : (uint32_t)hits,
		.error = sv_head(sv_str(error), 256) } };

	dial_report(r->stream->dial, &m);
}

/* What was sent so far must not be taken for all of it. */
static void reset_origin(struct relay *r)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	struct upstream *u = r->upstream;

	if (upstream_is_open(u))
		(void)setsockopt(u->fd, SOL_SOCKET, SO_LINGER, &reset,
				 sizeof reset);
	upstream_close(u);
}

void relay_abandon(struct relay *r, const char *why)
{
	done(r, why);
	reset_origin(r);
	relay_free(r);
}

static void fail(struct relay *r, uint16_t status, const struct err *e)
{
	struct stream *s = r->stream;
	struct msg m = { .kind = MSG_FAILURE, .FAILURE = {
		.id = r->id, .status = status,
		.reason = sv_head(sv_str(e->msg), 256) } };
	struct err ignored;

	done(r, e->msg);
	reset_origin(r);
	/* An edge that does not even take this sees the stream end. */
	(void)channel_send(&s->edge, &m, &ignored);
	relay_free(r);
	stream_end(s);
}

void relay_mask(struct relay *r, uint32_t secret, struct sv values)
{
	struct err e = { 0 };

	for (size_t i = 0; i < r->n_secrets; i++)
		if (r->secrets[i] == secret &&
		    scrub_add_lines(r->mask->scrub, values, &e) < 0) {
			fail(r, 502, &e);
			return;
		}
}

static void finish(struct relay *r)
{
	struct stream *s = r->stream;

	done(r, "");
	relay_free(r);
	stream_finish(s);
}

static struct sv pending(const struct relay *r)
{
	return sv_from(buf_sv(&r->out), r->written);
}

/* To the origin; how much of it is taken. */
static size_t write_some(struct relay *r, struct sv v)
{
	struct err ignored;
	size_t taken = 0;

	while (!r->deaf && taken < v.n) {
		size_t n = 0;
		enum upstream_status s = upstream_write(r->upstream,
							sv_from(v, taken), &n,
							&ignored);

		if (s == UPSTREAM_AGAIN)
			break;
		/* It may have said why before it went: reading will tell. */
		if (s != UPSTREAM_OK)
			r->deaf = true;
		taken += n;
	}
	r->sent += taken;
	return taken;
}

/* -1: edge cannot be told that all was taken. */
static int write_out(struct relay *r, struct err *e)
{
	const struct msg m = { .kind = MSG_TAKEN };

	r->written += write_some(r, pending(r));
	if (!r->deaf && pending(r).n)
		return 0;
	/* A quiet relay costs no memory. */
	buf_free(&r->out);
	r->written = 0;
	if (!r->ended || r->shut || (r->deaf && !r->frames.closed) ||
	    upstream_shut(r->upstream) == UPSTREAM_AGAIN)
		return 0;
	r->shut = true;
	return channel_send(&r->stream->edge, &m, e);
}

static int on_end(struct relay *r, struct err *e)
{
	const struct msg m = { .kind = MSG_CHUNK_END };

	r->received_all = true;
	return channel_send(&r->stream->edge, &m, e);
}

static int send_chunks(struct relay *r, struct sv data, struct err *e)
{
	while (data.n) {
		struct msg m = { .kind = MSG_CHUNK };

		m.CHUNK.data = sv_head(data, WIRE_CHUNK_MAX);
		if (channel_send(&r->stream->edge, &m, e) < 0)
			return -1;
		data = sv_from(data, m.CHUNK.data.n);
	}
	return 0;
}

/* Where frames end is followed as far as it can be. */
static void follow_frames(struct relay *r, struct sv data)
{
	enum websocket_piece got;
	struct sv piece;

	while (!r->unframed && data.n) {
		got = websocket_next(&r->frames, &data, &piece);
		r->unframed = got == WEBSOCKET_BAD;
	}
}

int relay_received(struct relay *r, struct sv data, struct err *e)
{
	static struct buf out = { .max = MASKED_MAX };

	r->received += data.n;
	if (!r->mask) {
		if (r->status)
			follow_frames(r, data);
		return send_chunks(r, data, e);
	}
	buf_reset(&out);
	if (websocket_mask_push(r->mask, &r->frames, data, &out, e) < 0)
		return err_ctx(e, "%s", r->host);
	return send_chunks(r, buf_sv(&out), e);
}

/* What the origin sends, as long as edge takes it; one read fills a message. */
static int read_in(struct relay *r, struct err *e)
{
	static char bytes[WIRE_CHUNK_MAX];
	struct channel *edge = &r->stream->edge;
	size_t turn = 0;

	while (!r->received_all && !channel_is_full(edge)) {
		struct upstream *u = r->upstream;
		size_t n = 0;
		enum upstream_status s = upstream_read(u, bytes, sizeof bytes,
						       &n, e);

		if (s == UPSTREAM_AGAIN)
			break;
		/* Behind a close nothing could have been cut off. */
		if (s == UPSTREAM_EOF ||
		    (s == UPSTREAM_CUT && r->frames.closed))
			return on_end(r, e);
		if (s != UPSTREAM_OK)
			return err_ctx(e, "%s", r->host);
		if (relay_received(r, sv_of(bytes, n), e) < 0)
			return -1;
		turn += n;
		/* TLS may hold what the socket no longer shows. */
		if (n < LARGE_READ && !u->tls)
			break;
		if (turn >= BYTES_A_TURN) {
			loop_arm(r->stream->dial->loop, &r->again, 0);
			break;
		}
	}
	return 0;
}

static void run(struct relay *r)
{
	struct stream *s = r->stream;
	struct err e = { 0 };
	bool writes;

	if (write_out(r, &e) < 0 || read_in(r, &e) < 0) {
		fail(r, 502, &e);
		return;
	}
	/* Who has closed a WebSocket need not take what was on its way. */
	if (r->received_all && r->deaf && !r->frames.closed) {
		(void)err_kind(&e, ERR_PROTO, "%s closed the connection and "
			       "did not take all", r->host);
		fail(r, 502, &e);
		return;
	}
	/* What is queued for edge would be lost with the relay. */
	if (r->received_all && r->shut && !channel_is_full(&s->edge)) {
		finish(r);
		return;
	}
	writes = !r->deaf && (pending(r).n || (r->ended && !r->shut));
	upstream_await(r->upstream,
		       !r->received_all && !channel_is_full(&s->edge), writes);
	stream_hold(s, writes || r->ended || r->allowance.waits);
}

/* The origin is at the other end of the socket. */
static void opened(struct relay *r)
{
	const struct msg m = { .kind = MSG_RESPONSE, .RESPONSE = {
		.id = r->id, .status = 200, .body = HTTP_BODY_CLOSE } };
	struct err e = { 0 };

	loop_disarm(r->stream->dial->loop, &r->deadline);
	r->connected = true;
	if (channel_send(&r->stream->edge, &m, &e) < 0)
		fail(r, 502, &e);
	else
		run(r);
}

static void tunnel(struct relay *r)
{
	struct err e = { 0 };
	enum upstream_status s = tunnel_run(r->upstream, true, &e);

	if (s == UPSTREAM_OK)
		opened(r);
	else if (s != UPSTREAM_AGAIN)
		fail(r, 502, &e);
}

void relay_resume(struct relay *r)
{
	if (r->connected)
		run(r);
	else if (upstream_is_open(r->upstream))
		tunnel(r);
}

/* More is asked for before it is used up, so that nothing has to be kept. */
static void ask_more(struct relay *r)
{
	struct msg m = { .kind = MSG_DRAW, .DRAW = {
		.conn = r->stream->conn, .id = r->id } };

	if (allowance_ask(&r->allowance, r->sent + pending(r).n))
		dial_report(r->stream->dial, &m);
}

int relay_allowance(struct relay *r, uint64_t bytes, struct err *e)
{
	if (allowance_answer(&r->allowance, bytes, e) < 0)
		return -1;
	relay_resume(r);
	return 0;
}

void relay_message(struct relay *r, const struct msg *m)
{
	struct sv data = m->kind == MSG_BODY ? m->BODY.data : (struct sv){ 0 };
	struct err e = { 0 };

	if (!allowance_covers(&r->allowance, r->sent + pending(r).n, data.n)) {
		(void)err_kind(&e, ERR_LIMIT, "%.*s is reached",
			       SV_FMT(r->allowance.limit));
		fail(r, 403, &e);
		return;
	}
	if (m->kind == MSG_BODY_END)
		r->ended = true;
	if (r->connected && r->out.n == 0)
		data = sv_from(data, write_some(r, data));
	if (!r->deaf)
		buf_put(&r->out, data);
	if (r->out.full)
		r->deaf = true;
	ask_more(r);
	relay_resume(r);
}

void relay_socket(struct relay *r, int socket_fd, const struct msg_SOCKET *m)
{
	const struct http_request to = {
		.scheme = HTTP_PLAIN, .host = sv_str(r->host), .port = r->port,
	};
	struct upstream *u = r->upstream;
	auto_fd int fd = socket_fd;
	struct err e = { 0 };

	if (upstream_is_open(u))
		return;
	if (fd < 0) {
		(void)err_kind(&e, ERR_DENIED, "cannot reach %s: %.*s",
			       r->host, SV_FMT(m->error));
		fail(r, sv_find_sv(m->error, SV("timed out")) < m->error.n ?
			     504 : 502, &e);
		return;
	}
	if (upstream_open(u, r->stream->dial->loop, fd, &to, &e) < 0) {
		fail(r, 502, &e);
		return;
	}
	(void)steal_fd(&fd);
	if (m->proxied)
		loop_arm(r->stream->dial->loop, &r->deadline, TUNNEL_MS);
	if (m->proxied && tunnel_begin(u, m->address, &e) < 0)
		fail(r, 502, &e);
	else
		tunnel(r);
}

static void on_upstream(struct upstream *u)
{
	relay_resume(u->user);
}

static void on_deadline(struct timer *t)
{
	struct relay *r = container_of(t, struct relay, deadline);
	struct err e = { 0 };

	(void)err_kind(&e, ERR_LIMIT, "%s %s timed out",
		       r->own.tunnel ? "the proxy's answer for" :
				       "connecting to", r->host);
	fail(r, 504, &e);
}

static void on_again(struct timer *t)
{
	relay_resume(container_of(t, struct relay, again));
}

/* limit is a's, and copied. */
static struct relay *relay_new(struct stream *s, uint32_t id,
			       const struct allowance *a)
{
	struct relay *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	s->relay = r;
	r->stream = s;
	r->id = id;
	r->allowance = *a;
	r->allowance.limit = sv_of(r->limit, a->limit.n);
	if (a->limit.n)	/* the table bounds it */
		memcpy(r->limit, a->limit.p, a->limit.n);
	r->upstream = &r->own;
	r->own.ready = on_upstream;
	r->own.user = r;
	r->out = buf_new(WIRE_CHUNK_MAX);
	r->deadline.fired = on_deadline;
	r->again.fired = on_again;
	return r;
}

struct relay *relay_of_websocket(struct stream *s, uint32_t id,
				 const struct allowance *a,
				 struct upstream *from, struct err *e)
{
	struct relay *r = relay_new(s, id, a);

	if (!r) {
		(void)err_kind(e, ERR_LIMIT, "out of memory");
		return NULL;
	}
	memcpy(r->host, from->host, sizeof r->host);
	r->upstream = from;
	from->ready = on_upstream;
	from->user = r;
	r->connected = true;
	r->status = 101;
	return r;
}

void relay_begin(struct stream *s, const struct msg_RELAY *m)
{
	const struct allowance a = allowance_of_relay(m);
	struct relay *r = relay_new(s, m->id, &a);
	struct msg need = { .kind = MSG_NEED, .NEED = { .conn = m->conn,
							.id = m->id } };

	if (!r) {
		stream_refuse(s, m->id);
		return;
	}
	r->port = m->port;
	memcpy(r->host, m->host.p, m->host.n);	/* the table bounds it */
	loop_arm(s->dial->loop, &r->deadline, CONNECT_MS);
	dial_report(s->dial, &need);
}
