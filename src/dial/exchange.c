/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its response: see exchange.h. */
#include "exchange.h"

#include <stdio.h>

#include "credential.h"
#include "h2_origin.h"
#include "own.h"
#include "relay_exchange.h"
#include "transfer.h"
#include "tunnel.h"
#include "upgrade.h"

static void transfer(struct exchange *x);
static void take_connection(struct exchange *x);

static void leave_connection(struct exchange *x)
{
	if (x->h2)
		h2_call_leave(steal_ptr(&x->h2));
	pool_drop(steal_ptr(&x->upstream));
}

static void exchange_free(struct exchange *x)
{
	struct loop *l = x->stream->dial->loop;

	loop_disarm(l, &x->deadline);
	loop_disarm(l, &x->again);
	pool_leave(&x->turn);
	leave_connection(x);
	lease_drop(&x->claimed);
	if (x->scrub)
		scrub_fini(x->scrub);
	free(x->scrub);
	outgoing_fini(&x->out);
	incoming_fini(&x->in);
	buf_wipe(&x->trailers);
	arena_free(&x->arena);
	x->stream->exchange = NULL;
	free(x);
}

static void done(struct exchange *x, uint16_t status, const char *error)
{
	uint64_t hits = x->scrub ? x->scrub->hits : 0;
	struct msg m = { .kind = MSG_DONE, .DONE = {
		.conn = x->stream->conn, .id = x->id, .status = status,
		.sent = x->out.sent, .received = x->received,
		.scrubbed = hits > UINT32_MAX ? UINT32_MAX : (uint32_t)hits,
		.error = sv_head(sv_str(error), 256) } };

	dial_report(x->stream->dial, &m);
}

/* What TLS says may quote a certificate. */
static void make_printable(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
}

static void fail(struct exchange *x, uint16_t status, const struct err *e)
{
	struct stream *s = x->stream;
	struct err why = *e, ignored;
	struct msg m = { .kind = MSG_FAILURE };

	make_printable(why.msg);
	m.FAILURE.id = x->id;
	m.FAILURE.status = status;
	m.FAILURE.reason = sv_head(sv_str(why.msg), 256);
	done(x, x->responded ? x->in.response.status : status, why.msg);
	/* An edge that does not even take this sees the stream end. */
	(void)channel_send(&s->edge, &m, &ignored);
	exchange_free(x);
	stream_end(s);
}

void exchange_abandon(struct exchange *x, const char *why)
{
	done(x, x->responded ? x->in.response.status : 0, why);
	exchange_free(x);
}

/* The response was forwarded to its last byte. */
static void finish(struct exchange *x)
{
	struct stream *s = x->stream;
	struct msg m = { .kind = MSG_CHUNK_END };
	/* Else the origin answered early and the request is stuck half-way. */
	bool reusable = x->reusable && !x->deaf && !x->h2 &&
			outgoing_is_complete(&x->out);
	bool body_ended = x->out.ended;
	struct err ignored;

	m.CHUNK_END.fields = buf_sv(&x->trailers);
	done(x, x->in.response.status, "");
	/* Behind DONE, so that the next request finds this one recorded. */
	(void)channel_send(&s->edge, &m, &ignored);
	if (reusable)
		pool_give(steal_ptr(&x->upstream));
	exchange_free(x);
	stream_rest(s, body_ended);
}

/* NEED: warden decides and has resolve connect. */
static void need(struct exchange *x)
{
	struct stream *s = x->stream;
	struct msg m = { .kind = MSG_NEED, .NEED = { .conn = s->conn,
						     .id = x->id } };

	upstream_close(x->upstream);
	x->state = EXCHANGE_CONNECTING;
	x->reused = false;
	stream_hold(s, true);
	loop_arm(s->dial->loop, &x->deadline, EXCHANGE_CONNECT_MS);
	dial_report(s->dial, &m);
}

/* Puts the leased values where their rules say; wipes what it used. */
static int apply_credentials(struct exchange *x, struct buf *scratch,
			     struct err *e)
{
	const struct lease *l = x->upstream->lease;

	for (size_t i = 0; i < x->n_edits; i++)
		if (credential_apply(&x->edits[i],
				     lease_value(l, x->edits[i].secret),
				     &x->request, &x->arena, scratch, e) < 0)
			return -1;
	if (credential_shape(&x->request.fields, &x->arena, e) < 0)
		return -1;
	x->scrub = lease_scrub(l, e);
	return x->scrub ? 0 : -1;
}

static int build_request(struct exchange *x, struct err *e)
{
	/* Never moves, so that wiping it leaves no copy. */
	static struct buf scratch = { .max = EDITS_MAX * CREDENTIAL_ROOM };
	int failed = upgrade_prepare(x, e);

	if (x->n_edits && !buf_reserve(&scratch, scratch.max - scratch.n))
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (failed == 0 && x->n_edits)
		failed = apply_credentials(x, &scratch, e);
	if (failed == 0)
		failed = x->upstream->h2 ?
			 outgoing_init_bare(&x->out, &x->request, e) :
			 outgoing_init(&x->out, &x->request, e);
	/* They may point into what is wiped now. */
	x->request.fields = (struct http_fields){ 0 };
	x->request.query = (struct sv){ 0 };
	if (scratch.n)
		explicit_bzero(scratch.p, scratch.n);
	buf_reset(&scratch);
	return failed;
}

static void begin_transfer(struct exchange *x)
{
	struct err e = { 0 };

	loop_disarm(x->stream->dial->loop, &x->deadline);
	/* Built already when this is the second attempt. */
	if (x->state == EXCHANGE_LEASING && build_request(x, &e) < 0) {
		fail(x, 502, &e);
		return;
	}
	x->state = EXCHANGE_TRANSFER;
	if (x->out.bare != (x->upstream->h2 != NULL)) {
		(void)err_kind(&e, ERR_PROTO, "%s speaks another version of "
			       "HTTP than before", x->upstream->host);
		fail(x, 502, &e);
		return;
	}
	x->out.keep_head = x->reused || x->out.bare;
	transfer(x);
}

void exchange_lease(struct exchange *x, const struct msg_LEASE *m)
{
	struct err e = { 0 };

	if (!x->claimed)
		return;
	if (!lease_put(x->claimed, m)) {
		(void)err_kind(&e, ERR_DENIED,
			       "the credential is not available");
		fail(x, 502, &e);
		return;
	}
	if (!lease_is_whole(x->claimed))
		return;
	lease_keep(&x->claimed, &x->upstream->lease, x->stream->dial->loop);
	begin_transfer(x);
}

/* It has claimed, or is sent already; else it will claim. */
void exchange_mask(struct exchange *x, uint32_t secret, struct sv values)
{
	bool is_its = false;
	struct err e = { 0 };

	for (size_t i = 0; i < x->n_edits; i++)
		is_its |= x->edits[i].secret == secret;
	if (!is_its)
		return;
	if (x->claimed && !lease_mask(x->claimed, secret, values))
		(void)err_kind(&e, ERR_LIMIT, "out of memory");
	else if (!x->scrub || scrub_add_lines(x->scrub, values, &e) == 0)
		return;
	fail(x, 502, &e);
}

/* Of warden, which has vault lease it. */
static int claim(struct exchange *x, struct err *e)
{
	struct stream *s = x->stream;
	const struct msg m = { .kind = MSG_CLAIM, .CLAIM = {
		.conn = s->conn, .id = x->id } };

	x->claimed = lease_new(x->edits, x->n_edits, e);
	if (!x->claimed)
		return -1;
	loop_arm(s->dial->loop, &x->deadline, EXCHANGE_LEASE_MS);
	/* What an origin says before it is asked can wait: a ticket of TLS's. */
	if (!x->upstream->h2)
		upstream_await(x->upstream, false, false);
	dial_report(s->dial, &m);
	return 0;
}

/* The connection is open, and verified where it has to be. */
static void on_connected(struct exchange *x)
{
	struct err e = { 0 };

	if (x->retried) {
		x->state = EXCHANGE_TRANSFER;
		begin_transfer(x);
		return;
	}
	x->state = EXCHANGE_LEASING;
	if (lease_covers(x->upstream->lease, x->edits, x->n_edits))
		begin_transfer(x);
	else if (claim(x, &e) < 0)
		fail(x, 502, &e);
}

static void handshake(struct exchange *x)
{
	struct upstream *u = x->upstream;
	struct err e = { 0 };

	switch (upstream_handshake(u, x->stream->dial->tls, &e)) {
	case UPSTREAM_OK:
		if (pool_connected(u, &e) < 0)
			break;
		on_connected(x);
		return;
	case UPSTREAM_AGAIN:
		return;
	case UPSTREAM_EOF:
	case UPSTREAM_CUT:
		(void)err_kind(&e, ERR_TLS, "the connection was closed");
		break;
	case UPSTREAM_FAILED:
		break;
	}
	(void)err_ctx(&e, "TLS to %s failed", u->host);
	fail(x, 502, &e);
}

/* What is written now, the origin reads. */
static void opened(struct exchange *x)
{
	if (x->request.scheme == HTTP_PLAIN) {
		on_connected(x);
		return;
	}
	x->state = EXCHANGE_HANDSHAKE;
	loop_arm(x->stream->dial->loop, &x->deadline, EXCHANGE_HANDSHAKE_MS);
	handshake(x);
}

static void tunnel(struct exchange *x)
{
	struct err e = { 0 };

	switch (tunnel_run(x->upstream, false, &e)) {
	case UPSTREAM_OK:
		opened(x);
		return;
	case UPSTREAM_AGAIN:
		return;
	case UPSTREAM_EOF:
	case UPSTREAM_CUT:
	case UPSTREAM_FAILED:
		break;
	}
	fail(x, 502, &e);
}

/* The origin of a request over TLS proves that it has the name, so that is what
 * the proxy may decide by; elsewhere only the address was judged. */
static int begin_tunnel(struct exchange *x, struct sv address, struct err *e)
{
	bool proves = x->request.scheme == HTTP_TLS;

	loop_arm(x->stream->dial->loop, &x->deadline, TUNNEL_MS);
	return tunnel_begin(x->upstream,
			    proves ? (struct sv){ 0 } : address, e);
}

void exchange_socket(struct exchange *x, int socket_fd,
		     const struct msg_SOCKET *m)
{
	auto_fd int fd = socket_fd;
	struct dial *d = x->stream->dial;
	struct err e = { 0 };

	if (x->state != EXCHANGE_CONNECTING)
		return;
	if (fd < 0) {
		(void)err_kind(&e, ERR_DENIED, "cannot reach %.*s: %.*s",
			       SV_FMT(x->request.host), SV_FMT(m->error));
		fail(x, sv_find_sv(m->error, SV("timed out")) < m->error.n ?
			     504 : 502, &e);
		return;
	}
	if (upstream_open(x->upstream, d->loop, fd, &x->request,
			  &e) < 0) {
		fail(x, 502, &e);
		return;
	}
	(void)steal_fd(&fd);
	x->state = EXCHANGE_TUNNEL;
	if (m->proxied && begin_tunnel(x, m->address, &e) < 0)
		fail(x, 502, &e);
	else
		tunnel(x);
}

/* May the request be sent again, without being carried out twice? */
static bool may_retry(const struct exchange *x)
{
	static const struct sv idempotent[] = {
		SV("GET"), SV("HEAD"), SV("OPTIONS"), SV("PUT"), SV("DELETE"),
	};

	if (x->out.begun)
		return false;
	if (x->refused)
		return true;
	for (size_t i = 0; i < countof(idempotent); i++)
		if (sv_eq(x->request.method, idempotent[i]))
			return true;
	return x->out.head_written == 0;
}

static void on_stale(struct exchange *x)
{
	struct err e = { 0 };

	if (!may_retry(x)) {
		(void)err_kind(&e, ERR_PROTO, "%s closed the connection before "
			       "it answered", x->upstream->host);
		fail(x, 502, &e);
		return;
	}
	x->retried = true;
	x->deaf = false;
	outgoing_rewind(&x->out);
	if (!x->upstream->h2) {
		need(x);
		return;
	}
	leave_connection(x);
	take_connection(x);
}

static void transfer(struct exchange *x)
{
	struct err e = { 0 };
	struct stream *s;

	switch (x->upstream->h2 ? h2_transfer_run(x, &e) :
				  transfer_run(x, &e)) {
	case TRANSFER_FAILED:
		fail(x, 502, &e);
		break;
	case TRANSFER_STALE:
		on_stale(x);
		break;
	case TRANSFER_OVER:
		finish(x);
		break;
	case TRANSFER_UPGRADED:
		s = x->stream;
		exchange_free(x);
		relay_resume(s->relay);
		break;
	case TRANSFER_WAITS:
		break;
	}
}

void exchange_resume(struct exchange *x)
{
	if (x->state == EXCHANGE_TUNNEL)
		tunnel(x);
	else if (x->state == EXCHANGE_HANDSHAKE)
		handshake(x);
	else if (x->state == EXCHANGE_TRANSFER)
		transfer(x);
}

static void on_again(struct timer *t)
{
	exchange_resume(container_of(t, struct exchange, again));
}

static void on_deadline(struct timer *t)
{
	struct exchange *x = container_of(t, struct exchange, deadline);
	struct err e = { 0 };

	(void)err_kind(&e, ERR_LIMIT, "%s %.*s timed out",
		       x->state == EXCHANGE_QUEUED ?
		       "waiting for one of the connections to" :
		       x->state == EXCHANGE_CONNECTING ? "connecting to" :
		       x->state == EXCHANGE_TUNNEL ? "the proxy's answer for" :
		       x->state == EXCHANGE_HANDSHAKE ? "TLS to" :
		       "the credential for", SV_FMT(x->request.host));
	fail(x, 504, &e);
}

/* Asks for more before it is used up, so that nothing has to be kept. */
static void ask_more(struct exchange *x)
{
	struct msg m = { .kind = MSG_DRAW, .DRAW = {
		.conn = x->stream->conn, .id = x->id } };

	if (allowance_ask(&x->allowance, x->out.sent))
		dial_report(x->stream->dial, &m);
}

int exchange_allowance(struct exchange *x, uint64_t bytes, struct err *e)
{
	if (allowance_answer(&x->allowance, bytes, e) < 0)
		return -1;
	exchange_resume(x);
	return 0;
}

void exchange_body(struct exchange *x, struct sv data)
{
	struct err e = { 0 };

	if (!allowance_covers(&x->allowance, x->out.sent, data.n)) {
		(void)err_kind(&e, ERR_LIMIT, "%.*s is reached",
			       SV_FMT(x->allowance.limit));
		fail(x, 403, &e);
		return;
	}
	if (!x->deaf && outgoing_put(&x->out, data, &e) < 0) {
		fail(x, 502, &e);
		return;
	}
	ask_more(x);
	transfer(x);
}

void exchange_body_end(struct exchange *x)
{
	struct err e = { 0 };

	if (x->deaf)
		x->out.ended = true;
	else if (outgoing_end(&x->out, &e) < 0) {
		fail(x, 502, &e);
		return;
	}
	transfer(x);
}

/* A copy of the message whose views are the arena's. */
static int keep_message(struct exchange *x, const struct msg_EXCHANGE *m,
			struct err *e)
{
	struct msg_EXCHANGE kept = *m;
	struct msg_REQUEST request;
	struct sv *views[] = { &kept.host, &kept.method, &kept.path,
			       &kept.query, &kept.fields, &kept.edits,
			       &kept.limit, &kept.secrets };

	for (size_t i = 0; i < countof(views); i++) {
		*views[i] = arena_dup(&x->arena, *views[i]);
		if (!views[i]->p)
			return err_kind(e, ERR_LIMIT, "out of memory");
	}
	x->allowance = allowance_of(&kept);
	x->turn.share.secrets = kept.secrets;
	head_request_of(&kept, &request);
	if (head_from_request(&request, &x->arena, &x->request, e) < 0 ||
	    head_get_edits(kept.edits, x->edits, &x->n_edits, e) < 0)
		return -1;
	if (x->request.host.n == 0 || x->request.port == 0 ||
	    x->request.method.n == 0 || x->request.path.n == 0)
		return err_kind(e, ERR_PROTO, "malformed request");
	if (x->n_edits && x->request.scheme != HTTP_TLS)
		return err_kind(e, ERR_DENIED,
				"a credential is never sent without TLS");
	return 0;
}

static void on_upstream(struct upstream *u)
{
	exchange_resume(u->user);
}

/* It is lent a connection, open or still to be made. */
static void on_turn(struct turn *t, struct upstream *u)
{
	struct exchange *x = container_of(t, struct exchange, turn);

	if (!u->h2) {
		u->user = x;
		u->ready = on_upstream;
	}
	x->upstream = u;
	x->reused = upstream_is_open(u);
	if (x->reused)
		on_connected(x);
	else
		need(x);
}

static void take_connection(struct exchange *x)
{
	struct loop *l = x->stream->dial->loop;
	struct err e = { 0 };
	struct upstream *u = pool_take(l, &x->turn, &e);

	if (u) {
		on_turn(&x->turn, u);
	} else if (e.msg[0]) {
		fail(x, 502, &e);
	} else {
		x->state = EXCHANGE_QUEUED;
		stream_hold(x->stream, true);
		loop_arm(l, &x->deadline, EXCHANGE_QUEUE_MS);
	}
}

void exchange_begin(struct stream *s, const struct msg_EXCHANGE *m)
{
	struct exchange *x = calloc(1, sizeof *x);
	struct err e = { 0 };

	if (!x) {
		stream_refuse(s, m->id);
		return;
	}
	s->exchange = x;
	x->stream = s;
	x->id = m->id;
	x->arena = arena_new(EXCHANGE_ARENA);
	x->trailers = buf_new(16384);
	x->deadline.fired = on_deadline;
	x->again.fired = on_again;
	x->turn.came = on_turn;
	/* Until there is somewhere to send it. */
	stream_hold(s, true);
	if (keep_message(x, m, &e) < 0) {
		fail(x, 502, &e);
		return;
	}
	incoming_init(&x->in, x->request.method);
	x->in.upgrade = x->request.upgrade;
	x->turn.share.scheme = x->request.scheme;
	x->turn.share.host = x->request.host;
	x->turn.share.port = x->request.port;
	/* A WebSocket is opened over HTTP/1.1. */
	x->turn.share.h2 = x->request.h2 && x->request.scheme == HTTP_TLS &&
			   !x->request.upgrade;
	take_connection(x);
}
