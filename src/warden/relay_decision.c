/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relays: see relay_decision.h.
 *
 * The same order as for a request: decided, recorded, and only then anything
 * is looked up or connected.  What no rule for relays speaks of is no relay,
 * and edge goes on with it as HTTP; that is no decision yet, and not recorded.
 */
#include "relay_decision.h"

#include "canonical.h"
#include "conn.h"
#include "cur.h"
#include "exchange.h"
#include "own.h"
#include "record.h"

enum { RELAY_ARENA_MAX = 16384 };

/* HTTP's number for "this is not the server to ask". */
enum { NO_RELAY = 421 };

/* Without a stream edge_fd is -1. */
static void tell(struct warden *w, const struct msg_OPEN *m, uint16_t status,
		 const struct relay_answer *answer, int edge_fd)
{
	struct msg out = { .kind = MSG_VERDICT, .VERDICT = {
		.conn = m->conn, .id = m->id, .status = status,
		.rule = sv_head(answer->rule, 2048),
		.reason = sv_head(answer->reason, 1024),
		.allow_with = sv_head(answer->allow_with, 4096) } };

	if (edge_fd >= 0)
		out.fds[out.n_fds++] = edge_fd;
	helper_send(&w->edge, &out);
}

static int refuse(struct warden *w, const struct msg_OPEN *m, uint16_t status,
		  const struct relay_answer *answer, struct err *e)
{
	w->denied++;
	if (record_relay(w, m, answer, e) < 0)
		return -1;
	tell(w, m, status, answer, -1);
	return 0;
}

static int fail(struct warden *w, const struct msg_OPEN *m,
		const struct err *why, struct err *e)
{
	const struct relay_answer failed = { .reason = sv_str(why->msg) };

	if (budgets_settle(&w->budgets, m->conn, m->id, 0, e) < 0)
		return -1;
	tell(w, m, 502, &failed, -1);
	return 0;
}

static int begin(struct warden *w, struct conn *c, const struct msg_OPEN *m,
		 const struct relay_answer *answer, struct err *e)
{
	auto_buf struct buf limit = buf_new(1024);
	struct msg out = { .kind = MSG_RELAY };
	struct err trouble = { 0 };
	auto_fd int edge_fd = -1;

	w->allowed++;
	if (record_relay(w, m, answer, e) < 0)
		return -1;
	if (warden_start_origin_side(w, &trouble) < 0)
		return fail(w, m, &trouble, e);
	budgets_put_limit(&w->budgets, m->host, &limit);
	out.RELAY = (struct msg_RELAY){
		.conn = m->conn, .id = m->id, .host = m->host,
		.port = m->port, .limit = sv_head(buf_sv(&limit), 200),
		.allowance = budgets_allowance(&w->budgets, m->conn, m->id),
	};
	/* It is for this alone: requests had a stream of their own. */
	if (c->has_stream)
		return err_kind(e, ERR_PROTO, "a relay behind a request");
	if (exchange_send_stream(w, c, &edge_fd, &trouble) < 0)
		return fail(w, m, &trouble, e);
	helper_send(&w->dial, &out);
	c->has_stream = true;
	conn_dispatch(c);
	tell(w, m, 0, answer, edge_fd);
	pulse_hurry(w);
	return 0;
}

static int check(const struct msg_OPEN *m, struct err *e)
{
	if ((m->relay != RELAY_TCP && m->relay != RELAY_TLS) || m->port == 0 ||
	    m->only > 1 || host_check(m->host))
		return err_kind(e, ERR_PROTO, "malformed OPEN");
	return 0;
}

static int decide(struct warden *w, struct conn *c, const struct msg_OPEN *m,
		  struct err *e)
{
	auto_arena struct arena a = arena_new(RELAY_ARENA_MAX);
	const struct relay_question q = {
		.kind = (enum relay_kind)m->relay, .host = m->host,
		.port = m->port,
	};
	struct relay_answer answer;

	if (match_relay(w->policy, &q, &a, &answer, e) < 0)
		return -1;
	if (!answer.opaque && !m->only) {
		tell(w, m, NO_RELAY, &answer, -1);
		return 0;
	}
	if (answer.verdict == VERDICT_ALLOW && m->fault.n) {
		answer.verdict = VERDICT_DENY;
		answer.reason = m->fault;
	}
	if (answer.verdict == VERDICT_ALLOW && w->over)
		return 0;
	if (answer.verdict == VERDICT_ALLOW && w->fault.kind) {
		answer = (struct relay_answer){
			.reason = exchange_why_ended(w, &a),
		};
		return refuse(w, m, 503, &answer, e);
	}
	if (budget_open(w, m, &a, &answer, e) < 0)
		return -1;
	if (answer.verdict != VERDICT_ALLOW)
		return refuse(w, m, 403, &answer, e);
	return begin(w, c, m, &answer, e);
}

int relay_on_open(struct warden *w, const struct msg_OPEN *m, struct err *e)
{
	const struct relay_answer full = {
		.reason = SV("too many connections"),
	};
	struct conn *c = conn_find(w, m->conn);

	if (check(m, e) < 0)
		return -1;
	if (!c)
		c = conn_add(w, m->conn);
	if (!c)
		return refuse(w, m, 503, &full, e);
	if (conn_take(c, m->id, m->host, m->port, e) < 0)
		return -1;
	return decide(w, c, m, e);
}

void relay_put_hints(const struct policy *p, struct buf *b)
{
	for (size_t i = 0; i < p->relays_n; i++) {
		const struct relay_rule *r = &p->relays[i];

		if (r->effect == VERDICT_DENY)
			continue;
		buf_put_u8(b, (uint8_t)r->kind);
		buf_put_u16(b, r->port);
	}
	for (size_t i = 0; i < p->reaches_n; i++) {
		if (!sv_eq(p->reaches[i].host, SV("localhost")))
			continue;
		buf_put_u8(b, RELAY_NONE);
		buf_put_u16(b, p->reaches[i].port);
	}
}
