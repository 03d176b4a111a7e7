/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stockade-dial: faces the internet.
 *
 *	warden --STREAM, EXCHANGE--> dial <--BODY...-- edge
 *	       <--NEED, CLAIM, REJECTED, DONE-  --RESPONSE, CHUNK...-->
 *	resolve --SOCKET-----------> dial <--LEASE, MASK-- vault
 *
 * It takes requests that were decided, verifies the origin's certificate,
 * fetches the credential that a rule adds, writes the request from its
 * canonical form, and hands back the response, parsed and scrubbed.
 *
 * It can make no socket and open no file.  A person may assume that an origin
 * takes this process over: then it holds the credentials of the requests that
 * are under way, or were a second ago, and nothing to reach another origin with
 * but what warden allows next.
 *
 * It ends with warden, resolve or vault, or by its own error, which it
 * reports.
 */
#include "dial.h"

#include <signal.h>

#include "confine.h"
#include "exchange.h"
#include "own.h"
#include "relay_exchange.h"
#include "tunnel.h"

#define NO_DESCRIPTOR "dial has no descriptor left"

static struct dial dial;
static int status;	/* of the process */
static uint32_t lost_conn;	/* the last one whose stream did not get here */

static void stop(const struct err *e)
{
	struct msg m = { .kind = MSG_FAULT };
	struct err ignored;

	if (e)
		status = 1;
	if (e && channel_is_open(&dial.warden)) {
		m.FAULT.text = sv_str(e->msg);
		(void)channel_send(&dial.warden, &m, &ignored);
	}
	loop_stop(dial.loop);
}

void dial_report(struct dial *d, const struct msg *m)
{
	struct err e = { 0 };

	if (channel_is_open(&d->warden) &&
	    channel_send(&d->warden, m, &e) < 0)
		stop(&e);
}

static void on_closed(struct channel *c, const struct err *e)
{
	struct err gone = { 0 };

	/* Without warden nobody is left to tell. */
	if (!e && c != &dial.warden) {
		(void)err_kind(&gone, ERR_PROTO, "%s has gone away",
			       c == &dial.vault ? "vault" : "resolve");
		e = &gone;
	}
	stop(e);
}

static int on_socket(struct msg *m, const struct msg_SOCKET *say,
		     struct err *e)
{
	struct stream *s = stream_find(say->conn);
	struct msg_SOCKET none = *say;
	uint32_t id = say->id;

	if (m->is_short) {
		pool_drop_idle();
		none.error = SV(NO_DESCRIPTOR);
		say = &none;
	} else if ((m->n_fds == 0) == (say->error.n == 0)) {
		return err_kind(e, ERR_PROTO, "malformed %s",
				msg_name(m->kind));
	}
	/* The agent may have hung up meanwhile: the socket is closed. */
	if (s && s->exchange && s->exchange->id == id)
		exchange_socket(s->exchange,
				m->n_fds ? steal_fd(&m->fds[0]) : -1, say);
	else if (s && s->relay && s->relay->id == id)
		relay_socket(s->relay,
			     m->n_fds ? steal_fd(&m->fds[0]) : -1, say);
	return 0;
}

/* warden's, of a socket that the policy names. */
static int on_local(struct msg *m, struct err *e)
{
	const struct msg_SOCKET say = {
		.conn = m->LOCAL.conn, .id = m->LOCAL.id,
		.error = m->LOCAL.error,
	};

	return on_socket(m, &say, e);
}

static int on_resolve(struct channel *c, struct msg *m, struct err *e)
{
	(void)c;
	if (m->kind != MSG_SOCKET)
		return err_kind(e, ERR_PROTO, "unexpected %s",
				msg_name(m->kind));
	return on_socket(m, &m->SOCKET, e);
}

static int on_vault(struct channel *c, struct msg *m, struct err *e)
{
	struct stream *s;

	(void)c;
	if (m->kind == MSG_MASK) {
		lease_forget(m->MASK.secret);
		stream_mask_all(m->MASK.secret, m->MASK.values);
		return 0;
	}
	if (m->kind != MSG_LEASE)
		return err_kind(e, ERR_PROTO, "unexpected %s",
				msg_name(m->kind));
	s = stream_find(m->LEASE.conn);
	if (m->LEASE.conn == 0)
		tunnel_login(&m->LEASE);
	/* Else the agent has hung up, or another of them was refused. */
	else if (s && s->exchange && s->exchange->id == m->LEASE.id)
		exchange_lease(s->exchange, &m->LEASE);
	return 0;
}

static int peer(struct channel *c, int *fd, enum role role, struct err *e)
{
	c->message = role == ROLE_VAULT ? on_vault : on_resolve;
	c->closed = on_closed;
	if (channel_open(c, dial.loop, *fd, ROLE_DIAL, role, PHASE_RUN, e) < 0)
		return -1;
	*fd = -1;
	return 0;
}

static int add_roots(const struct msg *m, struct err *e)
{
	if (m->n_fds != 1)
		return err_kind(e, ERR_PROTO, "ROOTS without a file");
	if (tls_client_roots(dial.tls, m->fds[0], e) < 0) {
		if (m->ROOTS.required)
			return err_ctx(e, "roots");
		*e = (struct err){ 0 };
	}
	return 0;
}

static int start(struct msg *m, struct err *e)
{
	bool has_vault = m->DIAL_START.has_vault == 1;

	if (m->n_fds != (has_vault ? 2U : 1U))
		return err_kind(e, ERR_PROTO, "DIAL_START with %u descriptors",
				m->n_fds);
	if (peer(&dial.resolve, &m->fds[0], ROLE_RESOLVE, e) < 0 ||
	    (has_vault && peer(&dial.vault, &m->fds[1], ROLE_VAULT, e) < 0) ||
	    confine_helper(CONFINE_DIAL, e) < 0 ||
	    tunnel_init(&dial, &m->DIAL_START, e) < 0)
		return -1;
	dial.warden.phase = PHASE_RUN;
	return 0;
}

/* edge has the other end, and sees that there is none here. */
static int on_stream(struct msg *m, struct err *e)
{
	if (m->is_short) {
		pool_drop_idle();
		lost_conn = m->STREAM.conn;
		return 0;
	}
	if (m->n_fds != 1)
		return err_kind(e, ERR_PROTO, "malformed STREAM");
	return stream_open(&dial, m->STREAM.conn, steal_fd(&m->fds[0]), e);
}

/* The stream's end is the agent's: an exchange that comes after it is only
 * accounted for. */
static void too_late(const struct stream *s, uint32_t conn, uint32_t id)
{
	struct msg done = { .kind = MSG_DONE, .DONE = {
		.conn = conn, .id = id,
		.error = s ? SV("the connection is over") :
			 conn == lost_conn ? SV(NO_DESCRIPTOR) :
			     SV("the agent hung up") } };

	dial_report(&dial, &done);
}

static int on_exchange(const struct msg_EXCHANGE *m, struct err *e)
{
	struct stream *s = stream_find(m->conn);

	if (s && (s->exchange || s->relay))
		return err_kind(e, ERR_PROTO, "two exchanges on a connection");
	if (s && !s->over)
		exchange_begin(s, m);
	else
		too_late(s, m->conn, m->id);
	return 0;
}

static int on_relay(const struct msg_RELAY *m, struct err *e)
{
	struct stream *s = stream_find(m->conn);

	if (s && (s->exchange || s->relay))
		return err_kind(e, ERR_PROTO, "a relay beside an exchange");
	if (s && !s->over)
		relay_begin(s, m);
	else
		too_late(s, m->conn, m->id);
	return 0;
}

static int on_allowance(const struct msg_ALLOWANCE *m, struct err *e)
{
	struct stream *s = stream_find(m->conn);

	/* It may be over by now. */
	if (s && s->exchange && s->exchange->id == m->id)
		return exchange_allowance(s->exchange, m->bytes, e);
	if (s && s->relay && s->relay->id == m->id)
		return relay_allowance(s->relay, m->bytes, e);
	return 0;
}

static int on_warden(struct channel *c, struct msg *m, struct err *e)
{
	int failed;

	(void)c;
	if (m->kind == MSG_ROOTS)
		failed = add_roots(m, e);
	else if (m->kind == MSG_DIAL_START)
		failed = start(m, e);
	else if (m->kind == MSG_STREAM)
		failed = on_stream(m, e);
	else if (m->kind == MSG_EXCHANGE)
		failed = on_exchange(&m->EXCHANGE, e);
	else if (m->kind == MSG_RELAY)
		failed = on_relay(&m->RELAY, e);
	else if (m->kind == MSG_LOCAL)
		failed = on_local(m, e);
	else if (m->kind == MSG_ALLOWANCE)
		failed = on_allowance(&m->ALLOWANCE, e);
	else
		failed = err_kind(e, ERR_PROTO, "unexpected %s",
				  msg_name(m->kind));
	/* Reported here: `closed` comes when the channel is gone. */
	if (failed < 0)
		stop(e);
	return 0;
}

static int prepare(struct err *e)
{
	/* A write to a closed connection is an error, not the end. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_sys(e, "ignore SIGPIPE");
	channel_raise_descriptors();	/* two for each stream */
	dial.loop = loop_new(e);
	if (!dial.loop)
		return -1;
	dial.warden.message = on_warden;
	dial.warden.closed = on_closed;
	if (channel_open(&dial.warden, dial.loop, 3, ROLE_DIAL, ROLE_WARDEN,
			 PHASE_BOOT, e) < 0)
		return -1;
	/* An exchange is accounted for before edge hears of its end. */
	channel_gather(&dial.warden, true);
	return 0;
}

int main(void)
{
	struct err e = { 0 };

	if (prepare(&e) < 0)
		return 1;
	dial.tls = tls_client_new(&e);
	if (!dial.tls || loop_run(dial.loop, &e) < 0)
		stop(&e);
	return status;
}
