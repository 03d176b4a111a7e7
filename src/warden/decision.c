/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge asks, warden decides.
 *
 * A REQUEST is checked again for being canonical, matched, recorded, and only
 * then acted upon.  What is refused here is answered by edge with the rule,
 * the reason and the statement that would permit it; what is allowed goes on
 * in exchange.c.
 */
#include "canonical.h"
#include "conn.h"
#include "exchange.h"
#include "record.h"
#include "relay_decision.h"

enum { DECISION_ARENA_MAX = 1 << 18 };

static void question_of(const struct http_request *r, struct question *ret)
{
	*ret = (struct question){
		.tls = r->scheme == HTTP_TLS, .method = r->method,
		.host = r->host, .path = r->path, .query = r->query,
		.has_query = r->has_query, .port = r->port,
	};
}

void decision_send(struct warden *w, const struct msg_REQUEST *m,
		   uint16_t status, const struct answer *answer)
{
	struct msg out = { .kind = MSG_VERDICT };

	out.VERDICT = (struct msg_VERDICT){
		.conn = m->conn, .id = m->id, .status = status,
		.rule = answer->rule ? sv_head(answer->rule->text, 2048) :
				       (struct sv){ 0 },
		.reason = sv_head(answer->reason, 1024),
		.allow_with = sv_head(answer->allow_with, 4096),
	};
	helper_send(&w->edge, &out);
}

static int deny(struct warden *w, const struct msg_REQUEST *m, uint16_t status,
		const struct answer *answer, struct err *e)
{
	w->denied++;
	if (record_request(w, m, answer, NULL, e) < 0)
		return -1;
	decision_send(w, m, status, answer);
	return 0;
}

/* The agent's own credential at a host whose field a secret owns. */
static void deny_usurped(const struct credential *c, struct arena *a,
			 struct answer *ret)
{
	auto_buf struct buf text = buf_new(1024);
	const struct secret_rule *rule = c->rule;

	buf_printf(&text, "the request carries its own credential where only "
		   "the placeholder of %.*s may stand", SV_FMT(rule->name));
	*ret = (struct answer){
		.verdict = VERDICT_DENY,
		.reason = arena_dup(a, buf_sv(&text)),
	};
}

/* A bound of what the request would carry, of which nothing has left yet. */
static void deny_bounded(struct warden *w, const struct credential_use *use,
			 struct arena *a, struct answer *ret)
{
	auto_buf struct buf why = buf_new(1024);

	if (!credential_set_may(&w->credentials, use, &why))
		*ret = (struct answer){ .reason = arena_dup(a, buf_sv(&why)) };
}

static int decide(struct warden *w, struct conn *c,
		  const struct msg_REQUEST *m, const struct http_request *r,
		  struct arena *a, struct err *e)
{
	struct credential_use use;
	struct question q;
	struct answer answer = { 0 };

	question_of(r, &q);
	if (match_request(w->policy, &q, a, &answer, e) < 0)
		return -1;
	credential_set_use(&w->credentials, &q, r, &use);
	for (size_t i = 0; i < use.n_strays; i++) {
		const struct violation v = {
			.conn = m->conn, .id = m->id,
			.credential = use.strays[i].credential,
			.where = sv_str(use.strays[i].where),
			.name = use.strays[i].name, .host = m->host,
		};

		w->violations++;
		if (record_violation(w, &v, e) < 0)
			return -1;
	}
	if (answer.verdict == VERDICT_ALLOW && use.usurped)
		deny_usurped(use.usurped, a, &answer);
	if (answer.verdict == VERDICT_ALLOW && use.too_many)
		answer = (struct answer){
			.reason = SV("too many secrets are for this host"),
		};
	if (answer.verdict == VERDICT_ALLOW)
		deny_bounded(w, &use, a, &answer);
	/* Whoever asked is gone, and it would not be carried out. */
	if (answer.verdict == VERDICT_ALLOW && w->over)
		return 0;
	if (answer.verdict == VERDICT_ALLOW && w->fault.kind) {
		answer = (struct answer){ .reason = exchange_why_ended(w, a) };
		return deny(w, m, 503, &answer, e);
	}
	if (budget_decide(w, m, r, a, &answer, e) < 0)
		return -1;
	if (answer.verdict != VERDICT_ALLOW)
		return deny(w, m, 403, &answer, e);
	w->allowed++;
	credential_set_count(&w->credentials, &use);
	if (record_request(w, m, &answer, &use, e) < 0)
		return -1;
	return exchange_begin(w, c, m, &use, e);
}

static int on_request(struct warden *w, const struct msg_REQUEST *m,
		      struct err *e)
{
	auto_arena struct arena a = arena_new(DECISION_ARENA_MAX);
	struct conn *c = conn_find(w, m->conn);
	struct http_request r;
	const char *wrong;

	if (head_from_request(m, &a, &r, e) < 0)
		return -1;
	wrong = request_check(&r);
	if (wrong)
		return err_kind(e, ERR_PROTO, "a request that is not "
				"canonical: %s", wrong);
	if (!c)
		c = conn_add(w, m->conn);
	if (!c) {
		const struct answer full = {
			.reason = SV("too many connections"),
		};

		return deny(w, m, 503, &full, e);
	}
	if (conn_take(c, m->id, m->host, m->port, e) < 0)
		return -1;
	return decide(w, c, m, &r, &a, e);
}

static int on_violation(struct warden *w, const struct msg_VIOLATION *m,
			struct err *e)
{
	const struct conn *c = conn_find(w, m->conn);
	struct violation v = {
		.conn = m->conn, .id = m->id, .where = m->where,
		.host = c ? buf_sv(&c->host) : (struct sv){ 0 },
	};

	for (size_t i = 0; i < w->credentials.n; i++)
		if (sv_eq(m->placeholder,
			  credential_core(&w->credentials.v[i])))
			v.credential = &w->credentials.v[i];
	/* One of another run is nobody's here, but worth a line. */
	w->violations++;
	return record_violation(w, &v, e);
}

static int on_message(struct warden *w, struct msg *m, struct err *e)
{
	switch ((int)m->kind) {
	case MSG_REQUEST:
		return on_request(w, &m->REQUEST, e);
	case MSG_OPEN:
		return relay_on_open(w, &m->OPEN, e);
	case MSG_REFUSED:
		w->denied++;
		return record_refused(w, &m->REFUSED, e);
	case MSG_VIOLATION:
		return on_violation(w, &m->VIOLATION, e);
	case MSG_HANGUP:
		exchange_hung_up(w, m->HANGUP.conn);
		return 0;
	case MSG_PONG:
		w->edge.unanswered = 0;
		return 0;
	case MSG_FAULT:
		return err_kind(e, ERR_PROTO, "%.*s", SV_FMT(m->FAULT.text));
	}
	return err_kind(e, ERR_PROTO, "unexpected %s", msg_name(m->kind));
}

int warden_on_edge(struct channel *c, struct msg *m, struct err *e)
{
	struct warden *w = container_of(c, struct warden, edge.channel);

	if (on_message(w, m, e) < 0)
		return -1;
	warden_pace(w);
	return 0;
}
