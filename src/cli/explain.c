/* SPDX-License-Identifier: Apache-2.0 */
/* Why a request is decided so, rule by rule: see explain.h. */
#include "explain.h"

#include "canonical.h"
#include "own.h"
#include "policy_verbs.h"
#include "query.h"
#include "statement.h"

/* The path's readings: as it is written, and with %2F as a separator.  Those without
 * parameters are requests of their own. */
struct readings {
	struct sv other;	/* .p NULL: there is none such */
	char text[URLPATTERN_PATH_MAX];
};

static void find_readings(const struct question *q, struct readings *ret)
{
	ret->other = q->path.n > sizeof ret->text ? (struct sv){ 0 } :
		     urlpattern_other_reading(q->path, ret->text);
}

/* Why the query has more than one reading, or NULL. */
static const char *query_doubt(const struct question *q)
{
	return q->has_query ? query_difference(SV("*"), q->query) : NULL;
}

static const char *query_reason(const struct rule *r, const struct question *q)
{
	if (!q->has_query)
		return "there is none";
	if (r->effect == VERDICT_ALLOW)
		return query_difference(r->query, q->query);
	return "in no reading it has all pairs of the rule";
}

/* The parts of a request, and of a rule that does not match it. */
static const struct {
	unsigned part;
	const char *name, *what;
} parts[] = {
	{ MATCH_METHOD, "method", "the method" },
	{ MATCH_PUBLIC, "host", "the host, which is no public name" },
	{ MATCH_PORT, "port", "the port" },
	{ MATCH_PATH, "path", "the path" },
	{ MATCH_PATH_OTHER, "path_other", "the path with %2F as a separator" },
	{ MATCH_QUERY, "query", "the query: " },
};

static bool is_of_host(const struct rule *r, const struct question *q)
{
	return match_host(r->host, q->host);
}

static bool is_met(const struct rule *r, unsigned differs)
{
	const unsigned paths = MATCH_PATH | MATCH_PATH_OTHER;

	/* What restricts needs one reading of the path only. */
	if (r->effect != VERDICT_ALLOW && (differs & paths) != paths)
		differs &= ~paths;
	return differs == 0;
}

static unsigned differs_of(const struct rule *r, const struct question *q)
{
	struct bare_reading bare[BARE_READINGS];
	size_t n = match_bare_readings(q, bare);
	struct readings readings;
	unsigned differs, without;

	find_readings(q, &readings);
	differs = match_difference(r, q, readings.other);
	for (size_t i = 0; i < n; i++) {
		find_readings(&bare[i].q, &readings);
		without = match_difference(r, &bare[i].q, readings.other);
		if (r->effect == VERDICT_ALLOW)
			differs |= without;
		else if (is_met(r, without))
			differs = without;
	}
	return differs;
}

static void put_request(const struct question *q, struct buf *out)
{
	const struct http_request r = {
		.scheme = q->tls ? HTTP_TLS : HTTP_PLAIN, .host = q->host,
		.port = q->port, .path = q->path,
		.has_query = q->has_query, .query = q->query,
	};
	auto_buf struct buf url = buf_new(HTTP_HEAD_MAX);

	request_put_url(&r, &url);
	buf_put_visible(out, q->method);
	buf_putc(out, ' ');
	buf_put_visible(out, buf_sv(&url));
}

static void put_rule(const struct rule *r, struct buf *out)
{
	buf_puts(out, "\n       ");
	buf_put_visible(out, r->text);
	buf_puts(out, " (");
	origin_put(out, &r->origin);
	buf_putc(out, ')');
}

static void put_differences(const struct rule *r, const struct question *q,
			    unsigned differs, struct buf *out)
{
	const char *separator = "not: ";

	buf_puts(out, "\n         ");
	if (is_met(r, differs)) {
		buf_puts(out, "yes");
		return;
	}
	for (size_t i = 0; i < countof(parts); i++) {
		if (!(differs & parts[i].part))
			continue;
		buf_puts(out, separator);
		buf_puts(out, parts[i].what);
		if (parts[i].part == MATCH_QUERY)
			buf_puts(out, query_reason(r, q));
		separator = ", ";
	}
}

void explain_put(const struct policy *p, const struct question *q,
		 struct buf *out)
{
	struct bare_reading bare[BARE_READINGS];
	size_t n = match_bare_readings(q, bare);
	const char *doubt = query_doubt(q);
	struct readings readings;

	find_readings(q, &readings);
	buf_puts(out, "     decided as: ");
	put_request(q, out);
	if (readings.other.p) {
		buf_puts(out, "\n     path also read as: ");
		buf_put_visible(out, readings.other);
	}
	for (size_t i = 0; i < n; i++) {
		buf_puts(out, "\n     path also read as: ");
		buf_put_visible(out, bare[i].q.path);
	}
	if (doubt)
		buf_printf(out, "\n     query read in several ways: %s", doubt);
	buf_puts(out, "\n     rules of this host:");
	for (size_t i = 0; i < p->rules_n; i++) {
		const struct rule *r = &p->rules[i];

		if (!is_of_host(r, q))
			continue;
		put_rule(r, out);
		put_differences(r, q, differs_of(r, q), out);
	}
	buf_putc(out, '\n');
}

static void put_rule_json(const struct rule *r, struct json *j)
{
	auto_buf struct buf origin = buf_new(256);

	origin_put(&origin, &r->origin);
	json_put_sv(j, "rule", r->text);
	json_put_sv(j, "origin", buf_sv(&origin));
}

static void put_parts_json(unsigned differs, struct json *j)
{
	json_open(j, '[');
	for (size_t i = 0; i < countof(parts); i++)
		if (differs & parts[i].part)
			json_str(j, parts[i].name);
	json_close(j, ']');
}

static void put_differences_json(const struct rule *r,
				 const struct question *q, unsigned differs,
				 struct json *j)
{
	json_open(j, '{');
	put_rule_json(r, j);
	json_put_bool(j, "matches", is_met(r, differs));
	json_key(j, "differs");
	put_parts_json(differs, j);
	if (differs & MATCH_QUERY)
		json_put_str(j, "query", query_reason(r, q));
	json_close(j, '}');
}

void explain_put_json(const struct policy *p, const struct question *q,
		      struct json *j)
{
	auto_buf struct buf request = buf_new(HTTP_HEAD_MAX);
	struct bare_reading bare[BARE_READINGS];
	size_t n = match_bare_readings(q, bare);
	const char *doubt = query_doubt(q);
	struct readings readings;

	find_readings(q, &readings);
	put_request(q, &request);
	json_put_sv(j, "decided_as", buf_sv(&request));
	json_key(j, "paths");
	json_open(j, '[');
	json_sv(j, q->path);
	if (readings.other.p)
		json_sv(j, readings.other);
	for (size_t i = 0; i < n; i++)
		json_sv(j, bare[i].q.path);
	json_close(j, ']');
	if (doubt)
		json_put_str(j, "query_doubt", doubt);
	json_key(j, "rules");
	json_open(j, '[');
	for (size_t i = 0; i < p->rules_n; i++)
		if (is_of_host(&p->rules[i], q))
			put_differences_json(&p->rules[i], q,
					     differs_of(&p->rules[i], q), j);
	json_close(j, ']');
}

/* Which of parts[] two requests do not have in common. */
static unsigned pair_difference(const struct question *a,
				const struct question *b)
{
	unsigned differs = 0;

	if (!sv_eq(a->method, b->method))
		differs |= MATCH_METHOD;
	if (!sv_eq(a->host, b->host))
		differs |= MATCH_PUBLIC;
	if (a->port != b->port || a->tls != b->tls)
		differs |= MATCH_PORT;
	if (!sv_eq(a->path, b->path))
		differs |= MATCH_PATH;
	if (a->has_query != b->has_query || !sv_eq(a->query, b->query))
		differs |= MATCH_QUERY;
	return differs;
}

static bool meets(const struct rule *r, const struct question *q)
{
	return is_of_host(r, q) && is_met(r, differs_of(r, q));
}

void explain_put_pair(const struct policy *p, const struct question *a,
		      const struct question *b, struct buf *out)
{
	unsigned differs = pair_difference(a, b);
	const char *separator = "these differ in: ";

	if (!differs) {
		buf_puts(out, "these are the same request\n");
		return;
	}
	for (size_t i = 0; i < countof(parts); i++)
		if (differs & parts[i].part) {
			buf_puts(out, separator);
			buf_puts(out, parts[i].name);
			separator = ", ";
		}
	for (size_t i = 0; i < p->rules_n; i++) {
		bool first = meets(&p->rules[i], a);

		if (first == meets(&p->rules[i], b))
			continue;
		put_rule(&p->rules[i], out);
		buf_puts(out, first ? "\n         the first only" :
				      "\n         the second only");
	}
	buf_putc(out, '\n');
}

void explain_put_pair_json(const struct policy *p, const struct question *a,
			   const struct question *b, struct json *j)
{
	unsigned differs = pair_difference(a, b);

	json_key(j, "differs_from_first");
	put_parts_json(differs, j);
	json_key(j, "decided_otherwise_by");
	json_open(j, '[');
	for (size_t i = 0; i < p->rules_n; i++) {
		bool second = meets(&p->rules[i], b);

		if (second == meets(&p->rules[i], a))
			continue;
		json_open(j, '{');
		put_rule_json(&p->rules[i], j);
		json_put_bool(j, "matches", second);
		json_close(j, '}');
	}
	json_close(j, ']');
}
