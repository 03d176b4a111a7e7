/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions: the matcher against a naive one that follows the manual word by
 * word, with recursion and without care for time.
 *
 * Input: a policy, a line "--", and lines "METHOD https://host:port/path?query".
 */
#include <stdlib.h>

#include "buf.h"
#include "hostpattern.h"
#include "match.h"
#include "parse.h"
#include "query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Twelve rules and some questions fit. */
enum { PATH_CAP = 48, RULES_CAP = 12, INPUT_MAX = 2048 };

/* The bytes of the character at the front: three for an escape. */
static size_t naive_length(struct sv v)
{
	return v.p[0] == '%' && v.n > 2 && hex_value(v.p[1]) >= 0 &&
	       hex_value(v.p[2]) >= 0 ? 3 : 1;
}

static int naive_byte(struct sv v)
{
	return naive_length(v) == 1 ? (unsigned char)v.p[0]
		: hex_value(v.p[1]) * 16 + hex_value(v.p[2]);
}

/* `*` is any bytes of one segment that is not empty. */
static bool naive_segment(struct sv p, struct sv s, bool started)
{
	if (p.n == 0)
		return s.n == 0;
	if (p.p[0] == '*') {
		if (!started && s.n == 0)
			return false;
		if (naive_segment(sv_from(p, 1), s, true))
			return true;
		return s.n &&
		       naive_segment(p, sv_from(s, naive_length(s)), true);
	}
	return s.n && naive_byte(s) == naive_byte(p) &&
	       naive_segment(sv_from(p, naive_length(p)),
			     sv_from(s, naive_length(s)), true);
}

/* Both behind a slash; `end` is true when there is no further segment. */
static bool naive_path(struct sv p, bool p_end, struct sv s, bool s_end)
{
	struct sv want = sv_head(p, sv_find(p, '/'));
	struct sv have = sv_head(s, sv_find(s, '/'));
	bool want_last = want.n == p.n, have_last = have.n == s.n;

	if (p_end || s_end)
		return p_end && s_end;
	if (sv_eq(want, SV("**"))) {
		if (want_last)
			return true;
		return naive_path(sv_from(p, want.n + 1), false, s, false) ||
		       naive_path(p, false, sv_from(s, have.n + 1), have_last);
	}
	return naive_segment(want, have, false) &&
	       naive_path(sv_from(p, want.n + 1), want_last,
			  sv_from(s, have.n + 1), have_last);
}

static bool naive_host(struct sv pattern, struct sv host)
{
	if (sv_eq(pattern, SV("*")))
		return true;
	if (pattern.n > 2 && pattern.p[0] == '*') {
		for (size_t i = 1; i < host.n; i++)
			if (host.p[i] == '.' &&
			    sv_eq(sv_from(host, i), sv_from(pattern, 1)))
				return true;
		return false;
	}
	return sv_eq(pattern, host);
}

/* Without what is behind a `;`; in memory of the caller. */
static struct sv naive_bare(struct sv v, char *out)
{
	size_t n = 0;

	for (bool keep = true; v.n; v = sv_from(v, 1)) {
		keep = v.p[0] == '/' ||
		       (keep && v.p[0] != ';' && !sv_starts(v, SV("%3B")));
		if (keep)
			out[n++] = v.p[0];
	}
	return sv_of(out, n);
}

static struct sv naive_other(struct sv path, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < path.n; i++) {
		if (sv_starts(sv_from(path, i), SV("%2F"))) {
			out[n++] = '/';
			i += 2;
		} else {
			out[n++] = path.p[i];
		}
	}
	return sv_of(out, n);
}

static bool naive_fits(struct sv pattern, struct sv path, bool bare)
{
	char out[PATH_CAP], more[PATH_CAP];

	if (bare)
		pattern = naive_bare(pattern, out);
	return naive_path(sv_from(pattern, 1), false, sv_from(path, 1),
			  false) ||
	       (bare && naive_path(sv_from(naive_other(pattern, more), 1),
				   false, sv_from(path, 1), false));
}

static bool naive_rule(const struct rule *r, const struct question *q,
		       struct sv path, bool other)
{
	bool method = r->methods_n == 0, matched;
	uint16_t usual = q->tls ? 443 : 80;

	for (size_t i = 0; i < r->methods_n; i++)
		method |= sv_eq(r->methods[i], q->method);
	if (!method || !naive_host(r->host, q->host))
		return false;
	if (r->effect == VERDICT_ALLOW && sv_eq(r->host, SV("*")) &&
	    hostpattern_is_special(q->host))
		return false;
	if (r->port ? r->port != q->port :
		      r->effect == VERDICT_ALLOW && q->port != usual)
		return false;
	/* Which has a target of its own. */
	if (r->has_query &&
	    (!q->has_query ||
	     (r->effect == VERDICT_ALLOW ?
	      query_difference(r->query, q->query) != NULL :
	      !query_may_have(r->query, q->query))))
		return false;
	matched = naive_fits(r->path, path, q->bare);
	if (!matched && (other || q->bare) && r->path_other.p)
		matched = naive_fits(r->path_other, path, q->bare);
	return matched;
}

static bool naive_any(const struct policy *p, enum verdict effect,
		      const struct question *q, struct sv path, bool other)
{
	for (size_t i = 0; i < p->rules_n; i++)
		if (p->rules[i].effect == effect &&
		    naive_rule(&p->rules[i], q, path, other))
			return true;
	return false;
}

static bool naive_clean(struct sv path)
{
	struct buf b = buf_new(PATH_CAP + 8);
	bool bad;

	if (path.n == 0 || path.p[0] != '/')
		return false;
	buf_put(&b, path);
	bad = sv_find_sv(buf_sv(&b), SV("//")) < b.n;
	buf_putc(&b, '/');
	bad |= sv_find_sv(buf_sv(&b), SV("/./")) < b.n ||
	       sv_find_sv(buf_sv(&b), SV("/../")) < b.n;
	buf_free(&b);
	return !bad;
}

enum rank { UNCLEAR, DENIED, ASKED, NOTHING, ALLOWED };

static enum rank naive_once(const struct policy *p, const struct question *q)
{
	char out[PATH_CAP];
	struct sv other = naive_other(q->path, out);
	bool two = other.n < q->path.n;

	if (!naive_clean(q->path) || !naive_clean(other))
		return UNCLEAR;
	for (int effect = VERDICT_DENY; effect < VERDICT_ALLOW; effect++)
		if (naive_any(p, (enum verdict)effect, q, q->path, false) ||
		    (two && naive_any(p, (enum verdict)effect, q, other, true)))
			return effect == VERDICT_DENY ? DENIED : ASKED;
	if (naive_any(p, VERDICT_ALLOW, q, q->path, false) &&
	    (!two || naive_any(p, VERDICT_ALLOW, q, other, true)))
		return ALLOWED;
	return NOTHING;
}

/* The strictest of all readings. */
static enum verdict naive(const struct policy *p, const struct question *q)
{
	char decoded[PATH_CAP], out[2][PATH_CAP];
	struct sv other = naive_other(q->path, decoded);
	struct question bare[2] = { *q, *q };
	enum rank least = naive_once(p, q);

	bare[0].path = naive_bare(q->path, out[0]);
	bare[1].path = naive_bare(other, out[1]);
	for (size_t i = 0; i < 2; i++) {
		enum rank next;

		if (bare[i].path.n == (i ? other.n : q->path.n))
			continue;
		bare[i].bare = true;
		next = naive_once(p, &bare[i]);
		if (next < least)
			least = next;
	}
	return least == ALLOWED ? VERDICT_ALLOW :
	       least == ASKED ? VERDICT_ASK : VERDICT_DENY;
}

static bool question_of(struct sv v, struct question *ret)
{
	struct question q = { .method = sv_head(v, sv_find(v, ' ')) };
	uint64_t port;
	size_t at;

	v = sv_from(v, q.method.n + 1);
	q.tls = sv_starts(v, SV("https://"));
	if (!q.tls && !sv_starts(v, SV("http://")))
		return false;
	v = sv_from(v, q.tls ? 8 : 7);
	q.port = q.tls ? 443 : 80;
	q.host = sv_head(v, sv_find(v, '/'));
	v = sv_from(v, q.host.n);
	at = sv_find(q.host, ':');
	if (at < q.host.n &&
	    sv_to_u64(sv_from(q.host, at + 1), 65535, &port) && port) {
		q.port = (uint16_t)port;
		q.host = sv_head(q.host, at);
	}
	q.path = sv_head(v, sv_find(v, '?'));
	q.has_query = q.path.n < v.n;
	q.query = sv_from(v, q.path.n + 1);
	*ret = q;
	return q.path.n <= PATH_CAP;
}

/* The suggested statement must parse, and permit the request. */
static void check_suggestion(struct policy *p, const struct question *q,
			     const struct answer *answer)
{
	struct policy_source s = {
		.name = SV("s"), .text = answer->allow_with, .base = SV("/"),
	};
	struct answer after;
	struct err e = { 0 };

	if (answer->allow_with.n == 0)
		return;
	if (answer->verdict != VERDICT_DENY || answer->rule ||
	    policy_parse(p, &s, &e) < 0 ||
	    match_request(p, q, &p->arena, &after, &e) < 0 ||
	    after.verdict != VERDICT_ALLOW)
		abort();
}

static void ask(struct policy *p, struct sv line)
{
	struct question q;
	struct answer answer;
	struct err e = { 0 };

	if (!question_of(line, &q))
		return;
	if (match_request(p, &q, &p->arena, &answer, &e) < 0)
		return;
	if (answer.verdict != naive(p, &q))
		abort();
	check_suggestion(p, &q, &answer);
}

/* Patterns that the naive matcher would take too long for. */
static bool is_small(const struct policy *p)
{
	for (size_t i = 0; i < p->rules_n; i++) {
		unsigned stars = 0;

		for (size_t j = 0; j < p->rules[i].path.n; j++)
			stars += p->rules[i].path.p[j] == '*';
		if (stars > 6 || p->rules[i].path.n > PATH_CAP)
			return false;
	}
	return p->rules_n <= RULES_CAP;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sv input = sv_of((const char *)data, n);
	size_t cut = sv_find_sv(input, SV("\n--\n"));
	struct policy p = policy_new();
	struct policy_source s = {
		.name = SV("f"), .text = sv_head(input, cut), .base = SV("/"),
	};
	struct sv rest = sv_from(input, cut + 4);
	struct err e = { 0 };

	if (n <= INPUT_MAX && policy_parse(&p, &s, &e) == 0 &&
	    policy_check(&p, &e) == 0 && is_small(&p)) {
		while (rest.n) {
			struct sv line = sv_head(rest, sv_find(rest, '\n'));

			ask(&p, line);
			rest = sv_from(rest, line.n + 1);
		}
	}
	policy_free(&p);
	return 0;
}
