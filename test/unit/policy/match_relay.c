/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions on relays, and what may not stand beside them. */
#include "tap.h"

#include "match_relay.h"
#include "own.h"
#include "policy_text.h"

enum { DENY = VERDICT_DENY, ASK = VERDICT_ASK, ALLOW = VERDICT_ALLOW };

/* "tcp host:port" */
static struct relay_question question_of(const char *text)
{
	struct sv v = sv_str(text);
	struct relay_question q = {
		.kind = sv_starts(v, SV("tls ")) ? RELAY_TLS : RELAY_TCP,
	};
	uint64_t port = 0;
	size_t at;

	v = sv_from(v, 4);
	at = sv_find(v, ':');
	q.host = sv_head(v, at);
	CHECK(sv_to_u64(sv_from(v, at + 1), 65535, &port));
	q.port = (uint16_t)port;
	return q;
}

static const struct {
	const char *policy, *relay;
	int verdict;
	bool opaque;
	const char *allow_with;
} cases[] = {
	{ "", "tcp a.ex.test:22", DENY, false, "allow tcp a.ex.test:22" },
	{ "allow tcp a.ex.test:22", "tcp a.ex.test:22", ALLOW, true, "" },
	{ "allow tcp a.ex.test:22", "tcp a.ex.test:23", DENY, false,
	  "allow tcp a.ex.test:23" },
	{ "allow tcp a.ex.test:22", "tcp b.ex.test:22", DENY, false,
	  "allow tcp b.ex.test:22" },
	{ "allow tcp a.ex.test:22", "tls a.ex.test:22", DENY, false,
	  "allow tls a.ex.test:22" },
	{ "allow tls a.ex.test", "tls a.ex.test:443", ALLOW, true, "" },
	{ "allow tls a.ex.test", "tcp a.ex.test:443", DENY, false,
	  "allow tcp a.ex.test:443" },
	{ "allow tls a.ex.test:8443", "tls a.ex.test:443", DENY, false,
	  "allow tls a.ex.test:443" },
	{ "allow tcp *.a.ex.test:22", "tcp b.a.ex.test:22", ALLOW, true, "" },
	{ "allow tcp *.a.ex.test:22", "tcp a.ex.test:22", DENY, false,
	  "allow tcp a.ex.test:22" },
	{ "allow tcp *:22", "tcp a.ex.test:22", ALLOW, true, "" },
	{ "allow tcp *:22", "tcp localhost:22", DENY, false, "" },
	{ "allow tcp *:22", "tcp db.internal:22", DENY, false, "" },
	{ "allow tcp db.internal:22", "tcp db.internal:22", ALLOW, true, "" },
	{ "reach db.internal via 127.0.0.1:1", "tcp db.internal:22", DENY, false,
	  "allow tcp db.internal:22" },
	/* deny > ask > allow */
	{ "allow tcp a.ex.test:22\ndeny tcp a.ex.test", "tcp a.ex.test:22", DENY, true,
	  "" },
	{ "allow tcp a.ex.test:22\ndeny tcp a.ex.test:23", "tcp a.ex.test:22", ALLOW,
	  true, "" },
	{ "allow tcp a.ex.test:22\nask tcp *.ex.test", "tcp a.ex.test:22", ASK, true, "" },
	{ "ask tcp *.ex.test", "tcp a.ex.test:9", ASK, true, "" },
	{ "allow tcp a.ex.test:22\nask tcp *.ex.test\ndeny tcp a.ex.test:22",
	  "tcp a.ex.test:22", DENY, true, "" },
	/* what is denied as tls could be carried as tcp; not the reverse */
	{ "allow tcp a.ex.test:443\ndeny tls a.ex.test", "tcp a.ex.test:443", DENY, true,
	  "" },
	{ "allow tls a.ex.test\ndeny tcp a.ex.test", "tls a.ex.test:443", ALLOW, true,
	  "" },
	/* nothing at all */
	{ "allow tcp a.ex.test:22\ndeny * a.ex.test", "tcp a.ex.test:22", DENY, true, "" },
	{ "allow tls a.ex.test\ndeny * *.ex.test/**", "tls a.ex.test:443", DENY, true,
	  "" },
	{ "allow tcp a.ex.test:22\ndeny * a.ex.test:443", "tcp a.ex.test:22", ALLOW, true,
	  "" },
	/* where requests are decided, this is not suggested */
	{ "allow GET a.ex.test/x", "tls a.ex.test:443", DENY, false, "" },
	{ "allow GET a.ex.test/x", "tcp a.ex.test:22", DENY, false,
	  "allow tcp a.ex.test:22" },
};

static void test_match_relay_table(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		struct relay_question q = question_of(cases[i].relay);
		auto_arena struct arena a = arena_new(1 << 16);
		auto_policy struct policy p;
		struct relay_answer answer;
		struct err e = { 0 };

		if (policy_of(cases[i].policy, &p, &e) < 0)
			printf("# %s\n", e.msg);
		CHECK_INT(e.kind, ERR_NONE);
		CHECK_INT(match_relay(&p, &q, &a, &answer, &e), 0);
		if ((int)answer.verdict != cases[i].verdict)
			printf("# %s | %s\n", cases[i].policy, cases[i].relay);
		CHECK_INT(answer.verdict, cases[i].verdict);
		CHECK_INT(answer.opaque, cases[i].opaque);
		CHECK_SV(answer.allow_with, cases[i].allow_with);
		CHECK(answer.reason.n > 0);
		CHECK_INT(answer.rule.n > 0, answer.origin != NULL);
	}
}

static void test_match_relay_full_arena_denies(void)
{
	struct relay_question q = question_of("tcp a.ex.test:22");
	auto_arena struct arena a = arena_new(16);
	auto_policy struct policy p;
	struct relay_answer answer = { .verdict = VERDICT_ALLOW };
	struct err e = { 0 };

	CHECK_INT(policy_of("allow tcp a.ex.test:22", &p, &e), 0);
	CHECK_INT(match_relay(&p, &q, &a, &answer, &e), -1);
	CHECK_INT(answer.verdict, VERDICT_DENY);
	CHECK_INT(e.kind, ERR_LIMIT);
}

/* Each is an error in either order; the last ones are none. */
static const char *const beside[][2] = {
	{ "allow tls a.ex.test", "allow GET a.ex.test/x" },
	{ "allow tls a.ex.test", "allow GET *" },
	{ "allow tls a.ex.test", "ask * a.ex.test" },
	{ "allow tls a.ex.test", "deny GET a.ex.test" },
	{ "allow tls a.ex.test", "deny * a.ex.test/x" },
	{ "allow tls *.a.ex.test", "allow GET b.a.ex.test" },
	{ "allow tls b.a.ex.test", "allow GET *.a.ex.test" },
	{ "allow tls *.b.a.ex.test", "allow GET *.a.ex.test" },
	{ "allow tcp a.ex.test:80", "allow GET a.ex.test" },
	{ "allow tcp a.ex.test:8080", "allow GET a.ex.test:8080" },
	{ "ask tcp a.ex.test", "allow GET a.ex.test" },
	{ "allow tcp a.ex.test:443", "allow tls a.ex.test" },
	{ "allow tcp *:443", "ask tls a.ex.test" },
	{ "allow tls a.ex.test", "allow GET a.ex.test\n"
	  "secret T from env for a.ex.test as bearer" },
};

static const char *const fine[] = {
	"allow tcp a.ex.test:22\nlimit upload 5M", "allow tcp *:22\nlimit names 9",
	"allow tls a.ex.test\nlimit requests 9 for *.ex.test",
	"allow tls a.ex.test\nallow GET b.ex.test", "allow tls a.ex.test\ndeny * a.ex.test",
	"allow tcp a.ex.test:22\nallow GET a.ex.test", "deny tls a.ex.test\nallow GET a.ex.test",
	"allow tls a.ex.test\nallow GET a.ex.test:8443", "deny tcp *\nallow GET *",
	"allow tcp a.ex.test:22\nallow tls a.ex.test",
	"allow tls *.a.ex.test\nallow GET a.ex.test",
	"allow tcp a.ex.test:22\nask tcp a.ex.test",
};

static void test_relays_check_nothing_beside_them(void)
{
	for (size_t i = 0; i < 2 * countof(beside); i++) {
		auto_buf struct buf text = buf_new(1024);
		auto_policy struct policy p;
		struct err e = { 0 };

		buf_printf(&text, "%s\n%s", beside[i / 2][i % 2],
			   beside[i / 2][!(i % 2)]);
		buf_putc(&text, '\0');
		if (policy_of(text.p, &p, &e) == 0)
			printf("# no error: %s\n", text.p);
		CHECK(strstr(e.msg, "is not read") != NULL);
		CHECK(strstr(e.msg, beside[i / 2][0]) != NULL);
	}
	for (size_t i = 0; i < countof(fine); i++) {
		auto_policy struct policy p;
		struct err e = { 0 };

		CHECK_INT(policy_of(fine[i], &p, &e), 0);
		if (e.kind)
			printf("# %s\n", e.msg);
	}
}

int main(void)
{
	RUN(test_match_relay_table);
	RUN(test_match_relay_full_arena_denies);
	RUN(test_relays_check_nothing_beside_them);
	return tap_done();
}
