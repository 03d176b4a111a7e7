/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allowed request on its way.
 *
 *	dispatch  STREAM (once a connection) and EXCHANGE to dial, VERDICT with
 *		  the other end of the stream to edge
 *	connect   dial says NEED; only for the request that was allowed, and
 *		  only a few times, resolve is told to CONNECT, or warden
 *		  itself connects to the socket that the policy names
 *	claim	  dial says CLAIM; once, for that request, vault is told to
 *		  lease it what the request carries, when that is not just
 *		  being renewed (renewal.h)
 *	reject	  dial says REJECTED, before edge has the 401
 */
#include "exchange.h"

#include "cur.h"
#include "local.h"
#include "own.h"
#include "record.h"
#include "renewal.h"

enum { EXCHANGE_CONNECTS_MAX = 2 };	/* the first, and one retry */

static int fail(struct warden *w, const struct msg_REQUEST *m, struct sv why,
		struct err *e)
{
	struct answer answer = { .reason = why };

	if (budgets_settle(&w->budgets, m->conn, m->id, 0, e) < 0)
		return -1;
	decision_send(w, m, 502, &answer);
	return 0;
}

int exchange_send_stream(struct warden *w, struct conn *c, int *ret_edge_fd,
			 struct err *e)
{
	struct msg out = { .kind = MSG_STREAM, .n_fds = 1 };
	auto_fd int edge_fd = -1, dial_fd = -1;
	int pair[2];

	if (channel_pair(pair, e) < 0)
		return -1;
	edge_fd = pair[0];
	dial_fd = pair[1];
	out.STREAM.conn = c->number;
	out.fds[0] = dial_fd;
	helper_send(&w->dial, &out);
	*ret_edge_fd = steal_fd(&edge_fd);
	return 0;
}

/*
 * Everything is in place: dial gets the request, edge the verdict.  Where edge has
 * nothing to do with it, nothing to send and no stream to take, dial's response
 * says as much, and a process is woken once less.
 */
static void dispatch(struct warden *w, struct conn *c,
		     const struct msg_EXCHANGE *x, int edge_fd)
{
	struct msg out = { .kind = MSG_EXCHANGE, .EXCHANGE = *x };

	helper_send(&w->dial, &out);
	conn_dispatch(c);
	pulse_hurry(w);
	if (edge_fd < 0 && x->body == HTTP_BODY_NONE && !x->upgrade)
		return;
	out = (struct msg){ .kind = MSG_VERDICT };
	out.VERDICT.conn = x->conn;
	out.VERDICT.id = x->id;
	if (edge_fd >= 0) {
		out.n_fds = 1;
		out.fds[0] = edge_fd;
		c->has_stream = true;
	}
	helper_send(&w->edge, &out);
}

/* What dial may claim for this request: that which is sent comes first. */
static void put_edits(const struct warden *w, struct conn *c,
		      struct credential_use *use, struct buf *b)
{
	for (size_t i = 0; i < use->n; i++) {
		const struct credential *used = use->credentials[i];
		uint32_t number = (uint32_t)(used - w->credentials.v);

		use->edits[i].secret = number;
		if (use->edits[i].form != EDIT_MASK)
			c->n_sent++;
		c->versions[c->n_secrets] = used->version;
		c->secrets[c->n_secrets++] = number;
		head_put_edit(b, &use->edits[i]);
	}
}

/* The credentials that are sent, not those that are only masked: their numbers,
 * in order, and versions.  Another value is another connection. */
static void put_secrets(const struct warden *w, const struct credential_use *use,
			struct buf *b)
{
	for (size_t i = 0; i < w->credentials.n; i++)
		for (size_t k = 0; k < use->n; k++)
			if (use->credentials[k] == &w->credentials.v[i] &&
			    use->edits[k].form != EDIT_MASK) {
				buf_put_u32(b, (uint32_t)i);
				buf_put_u32(b, w->credentials.v[i].version);
			}
}

int exchange_begin(struct warden *w, struct conn *c,
		   const struct msg_REQUEST *m, struct credential_use *use,
		   struct err *e)
{
	auto_buf struct buf edits = buf_new(8192);
	auto_buf struct buf limit = buf_new(1024);
	auto_buf struct buf secrets = buf_new(EDITS_MAX * 2 * sizeof(uint32_t));
	struct msg out = { .kind = MSG_EXCHANGE };
	auto_fd int edge_fd = -1;
	struct err trouble = { 0 };

	if (warden_start_origin_side(w, &trouble) < 0)
		return fail(w, m, sv_str(trouble.msg), e);
	if (renewal_look(w, use, e) < 0)
		return -1;
	put_edits(w, c, use, &edits);
	put_secrets(w, use, &secrets);
	if (buf_check(&edits, "the credentials of a request", e) < 0 ||
	    buf_check(&secrets, "the credentials of a request", e) < 0)
		return -1;
	head_exchange_of(m, &out.EXCHANGE);
	out.EXCHANGE.edits = buf_sv(&edits);
	out.EXCHANGE.secrets = buf_sv(&secrets);
	budgets_put_limit(&w->budgets, m->host, &limit);
	out.EXCHANGE.limit = sv_head(buf_sv(&limit), 200);
	out.EXCHANGE.allowance = budgets_allowance(&w->budgets, m->conn, m->id);
	if (!c->has_stream &&
	    exchange_send_stream(w, c, &edge_fd, &trouble) < 0)
		return fail(w, m, sv_str(trouble.msg), e);
	dispatch(w, c, &out.EXCHANGE, edge_fd);
	return 0;
}

void exchange_hung_up(struct warden *w, uint32_t conn)
{
	struct conn *c = conn_find(w, conn);

	/* Of what dial has, DONE is the end. */
	if (c && c->owed)
		c->hung_up = true;
	else
		conn_remove(w, conn);
}

struct sv exchange_why_ended(const struct warden *w, struct arena *a)
{
	auto_buf struct buf text = buf_new(1024);

	buf_printf(&text, "the network of this run has ended: %s",
		   w->fault.msg);
	return arena_dup(a, buf_sv(&text));
}

bool exchange_is_any(const struct warden *w)
{
	for (size_t i = 0; i < WARDEN_BUCKETS; i++)
		for (const struct conn *c = w->conns[i]; c; c = c->next)
			if (c->dispatched)
				return true;
	return false;
}

/* edge sees the stream end, and answers or cuts by itself. */
static int end_dispatched(struct warden *w, struct conn *c, struct sv why,
			  struct err *e)
{
	const struct msg_DONE done = {
		.conn = c->number, .id = c->id, .error = why,
	};

	c->dispatched = false;
	c->owed = 0;
	if (c->hung_up)
		conn_remove(w, c->number);
	return record_done(w, &done, e);
}

int exchange_end_all(struct warden *w, struct err *e)
{
	auto_arena struct arena a = arena_new(4096);
	struct sv why = exchange_why_ended(w, &a);

	for (size_t i = 0; i < WARDEN_BUCKETS; i++)
		for (struct conn *c = w->conns[i], *next; c; c = next) {
			next = c->next;
			if (c->dispatched && end_dispatched(w, c, why, e) < 0)
				return -1;
		}
	return 0;
}

int warden_on_vault(struct channel *ch, struct msg *m, struct err *e)
{
	struct warden *w = container_of(ch, struct warden, vault.channel);

	switch ((int)m->kind) {
	case MSG_READY:
		if (w->vault_ready)
			break;
		buf_put(&w->ca_pem, m->READY.ca_pem);
		w->vault_ready = true;
		if (warden_has_vault(w))
			loop_stop(w->loop);
		return credential_set_missed(&w->credentials,
					     m->READY.absent, e);
	case MSG_FOUND:
		if (!w->search.asked || w->search.answered)
			break;
		w->search.answered = true;
		w->search.found = m->FOUND;
		loop_stop(w->loop);
		return 0;
	case MSG_RENEWED:
		return renewal_on_answer(w, &m->RENEWED, e);
	case MSG_PONG:
		w->vault.unanswered = 0;
		return 0;
	case MSG_FAULT:
		return err_kind(e, ERR_PROTO, "%.*s", SV_FMT(m->FAULT.text));
	}
	return err_kind(e, ERR_PROTO, "unexpected %s", msg_name(m->kind));
}

static int connect_local(struct warden *w, const struct msg_NEED *m,
			 const struct reach *reach, struct err *e)
{
	const char *why = "";
	auto_fd int fd = local_connect(reach->socket, &why);
	struct msg out = { .kind = MSG_LOCAL, .LOCAL = {
		.conn = m->conn, .id = m->id, .error = sv_str(why) } };
	const struct msg_CONNECTED told = {
		.conn = m->conn, .id = m->id, .address = reach->via,
		.error = sv_str(why) };

	if (fd >= 0)
		out.fds[out.n_fds++] = fd;
	else
		w->denied++;
	if (record_connected(w, &told, e) < 0)
		return -1;
	helper_send(&w->dial, &out);
	return 0;
}

static int on_need(struct warden *w, const struct msg_NEED *m, struct err *e)
{
	struct conn *c = conn_find(w, m->conn);
	struct msg out = { .kind = MSG_CONNECT };
	const struct reach *reach;

	/* The agent hung up meanwhile. */
	if (!c || c->hung_up || m->id != c->id || w->over)
		return 0;
	if (!c->dispatched || c->connects == EXCHANGE_CONNECTS_MAX)
		return err_kind(e, ERR_PROTO, "a connection was asked for that "
				"no allowed request needs");
	c->connects++;
	reach = match_reach(w->policy, buf_sv(&c->host), c->port);
	if (reach && reach->socket.p)
		return connect_local(w, m, reach, e);
	out.CONNECT = (struct msg_CONNECT){
		.conn = m->conn, .id = m->id, .host = buf_sv(&c->host),
		.port = c->port,
		.via = reach ? reach->via : (struct sv){ 0 },
	};
	if (!reach)
		proxy_put_connect(&w->proxy, &out.CONNECT);
	w->connecting++;
	helper_send(&w->resolve, &out);
	return 0;
}

int exchange_grant(struct warden *w, const struct conn *c, struct err *e)
{
	auto_buf struct buf secrets = buf_new(EDITS_MAX * 2 * sizeof(uint32_t));
	struct msg out = { .kind = MSG_GRANT };

	for (unsigned i = 0; i < c->n_secrets; i++) {
		buf_put_u32(&secrets, c->secrets[i]);
		buf_put_u32(&secrets, c->versions[i]);
	}
	if (buf_check(&secrets, "the credentials of a request", e) < 0)
		return -1;
	out.GRANT = (struct msg_GRANT){ .conn = c->number, .id = c->id,
					.secrets = buf_sv(&secrets) };
	helper_send(&w->vault, &out);
	return 0;
}

static int on_claim(struct warden *w, const struct msg_CLAIM *m, struct err *e)
{
	struct conn *c = conn_find(w, m->conn);

	/* The agent hung up meanwhile. */
	if (!c || c->hung_up || m->id != c->id || w->over)
		return 0;
	if (!c->dispatched || c->claimed || c->n_secrets == 0)
		return err_kind(e, ERR_PROTO, "credentials were claimed that no "
				"allowed request carries");
	c->claimed = true;
	c->waits = renewal_is_awaited(w, c);
	return c->waits ? 0 : exchange_grant(w, c, e);
}

static int on_rejected(struct warden *w, const struct msg_REJECTED *m,
		       struct err *e)
{
	struct conn *c = conn_find(w, m->conn);

	/* The next one was decided meanwhile, and is told of its own. */
	if (!c || m->id != c->id || w->over)
		return 0;
	if (!c->dispatched || c->rejected || c->n_sent == 0)
		return err_kind(e, ERR_PROTO, "credentials were rejected that no "
				"allowed request carries");
	c->rejected = true;
	return renewal_rejected(w, c, e);
}

/* An exchange has one end, after which no connection is made for it. */
static int on_done(struct warden *w, const struct msg_DONE *m, struct err *e)
{
	struct conn *c = conn_find(w, m->conn);

	if (!c)
		return err_kind(e, ERR_PROTO, "an exchange ended of a connection "
				"that is not there");
	if (conn_done(c, m->id, e) < 0)
		return -1;
	if (c->hung_up && c->owed == 0)
		conn_remove(w, m->conn);
	if (budgets_settle(&w->budgets, m->conn, m->id, m->sent, e) < 0)
		return -1;
	return record_done(w, m, e);
}

static int on_draw(struct warden *w, const struct msg_DRAW *m, struct err *e)
{
	struct msg out = { .kind = MSG_ALLOWANCE };

	out.ALLOWANCE.conn = m->conn;
	out.ALLOWANCE.id = m->id;
	if (budgets_more(&w->budgets, m->conn, m->id,
			 &out.ALLOWANCE.bytes, e) < 0)
		return -1;
	helper_send(&w->dial, &out);
	return 0;
}

int warden_on_dial(struct channel *ch, struct msg *m, struct err *e)
{
	struct warden *w = container_of(ch, struct warden, dial.channel);

	switch ((int)m->kind) {
	case MSG_NEED:
		return on_need(w, &m->NEED, e);
	case MSG_CLAIM:
		return on_claim(w, &m->CLAIM, e);
	case MSG_REJECTED:
		return on_rejected(w, &m->REJECTED, e);
	case MSG_DONE:
		return on_done(w, &m->DONE, e);
	case MSG_DRAW:
		return on_draw(w, &m->DRAW, e);
	case MSG_PONG:
		w->dial.unanswered = 0;
		return 0;
	case MSG_FAULT:
		return err_kind(e, ERR_PROTO, "%.*s", SV_FMT(m->FAULT.text));
	}
	return err_kind(e, ERR_PROTO, "unexpected %s", msg_name(m->kind));
}

/* One answer to each CONNECT; the agent may have hung up meanwhile. */
static int on_connected(struct warden *w, const struct msg_CONNECTED *m,
			struct err *e)
{
	if (w->connecting == 0)
		return err_kind(e, ERR_PROTO, "an answer to what was not asked");
	w->connecting--;
	if (m->error.n)
		w->denied++;
	return record_connected(w, m, e);
}

int warden_on_resolve(struct channel *ch, struct msg *m, struct err *e)
{
	struct warden *w = container_of(ch, struct warden, resolve.channel);

	switch ((int)m->kind) {
	case MSG_CONNECTED:
		return on_connected(w, &m->CONNECTED, e);
	case MSG_PONG:
		w->resolve.unanswered = 0;
		return 0;
	case MSG_FAULT:
		return err_kind(e, ERR_PROTO, "%.*s", SV_FMT(m->FAULT.text));
	}
	return err_kind(e, ERR_PROTO, "unexpected %s", msg_name(m->kind));
}
