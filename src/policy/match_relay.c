/* SPDX-License-Identifier: Apache-2.0 */
/* Deciding one relay: see match_relay.h. */
#include "match_relay.h"

#include "hostpattern.h"
#include "json.h"
#include "match.h"
#include "own.h"
#include "statement.h"
#include "text_form.h"

enum { REASON_MAX = 1000, ALLOW_MAX = 320 };

struct sv relay_kind_word(enum relay_kind kind)
{
	return kind == RELAY_TLS ? SV("tls") : SV("tcp");
}

bool match_overlap(struct sv a, struct sv b)
{
	/* A pattern is in another if one of its names would be. */
	return match_host(a, b) || match_host(b, a);
}

static bool is_about(const struct relay_rule *r,
		     const struct relay_question *q)
{
	if ((r->port && r->port != q->port) || !match_host(r->host, q->host))
		return false;
	/* `allow tcp *:22` is about public names. */
	return r->effect != VERDICT_ALLOW || !sv_eq(r->host, SV("*")) ||
	       (!hostpattern_is_special(q->host) &&
		!hostpattern_name_fault(q->host));
}

static bool covers_kind(const struct relay_rule *r, enum relay_kind kind)
{
	return r->kind == kind ||
	       (r->effect != VERDICT_ALLOW && r->kind == RELAY_TLS);
}

static void decided_by(struct relay_answer *ret, enum verdict verdict,
		       struct sv rule, const struct origin *origin)
{
	ret->verdict = verdict;
	ret->rule = rule;
	ret->origin = origin;
}

/* Every request is denied: then nothing at all passes. */
static bool denies_all(const struct rule *r, const struct relay_question *q)
{
	return rule_is_whole_deny(r) && (!r->port || r->port == q->port) &&
	       match_host(r->host, q->host);
}

static bool find_deny(const struct policy *p, const struct relay_question *q,
		      struct relay_answer *ret)
{
	for (size_t i = 0; i < p->rules_n; i++) {
		const struct rule *r = &p->rules[i];

		if (!denies_all(r, q))
			continue;
		decided_by(ret, VERDICT_DENY, r->text, &r->origin);
		return true;
	}
	return false;
}

static bool find(const struct policy *p, enum verdict effect,
		 const struct relay_question *q, struct relay_answer *ret)
{
	for (size_t i = 0; i < p->relays_n; i++) {
		const struct relay_rule *r = &p->relays[i];

		if (r->effect != effect || !covers_kind(r, q->kind) ||
		    !is_about(r, q))
			continue;
		decided_by(ret, effect, r->text, &r->origin);
		return true;
	}
	return false;
}

static bool is_opaque(const struct policy *p, const struct relay_question *q)
{
	for (size_t i = 0; i < p->relays_n; i++) {
		const struct relay_rule *r = &p->relays[i];

		if (r->effect != VERDICT_DENY && r->kind == q->kind &&
		    is_about(r, q))
			return true;
	}
	return false;
}

/* Is something said of the host and port that a relay would go around? */
static bool has_requests(const struct policy *p,
			 const struct relay_question *q)
{
	for (size_t i = 0; i < p->rules_n; i++) {
		const struct rule *r = &p->rules[i];

		if (!rule_is_whole_deny(r) && rule_may_be_at(r, q->port) &&
		    match_host(r->host, q->host))
			return true;
	}
	return false;
}

static void put_relay(struct buf *b, const struct relay_question *q)
{
	buf_put(b, relay_kind_word(q->kind));
	buf_putc(b, ' ');
	buf_put_visible(b, sv_head(q->host, 253));
	buf_printf(b, ":%u", q->port);
}

static void put_reason(struct buf *b, const struct policy *p,
		       const struct relay_question *q,
		       const struct relay_answer *answer)
{
	if (answer->rule.n == 0) {
		buf_puts(b, "no rule allows ");
		put_relay(b, q);
		if (hostpattern_is_special(q->host) &&
		    !match_reach(p, q->host, q->port))
			buf_puts(b, ", and only `reach` could lead to such a local name");
		else if (has_requests(p, q))
			buf_puts(b, ": requests to it are decided one by one");
		return;
	}
	buf_puts(b, answer->verdict == VERDICT_ALLOW ? "allowed by: " :
		    answer->verdict == VERDICT_ASK ?
		    "needs approval, and approvals are not available yet: " :
		    "denied by: ");
	buf_put_visible(b, answer->rule);
	buf_puts(b, " (");
	origin_put(b, answer->origin);
	buf_putc(b, ')');
}

static void put_allow(struct buf *b, const struct policy *p,
		      const struct relay_question *q,
		      const struct relay_answer *answer)
{
	bool closed = hostpattern_is_special(q->host) &&
		      !match_reach(p, q->host, q->port);

	if (answer->rule.n || closed || has_requests(p, q) ||
	    hostpattern_name_fault(q->host))
		return;
	buf_puts(b, "allow ");
	put_relay(b, q);
}

int match_relay(const struct policy *p, const struct relay_question *q,
		struct arena *a, struct relay_answer *ret, struct err *e)
{
	auto_buf struct buf reason = buf_new(REASON_MAX);
	auto_buf struct buf allow = buf_new(ALLOW_MAX);

	*ret = (struct relay_answer){ .opaque = is_opaque(p, q) };
	if (!find_deny(p, q, ret) && !find(p, VERDICT_DENY, q, ret) &&
	    !find(p, VERDICT_ASK, q, ret))
		(void)find(p, VERDICT_ALLOW, q, ret);
	put_reason(&reason, p, q, ret);
	put_allow(&allow, p, q, ret);
	ret->reason = arena_dup(a, buf_sv(&reason));
	if (allow.n)
		ret->allow_with = arena_dup(a, buf_sv(&allow));
	if (!ret->reason.p || (allow.n && !ret->allow_with.p)) {
		*ret = (struct relay_answer){ .verdict = VERDICT_DENY };
		return err_kind(e, ERR_LIMIT, "explain the decision: no memory");
	}
	return 0;
}
