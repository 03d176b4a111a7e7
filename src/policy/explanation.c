/* SPDX-License-Identifier: Apache-2.0 */
/* Why a request was decided so: see explanation.h. */
#include "explanation.h"

#include "hostpattern.h"
#include "json.h"
#include "query.h"
#include "statement.h"
#include "text_form.h"
#include "urlpattern.h"

/* The port as it must be written, 0 when it need not be. */
static uint16_t written_port(const struct question *q)
{
	return q->port == (q->tls ? 443 : 80) ? 0 : q->port;
}

/* The rule as it was meant, and where it stands. */
static void put_rule(struct buf *b, const struct rule *r)
{
	buf_put_visible(b, sv_head(r->text, 400));
	buf_puts(b, r->text.n > 400 ? "... (" : " (");
	origin_put(b, &r->origin);
	buf_putc(b, ')');
}

static void put_request(struct buf *b, const struct question *q)
{
	buf_put_visible(b, sv_head(q->method, 32));
	buf_puts(b, q->tls ? " " : " http://");
	buf_put_visible(b, sv_head(q->host, 253));
	if (written_port(q))
		buf_printf(b, ":%u", written_port(q));
	buf_put_visible(b, sv_head(q->path, 120));
	if (q->path.n > 120)
		buf_puts(b, "...");
}

/* Is the name one that only a reach statement could open, and none does? */
static bool is_closed_name(const struct policy *p, const struct question *q)
{
	return hostpattern_is_special(q->host) &&
	       !match_reach(p, q->host, q->port);
}

/* The first rule that would allow the request but for its query, or NULL. */
static const struct rule *near_rule(const struct policy *p,
				    const struct question *q)
{
	for (size_t i = 0; i < p->rules_n; i++) {
		const struct rule *r = &p->rules[i];

		if (r->effect == VERDICT_ALLOW &&
		    match_difference(r, q, (struct sv){ 0 }) == MATCH_QUERY)
			return r;
	}
	return NULL;
}

static void put_query_reason(struct buf *b, const struct policy *p,
			     const struct question *q)
{
	const struct rule *near = near_rule(p, q);

	if (!near)
		return;
	if (!q->has_query)
		buf_puts(b, " without a query");
	else
		buf_printf(b, " with this query: %s",
			   query_difference(near->query, q->query));
}

static void put_reason(struct buf *b, const struct policy *p,
		       const struct question *q, bool clear,
		       const struct answer *answer)
{
	if (!clear) {
		buf_puts(b, "the path has an empty or dot segment, or one behind "
			 "an encoded slash or before a `;`: programs read it "
			 "differently");
	} else if (answer->verdict == VERDICT_ALLOW) {
		buf_puts(b, "allowed by: ");
		put_rule(b, answer->rule);
	} else if (answer->verdict == VERDICT_ASK) {
		buf_puts(b, "needs approval, and approvals are not available yet: ");
		put_rule(b, answer->rule);
	} else if (answer->rule) {
		buf_puts(b, "denied by: ");
		put_rule(b, answer->rule);
	} else {
		buf_puts(b, "no rule allows ");
		put_request(b, q);
		if (urlpattern_has_parameters(q->path))
			buf_puts(b, " both with and without what is behind "
				 "a `;`");
		put_query_reason(b, p, q);
		if (is_closed_name(p, q))
			buf_puts(b, ", and only `reach` could lead to such a local name");
	}
}

static bool is_plain_method(struct sv method)
{
	for (size_t i = 0; i < method.n; i++)
		if ((method.p[i] < 'A' || method.p[i] > 'Z') &&
		    method.p[i] != '-')
			return false;
	return method.n > 0 && method.n <= 32;
}

/* Of the query a suggestion speaks where the rules do, so that it opens no more
 * than what was asked for.  False: that cannot be written. */
static bool put_query(struct buf *where, const struct policy *p,
		      const struct question *q, struct arena *a)
{
	struct sv canonical;

	if (!q->has_query || !near_rule(p, q))
		return true;
	if (q->query.n > EXPLANATION_ALLOW_MAX / 4 ||
	    sv_find(q->query, '*') < q->query.n ||
	    query_canonical(q->query, a, &canonical) ||
	    query_difference(canonical, q->query))
		return false;
	buf_putc(where, '?');
	buf_put(where, canonical);
	return true;
}

/*
 * The request as a rule.  Only where the rule would mean this request and no
 * other: a `*` in the path cannot be written.
 */
static void put_allow(struct buf *b, const struct policy *p,
		      const struct question *q, struct arena *a)
{
	auto_buf struct buf where = buf_new(EXPLANATION_ALLOW_MAX);
	struct sv canonical;

	if (is_closed_name(p, q) || hostpattern_name_fault(q->host) ||
	    !is_plain_method(q->method) ||
	    sv_find(q->path, '*') < q->path.n ||
	    q->path.n > EXPLANATION_ALLOW_MAX / 2 ||
	    urlpattern_canonical(q->path, a, &canonical) ||
	    !sv_eq(canonical, q->path))
		return;
	text_form_target(&where, q->host, written_port(q), q->path);
	if (!put_query(&where, p, q, a))
		return;
	buf_printf(b, "allow %.*s ", SV_FMT(q->method));
	text_form_word(b, buf_sv(&where));
}

int explanation_put(const struct policy *p, const struct question *q,
		    bool clear, struct arena *a, struct answer *ret)
{
	auto_buf struct buf reason = buf_new(EXPLANATION_REASON_MAX);
	auto_buf struct buf allow = buf_new(EXPLANATION_ALLOW_MAX);

	put_reason(&reason, p, q, clear, ret);
	if (clear && ret->verdict == VERDICT_DENY && !ret->rule)
		put_allow(&allow, p, q, a);
	ret->reason = arena_dup(a, buf_sv(&reason));
	if (!allow.full && allow.n)
		ret->allow_with = arena_dup(a, buf_sv(&allow));
	if (!ret->reason.p || (allow.n && !allow.full && !ret->allow_with.p))
		return -1;
	return 0;
}
