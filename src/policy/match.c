/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deciding one canonical request: see match.h.
 *
 * A path with %2F has two readings: the encoded slash is part of its segment,
 * or it separates two.  Nobody but the origin knows which one it takes.  So a
 * deny or ask in either reading counts, and an allow must be found in both.
 * A rule that is itself written with %2F names one such path, and speaks for
 * both of its readings.
 *
 * So it is with what is behind a `;` in a segment: some servers take it for
 * parameters and look for the path without it.  The request is decided again
 * without, and the strictest decision holds.
 */
#include "match.h"

#include "explanation.h"
#include "hostpattern.h"
#include "query.h"

bool match_host(struct sv pattern, struct sv host)
{
	if (sv_eq(pattern, SV("*")))
		return true;
	if (!sv_starts(pattern, SV("*.")))
		return sv_eq(pattern, host);
	/* ".example.com" behind at least one label. */
	pattern = sv_from(pattern, 1);
	return host.n > pattern.n && sv_ends(host, pattern);
}

/* Segment by segment: `*` one segment, `**` any number.  An encoded slash (%2F)
 * in path is inside its segment here; match_request() tries both. */
static bool match_path(struct sv pattern, struct sv path)
{
	return urlpattern_match(pattern, path);
}

/* Without parameters the pattern's readings are not told apart: whether they
 * should be was asked with them. */
static bool match_bare(struct sv pattern, struct sv pattern_other,
		       struct sv path)
{
	char out[2][URLPATTERN_PATH_MAX];
	struct sv first = urlpattern_bare(pattern, out[0]);
	struct sv second;

	if (!first.p)
		first = pattern;
	second = urlpattern_other_reading(first, out[1]);
	if (match_path(first, path) || (second.p && match_path(second, path)))
		return true;
	if (!pattern_other.p)
		return false;
	second = urlpattern_bare(pattern_other, out[1]);
	return match_path(second.p ? second : pattern_other, path);
}

static bool match_method(const struct rule *r, struct sv method)
{
	for (size_t i = 0; i < r->methods_n; i++)
		if (sv_eq(r->methods[i], method))
			return true;
	return r->methods_n == 0;
}

static bool match_port(const struct rule *r, const struct question *q)
{
	if (r->port)
		return r->port == q->port;
	/* What restricts covers every port, what permits the usual one. */
	if (r->effect != VERDICT_ALLOW)
		return true;
	return q->port == (q->tls ? 443 : 80);
}

bool rule_is_whole_deny(const struct rule *r)
{
	return r->effect == VERDICT_DENY && r->methods_n == 0 &&
	       !r->has_query && sv_eq(r->path, SV("/**"));
}

bool rule_may_be_at(const struct rule *r, uint16_t port)
{
	const struct question plain = { .port = port };
	const struct question tls = { .port = port, .tls = true };

	return match_port(r, &plain) || match_port(r, &tls);
}

/* One reading for what permits, any for what restricts. */
static bool match_query(const struct rule *r, const struct question *q)
{
	if (!r->has_query || !q->has_query)
		return !r->has_query;
	return r->effect == VERDICT_ALLOW ?
		       !query_difference(r->query, q->query) :
		       query_may_have(r->query, q->query);
}

/* `allow * *` is about public names. */
static bool match_public(const struct rule *r, const struct question *q)
{
	return r->effect != VERDICT_ALLOW || !sv_eq(r->host, SV("*")) ||
	       !hostpattern_is_special(q->host);
}

/* Everything but the path. */
static bool match_rest(const struct rule *r, const struct question *q)
{
	return match_method(r, q->method) && match_port(r, q) &&
	       match_host(r->host, q->host) && match_public(r, q) &&
	       match_query(r, q);
}

/* The path as it is written against a pattern. */
static bool match_first(const struct question *q, struct sv path,
			struct sv path_other)
{
	return q->bare ? match_bare(path, path_other, q->path) :
			 match_path(path, q->path);
}

/* The other reading against a pattern, which may have another reading too. */
static bool match_other(const struct question *q, struct sv path,
			struct sv path_other, struct sv question_other)
{
	if (q->bare)
		return match_bare(path, path_other, question_other);
	return match_path(path, question_other) ||
	       (path_other.p && match_path(path_other, question_other));
}

/* The first rule of that effect for each reading; NULL where there is none. */
static void find_rules(const struct policy *p, enum verdict effect,
		       const struct question *q, struct sv other,
		       const struct rule *ret[2])
{
	ret[0] = ret[1] = NULL;
	for (size_t i = 0; i < p->rules_n; i++) {
		const struct rule *r = &p->rules[i];

		if (r->effect != effect || !match_rest(r, q))
			continue;
		if (!ret[0] && match_first(q, r->path, r->path_other))
			ret[0] = r;
		if (!ret[1] && other.p &&
		    match_other(q, r->path, r->path_other, other))
			ret[1] = r;
	}
}

unsigned match_difference(const struct rule *r, const struct question *q,
			  struct sv other)
{
	unsigned differs = 0;

	if (!match_method(r, q->method))
		differs |= MATCH_METHOD;
	if (!match_port(r, q))
		differs |= MATCH_PORT;
	if (!match_host(r->host, q->host))
		differs |= MATCH_HOST;
	if (!match_public(r, q))
		differs |= MATCH_PUBLIC;
	if (!match_query(r, q))
		differs |= MATCH_QUERY;
	if (!match_first(q, r->path, r->path_other))
		differs |= MATCH_PATH;
	if (other.p && !match_other(q, r->path, r->path_other, other))
		differs |= MATCH_PATH_OTHER;
	return differs;
}

/* Is there nothing about the path that two programs could read differently,
 * beyond the one thing that is tried both ways? */
static bool is_unambiguous(const struct question *q, struct sv other)
{
	return urlpattern_is_clean(q->path) &&
	       (!other.p || urlpattern_is_clean(other));
}

static void find_answer(const struct policy *p, const struct question *q,
			struct sv other, struct answer *ret)
{
	const struct rule *found[2];

	find_rules(p, VERDICT_DENY, q, other, found);
	if (found[0] || found[1]) {
		ret->rule = found[0] ? found[0] : found[1];
		return;
	}
	find_rules(p, VERDICT_ASK, q, other, found);
	if (found[0] || found[1]) {
		ret->verdict = VERDICT_ASK;
		ret->rule = found[0] ? found[0] : found[1];
		return;
	}
	find_rules(p, VERDICT_ALLOW, q, other, found);
	if (found[0] && (!other.p || found[1])) {
		ret->verdict = VERDICT_ALLOW;
		ret->rule = found[0];
	}
}

/* false: the path has more readings than that. */
static bool decide(const struct policy *p, const struct question *q,
		   struct answer *ret)
{
	char out[URLPATTERN_PATH_MAX];
	struct sv other = urlpattern_other_reading(q->path, out);

	*ret = (struct answer){ .verdict = VERDICT_DENY };
	if (!is_unambiguous(q, other))
		return false;
	find_answer(p, q, other, ret);
	return true;
}

/* deny > ask > nothing > allow: the smallest number wins among readings. */
static int rank(const struct answer *a)
{
	switch (a->verdict) {
	case VERDICT_ALLOW:
		return 3;
	case VERDICT_ASK:
		return 1;
	case VERDICT_DENY:
		break;
	}
	return a->rule ? 0 : 2;
}

size_t match_bare_readings(const struct question *q,
			   struct bare_reading ret[BARE_READINGS])
{
	char out[URLPATTERN_PATH_MAX];
	struct sv paths[BARE_READINGS] = { q->path };
	size_t n = 0;

	if (q->path.n > sizeof out)
		return 0;
	/* Some look for slashes first: then parameters end there. */
	paths[1] = urlpattern_other_reading(q->path, out);
	for (size_t i = 0; i < BARE_READINGS; i++) {
		struct bare_reading *r = &ret[n];

		r->q = *q;
		r->q.bare = true;
		r->q.path = urlpattern_bare(paths[i], r->text);
		n += r->q.path.p != NULL;
	}
	return n;
}

int match_request(const struct policy *p, const struct question *q,
		  struct arena *a, struct answer *ret, struct err *e)
{
	struct bare_reading bare[BARE_READINGS];
	size_t n = match_bare_readings(q, bare);
	struct answer next;
	bool clear;

	*ret = (struct answer){ .verdict = VERDICT_DENY };
	if (q->path.n > URLPATTERN_PATH_MAX) {
		ret->reason = SV("the path is too long");
		return 0;
	}
	clear = decide(p, q, ret);
	for (size_t i = 0; clear && i < n; i++) {
		clear = decide(p, &bare[i].q, &next);
		if (!clear || rank(&next) < rank(ret))
			*ret = next;
	}
	if (explanation_put(p, q, clear, a, ret) < 0) {
		*ret = (struct answer){ .verdict = VERDICT_DENY };
		return err_kind(e, ERR_LIMIT, "explain the decision: no memory");
	}
	return 0;
}

static bool is_origin(const struct secret_scope *scope,
		      const struct question *q)
{
	return sv_eq(scope->host, q->host) &&
	       q->port == (scope->port ? scope->port : 443);
}

bool match_secret_origin(const struct secret_rule *s,
			 const struct question *q)
{
	for (size_t i = 0; i < s->scopes_n; i++)
		if (q->tls && is_origin(&s->scopes[i], q))
			return true;
	return false;
}

static bool is_in_scope(const struct secret_rule *s, const struct question *q)
{
	char out[URLPATTERN_PATH_MAX];
	struct sv other = urlpattern_other_reading(q->path, out);

	if (!is_unambiguous(q, other))
		return false;
	for (size_t i = 0; i < s->scopes_n; i++) {
		const struct secret_scope *scope = &s->scopes[i];

		if (is_origin(scope, q) &&
		    match_first(q, scope->path, scope->path_other) &&
		    (!other.p ||
		     match_other(q, scope->path, scope->path_other, other)))
			return true;
	}
	return false;
}

bool match_secret(const struct secret_rule *s, const struct question *q)
{
	struct bare_reading bare[BARE_READINGS];
	size_t n;

	if (!q->tls || q->path.n > URLPATTERN_PATH_MAX || !is_in_scope(s, q))
		return false;
	n = match_bare_readings(q, bare);
	for (size_t i = 0; i < n; i++)
		if (!is_in_scope(s, &bare[i].q))
			return false;
	return true;
}

const struct reach *match_reach(const struct policy *p, struct sv host,
				uint16_t port)
{
	const struct reach *any = NULL;

	for (size_t i = 0; i < p->reaches_n; i++) {
		const struct reach *r = &p->reaches[i];

		if (!sv_eq(r->host, host))
			continue;
		if (r->port == port)
			return r;
		if (r->port == 0)
			any = r;
	}
	return any;
}
