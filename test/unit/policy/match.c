/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions on requests: each denial beside an allowance. */
#include "tap.h"

#include "match.h"
#include "own.h"
#include "policy_text.h"

/* "GET https://host:port/path?query" as a question; no checks. */
static struct question question_of(const char *text)
{
	struct sv v = sv_str(text);
	struct question q = { .method = sv_head(v, sv_find(v, ' ')) };
	uint64_t port;
	size_t at;

	v = sv_from(v, q.method.n + 1);
	q.tls = sv_starts(v, SV("https://"));
	v = sv_from(v, q.tls ? 8 : 7);
	q.port = q.tls ? 443 : 80;
	at = sv_find(v, '/');
	q.host = sv_head(v, at);
	v = sv_from(v, at);
	at = sv_find(q.host, ':');
	if (at < q.host.n && sv_to_u64(sv_from(q.host, at + 1), 65535, &port)) {
		q.port = (uint16_t)port;
		q.host = sv_head(q.host, at);
	}
	q.path = sv_head(v, sv_find(v, '?'));
	q.has_query = q.path.n < v.n;
	q.query = q.has_query ? sv_from(v, q.path.n + 1) : (struct sv){ 0 };
	return q;
}

enum { DENY = VERDICT_DENY, ASK = VERDICT_ASK, ALLOW = VERDICT_ALLOW };

static const struct {
	const char *policy, *request;
	int verdict;
} cases[] = {
	{ "", "GET https://a.example.com/", DENY },
	{ "allow GET a.example.com", "GET https://a.example.com/", ALLOW },
	{ "allow GET a.example.com", "GET https://a.example.com/x/y", ALLOW },
	{ "allow GET a.example.com", "HEAD https://a.example.com/", DENY },
	{ "allow GET,HEAD a.example.com", "HEAD https://a.example.com/", ALLOW },
	{ "allow * a.example.com", "BREW https://a.example.com/", ALLOW },
	{ "allow GET a.example.com", "get https://a.example.com/", DENY },
	/* hosts */
	{ "allow GET *.example.com", "GET https://a.example.com/", ALLOW },
	{ "allow GET *.example.com", "GET https://a.b.example.com/", ALLOW },
	{ "allow GET *.example.com", "GET https://example.com/", DENY },
	{ "allow GET *.example.com", "GET https://aexample.com/", DENY },
	{ "allow GET example.com", "GET https://example.com.evil.test/", DENY },
	{ "allow GET *", "GET https://a.example.com/", ALLOW },
	{ "allow GET *", "GET https://localhost/", DENY },
	{ "allow GET *", "GET https://metadata.google.internal/", DENY },
	{ "allow GET *", "GET https://printer/", DENY },
	{ "allow GET localhost", "GET https://localhost/", ALLOW },
	/* parameters */
	{ "allow GET a.example.com\ndeny * a.example.com/admin/**",
	  "GET https://a.example.com/admin;x=1/y", DENY },
	{ "allow GET a.example.com\ndeny * a.example.com/admin/**",
	  "GET https://a.example.com/admin%3Bx/y", DENY },
	{ "allow GET a.example.com\ndeny * a.example.com/admin",
	  "GET https://a.example.com/admin;", DENY },
	{ "allow GET a.example.com\nask * a.example.com/admin/**",
	  "GET https://a.example.com/admin;x=1/y", ASK },
	{ "allow GET a.example.com\ndeny * a.example.com/admin/**",
	  "GET https://a.example.com/administration;x=1/y", ALLOW },
	{ "ask GET a.example.com/p/*.css",
	  "GET https://a.example.com/p/secret;.css", ASK },
	{ "allow GET a.example.com\ndeny * a.example.com/a/b",
	  "GET https://a.example.com/a;x%2Fb", DENY },
	{ "allow GET a.example.com\ndeny * a.example.com/a/b",
	  "GET https://a.example.com/a;x%2Fc", ALLOW },
	{ "allow GET a.example.com\ndeny * a.example.com/a/b",
	  "GET https://a.example.com/a%2Fb;x", DENY },
	{ "allow GET a.example.com/p/*.css",
	  "GET https://a.example.com/p/secret;.css", DENY },
	{ "allow GET a.example.com/p/*.css",
	  "GET https://a.example.com/p/x.css;v=1.css", ALLOW },
	{ "allow GET a.example.com", "GET https://a.example.com/;x/y", DENY },
	{ "allow GET a.example.com", "GET https://a.example.com/y;x/", ALLOW },
	{ "allow GET a.example.com/a;b=c/d",
	  "GET https://a.example.com/a;b=c/d", ALLOW },
	{ "allow GET a.example.com/a;b=c/d",
	  "GET https://a.example.com/a;b=e/d", DENY },
	{ "allow GET a.example.com/a;x%2Fy",
	  "GET https://a.example.com/a;x%2Fy", ALLOW },
	/* ports */
	{ "allow GET a.example.com", "GET http://a.example.com/", ALLOW },
	{ "allow GET a.example.com", "GET https://a.example.com:8443/", DENY },
	{ "allow GET a.example.com", "GET https://a.example.com:80/", DENY },
	{ "allow GET a.example.com", "GET http://a.example.com:443/", DENY },
	{ "allow GET a.example.com:8443", "GET https://a.example.com:8443/",
	  ALLOW },
	{ "allow GET a.example.com:8443", "GET https://a.example.com/", DENY },
	{ "allow GET a.example.com:8443\ndeny * a.example.com",
	  "GET https://a.example.com:8443/", DENY },
	{ "allow GET a.example.com:8443\ndeny * a.example.com:443",
	  "GET https://a.example.com:8443/", ALLOW },
	{ "allow GET a.example.com:8443\nask * a.example.com",
	  "GET https://a.example.com:8443/", ASK },
	/* paths */
	{ "allow GET h.example.com/p/**", "GET https://h.example.com/p/", ALLOW },
	{ "allow GET h.example.com/p/**", "GET https://h.example.com/p/a/b",
	  ALLOW },
	{ "allow GET h.example.com/p/**", "GET https://h.example.com/p", DENY },
	{ "allow GET h.example.com/p/**", "GET https://h.example.com/pp", DENY },
	{ "allow GET h.example.com/p", "GET https://h.example.com/p", ALLOW },
	{ "allow GET h.example.com/p", "GET https://h.example.com/p/", DENY },
	{ "allow GET h.example.com/p", "GET https://h.example.com/P", DENY },
	{ "allow GET h.example.com/*/c", "GET https://h.example.com/a/c",
	  ALLOW },
	{ "allow GET h.example.com/*/c", "GET https://h.example.com/a/b/c",
	  DENY },
	{ "allow GET h.example.com/a/*", "GET https://h.example.com/a/", DENY },
	{ "allow GET h.example.com/**/c", "GET https://h.example.com/a/b/c",
	  ALLOW },
	{ "allow GET h.example.com/**/c", "GET https://h.example.com/c", ALLOW },
	{ "allow POST h.example.com/m/*:go", "POST https://h.example.com/m/x:go",
	  ALLOW },
	{ "allow POST h.example.com/m/*:go", "POST https://h.example.com/m/x:no",
	  DENY },
	{ "allow GET h.example.com/%7Eu", "GET https://h.example.com/~u",
	  ALLOW },
	/* queries */
	{ "allow GET h.example.com/p", "GET https://h.example.com/p?x=1", ALLOW },
	{ "allow GET h.example.com/p?x=1", "GET https://h.example.com/p?x=1",
	  ALLOW },
	{ "allow GET h.example.com/p?x=1", "GET https://h.example.com/p?x=2",
	  DENY },
	{ "allow GET h.example.com/p?x=1", "GET https://h.example.com/p", DENY },
	{ "allow GET h.example.com/p?", "GET https://h.example.com/p", DENY },
	{ "allow GET h.example.com/p?", "GET https://h.example.com/p?", ALLOW },
	{ "allow GET h.example.com/p?x=1&y=*",
	  "GET https://h.example.com/p?y=z&x=1", ALLOW },
	{ "allow GET h.example.com/p?x=1&y=*",
	  "GET https://h.example.com/p?y=z&x=1&w", DENY },
	{ "allow GET h.example.com/p?x=1&*",
	  "GET https://h.example.com/p?y=z&x=1&w", ALLOW },
	{ "allow GET h.example.com/p?x=1&*",
	  "GET https://h.example.com/p?x=1&x=2", DENY },
	{ "allow GET h.example.com\ndeny * h.example.com/**?x=1",
	  "GET https://h.example.com/p?x=2", ALLOW },
	{ "allow GET h.example.com\ndeny * h.example.com/**?x=1",
	  "GET https://h.example.com/p?x=2&%78[]=1", DENY },
	{ "allow GET h.example.com\nask * h.example.com/**?x=1",
	  "GET https://h.example.com/p?a;x=1", ASK },
	/* deny > ask > allow */
	{ "allow * h.example.com\nask POST h.example.com/w/**",
	  "POST https://h.example.com/w/x", ASK },
	{ "allow * h.example.com\nask POST h.example.com/w/**",
	  "GET https://h.example.com/w/x", ALLOW },
	{ "allow * h.example.com\nask * h.example.com\ndeny * *.example.com",
	  "GET https://h.example.com/", DENY },
	/* an encoded slash has two readings */
	/* An encoded character is the character. */
	{ "allow GET h.example.com/**\ndeny * h.example.com/@me/**",
	  "GET https://h.example.com/%40me/x", DENY },
	{ "allow GET h.example.com/**\ndeny * h.example.com/@me/**",
	  "GET https://h.example.com/%40you/x", ALLOW },
	{ "allow GET h.example.com/a%3Ab", "GET https://h.example.com/a:b",
	  ALLOW },
	{ "allow GET h.example.com/*%2B", "GET https://h.example.com/a+", ALLOW },
	{ "allow GET h.example.com/*%2B", "GET https://h.example.com/a%2D",
	  DENY },
	{ "allow GET h.example.com/**", "GET https://h.example.com/@a%2Fb",
	  ALLOW },
	{ "allow GET h.example.com/*", "GET https://h.example.com/@a%2Fb",
	  DENY },
	{ "allow GET h.example.com/*\nallow GET h.example.com/*/*",
	  "GET https://h.example.com/@a%2Fb", ALLOW },
	{ "allow GET h.example.com/@a%2Fb", "GET https://h.example.com/@a%2Fb",
	  ALLOW },
	{ "allow GET h.example.com/@a%2Fb", "GET https://h.example.com/@a/b",
	  DENY },
	{ "allow GET h.example.com/@a/b", "GET https://h.example.com/@a%2Fb",
	  DENY },
	{ "allow GET h.example.com/**\ndeny * h.example.com/admin/**",
	  "GET https://h.example.com/admin%2Fx", DENY },
	{ "allow GET h.example.com/**\ndeny * h.example.com/admin/**",
	  "GET https://h.example.com/user%2Fx", ALLOW },
	{ "allow GET h.example.com/**\nask * h.example.com/admin/**",
	  "GET https://h.example.com/admin%2Fx", ASK },
	{ "allow GET h.example.com/**", "GET https://h.example.com/a%2F..",
	  DENY },
	{ "allow GET h.example.com/**", "GET https://h.example.com/..%2Fa",
	  DENY },
	{ "allow GET h.example.com/**", "GET https://h.example.com/a%2F%2Fb",
	  DENY },
	{ "allow GET h.example.com/**", "GET https://h.example.com/%2Fb", DENY },
	{ "allow GET h.example.com/**", "GET https://h.example.com/a/../b",
	  DENY },
	{ "allow GET h.example.com/**", "GET https://h.example.com/a//b", DENY },
	{ "allow GET h.example.com/**", "GET https://h.example.com/a%2F.b",
	  ALLOW },
};

static struct answer decide(struct policy *p, const char *request)
{
	struct question q = question_of(request);
	struct answer answer = { 0 };
	struct err e = { 0 };

	CHECK_INT(match_request(p, &q, &p->arena, &answer, &e), 0);
	return answer;
}

static void test_match_request_table(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		auto_policy struct policy p;
		struct err e = { 0 };
		struct answer answer;

		CHECK_INT(policy_of(cases[i].policy, &p, &e), 0);
		answer = decide(&p, cases[i].request);
		if ((int)answer.verdict != cases[i].verdict)
			printf("# %s\n# %s\n", cases[i].policy,
			       cases[i].request);
		CHECK_INT(answer.verdict, cases[i].verdict);
		CHECK(answer.reason.n > 0);
		CHECK(answer.verdict == VERDICT_DENY || answer.rule);
		CHECK(answer.verdict == VERDICT_DENY ||
		      answer.allow_with.n == 0);
	}
}

static const struct {
	const char *policy, *request, *reason, *allow_with;
} explained[] = {
	{ "", "POST https://api.example.com/repos/me/x?y",
	  "no rule allows POST api.example.com/repos/me/x",
	  "allow POST api.example.com/repos/me/x" },
	{ "", "GET https://api.example.com:8443/",
	  "no rule allows GET api.example.com:8443/",
	  "allow GET api.example.com:8443/" },
	{ "", "GET http://api.example.com/",
	  "no rule allows GET http://api.example.com/",
	  "allow GET api.example.com/" },
	{ "", "GET https://api.example.com/@a%2Fb",
	  "no rule allows GET api.example.com/@a%2Fb",
	  "allow GET api.example.com/@a%2Fb" },
	{ "", "GET https://api.example.com/it's",
	  "no rule allows GET api.example.com/it's",
	  "allow GET \"api.example.com/it's\"" },
	{ "", "GET https://api.example.com/a*",
	  "no rule allows GET api.example.com/a*", "" },
	{ "deny * *.internal.example/**", "GET https://a.internal.example/",
	  "denied by: deny * *.internal.example/** (t.policy:1)", "" },
	{ "\nask POST a.example.com/x", "POST https://a.example.com/x",
	  "needs approval, and approvals are not available yet: "
	  "ask POST a.example.com/x (t.policy:2)", "" },
	{ "allow GET a.example.com", "GET https://a.example.com/",
	  "allowed by: allow GET a.example.com/** (t.policy:1)", "" },
	{ "", "GET https://localhost/",
	  "no rule allows GET localhost/, and only `reach` could lead to such a local name",
	  "" },
	{ "", "GET https://metadata.google.internal/",
	  "no rule allows GET metadata.google.internal/, "
	  "and only `reach` could lead to such a local name",
	  "" },
	{ "reach db.local via 127.0.0.1:80", "GET https://db.local/",
	  "no rule allows GET db.local/", "allow GET db.local/" },
	{ "", "GET https://127.0.0.1/", "no rule allows GET 127.0.0.1/", "" },
};

static void test_match_request_explains(void)
{
	for (size_t i = 0; i < countof(explained); i++) {
		auto_policy struct policy p;
		struct err e = { 0 };
		struct answer answer;

		CHECK_INT(policy_of(explained[i].policy, &p, &e), 0);
		answer = decide(&p, explained[i].request);
		CHECK_SV(answer.reason, explained[i].reason);
		CHECK_SV(answer.allow_with, explained[i].allow_with);
	}
}

static void test_match_request_suggestion_permits(void)
{
	for (size_t i = 0; i < countof(explained); i++) {
		auto_policy struct policy p;
		struct policy_source s;
		struct err e = { 0 };
		struct answer answer;

		CHECK_INT(policy_of(explained[i].policy, &p, &e), 0);
		answer = decide(&p, explained[i].request);
		if (answer.allow_with.n == 0)
			continue;
		s = source_of("");
		s.text = answer.allow_with;
		CHECK_INT(policy_parse(&p, &s, &e), 0);
		CHECK_INT(decide(&p, explained[i].request).verdict, ALLOW);
	}
}

static void test_match_request_full_arena_denies(void)
{
	auto_policy struct policy p;
	auto_arena struct arena small = arena_new(16);
	struct question q = question_of("GET https://a.example.com/");
	struct answer answer = { .verdict = VERDICT_ALLOW };
	struct err e = { 0 };

	CHECK_INT(policy_of("allow GET a.example.com", &p, &e), 0);
	CHECK_INT(match_request(&p, &q, &small, &answer, &e), -1);
	CHECK_INT(e.kind, ERR_LIMIT);
	CHECK_INT(answer.verdict, VERDICT_DENY);
}

static void test_match_secret_only_at_its_place(void)
{
	static const char text[] =
		"allow * a.example.com\nallow * a.example.com:8443\n"
		"allow * b.example.com\n"
		"secret A from env for a.example.com/v1/**,b.example.com as bearer";
	static const struct { const char *request; bool match; } places[] = {
		{ "GET https://a.example.com/v1/x", true },
		{ "GET https://b.example.com/", true },
		{ "GET https://a.example.com/v2/x", false },
		{ "GET https://a.example.com:8443/v1/x", false },
		{ "GET http://a.example.com/v1/x", false },
		{ "GET https://x.a.example.com/v1/x", false },
		{ "GET https://a.example.com/v1/a%2Fb", true },
		{ "GET https://a.example.com/v1%2Fx", false },
		{ "GET https://a.example.com/v1/x;y", true },
		{ "GET https://a.example.com/v1/;y/x", false },
		{ "GET https://a.example.com/v1/..%2Fx", false },
	};
	auto_policy struct policy p;
	struct err e = { 0 };

	CHECK_INT(policy_of(text, &p, &e), 0);
	for (size_t i = 0; i < countof(places); i++) {
		struct question q = question_of(places[i].request);

		if (match_secret(&p.secrets[0], &q) != places[i].match)
			printf("# %s\n", places[i].request);
		CHECK(match_secret(&p.secrets[0], &q) == places[i].match);
	}
}

static void test_match_reach_prefers_the_port(void)
{
	auto_policy struct policy p;
	struct err e = { 0 };

	CHECK_INT(policy_of("reach a.local via 127.0.0.1:1\n"
			    "reach a.local:80 via 127.0.0.1:2", &p, &e), 0);
	CHECK_SV(match_reach(&p, SV("a.local"), 80)->via, "127.0.0.1:2");
	CHECK_SV(match_reach(&p, SV("a.local"), 443)->via, "127.0.0.1:1");
	CHECK(!match_reach(&p, SV("b.local"), 443));
}

int main(void)
{
	RUN(test_match_request_table);
	RUN(test_match_request_explains);
	RUN(test_match_request_suggestion_permits);
	RUN(test_match_request_full_arena_denies);
	RUN(test_match_secret_only_at_its_place);
	RUN(test_match_reach_prefers_the_port);
	return tap_done();
}
