/* SPDX-License-Identifier: Apache-2.0 */
/* `renew`, `times` and `until` of a secret: read, printed, and refused. */
#include "tap.h"

#include "own.h"
#include "policy_text.h"

#define SECRET "secret A from env for a.example.com as bearer"
#define ALLOW "allow * a.example.com\n"

static const struct {
	const char *written, *printed;
	uint64_t times;
	enum secret_until until;
	uint64_t end;
} good[] = {
	{ "", "", 0, UNTIL_EVER, 0 },
	{ " times 1", " times 1", 1, UNTIL_EVER, 0 },
	{ " add times 1000000000", " add times 1000000000", 1000000000,
	  UNTIL_EVER, 0 },
	{ " until 120s", " until 2m", 0, UNTIL_AFTER, 120000 },
	{ " until 1ms", " until 1ms", 0, UNTIL_AFTER, 1 },
	{ " until 366d", " until 366d", 0, UNTIL_AFTER, 31622400000 },
	{ " times 7 until 30m", " times 7 until 30m", 7, UNTIL_AFTER, 1800000 },
	{ " add until 2026-12-31T18:00:00+01:00",
	  " add until 2026-12-31T17:00:00Z", 0, UNTIL_MOMENT, 1798736400 },
	/* Whether it is over is no matter of the text. */
	{ " times 2 until 1970-01-01T00:00:00Z",
	  " times 2 until 1970-01-01T00:00:00Z", 2, UNTIL_MOMENT, 0 },
};

static const struct { const char *written, *says; } bad[] = {
	{ " times", "the number of requests is missing" },
	{ " times 0", "from 1 to 1000000000, found \"0\"" },
	{ " times 1000000001", "from 1 to 1000000000" },
	{ " times 18446744073709551617", "from 1 to 1000000000" },
	{ " times -1", "from 1 to 1000000000" },
	{ " times 007", "from 1 to 1000000000" },
	{ " times 3x", "from 1 to 1000000000" },
	{ " times 3 times 4", "nothing may follow" },
	{ " times 3 add", "nothing may follow" },
	{ " until 30m times 3", "nothing may follow" },
	{ " until", "the time is missing" },
	{ " until 0", "expected a duration" },
	{ " until 0s", "expected a duration" },
	{ " until 367d", "expected a duration" },
	{ " until 30", "expected a duration" },
	{ " until -30m", "expected a duration" },
	{ " until 99999999999999999999s", "expected a duration" },
	{ " until 2026-12-31", "with its zone" },
	{ " until 2026-12-31T18:00:00", "with its zone" },
	{ " until 2026-02-29T18:00:00Z", "with its zone" },
	{ " until '2026-12-31 18:00:00Z'", "with its zone" },
	{ " until 30m until 2026-12-31T18:00:00Z", "nothing may follow" },
	{ " until 30m 2026-12-31T18:00:00Z", "nothing may follow" },
};

static void test_bounds_are_printed_as_read(void)
{
	for (size_t i = 0; i < countof(good); i++) {
		auto_buf struct buf text = buf_new(512), printed = buf_new(512);
		auto_policy struct policy p;
		struct err e = { 0 };

		buf_printf(&text, ALLOW SECRET "%s", good[i].written);
		buf_printf(&printed, SECRET "%s", good[i].printed);
		CHECK_INT(policy_of(buf_cstr(&text), &p, &e), 0);
		CHECK_INT(p.secrets_n, 1);
		if (p.secrets_n != 1)
			continue;
		CHECK(sv_eq(p.secrets[0].text, buf_sv(&printed)));
		CHECK(p.secrets[0].times == good[i].times);
		CHECK_INT(p.secrets[0].until, good[i].until);
		CHECK(p.secrets[0].end == good[i].end);
	}
}

static void test_what_bounds_nothing_says_why(void)
{
	for (size_t i = 0; i < countof(bad); i++) {
		auto_buf struct buf text = buf_new(512);
		auto_policy struct policy p;
		struct err e = { 0 };
		bool said;

		buf_printf(&text, ALLOW SECRET "%s", bad[i].written);
		said = policy_of(buf_cstr(&text), &p, &e) < 0 &&
		       strstr(e.msg, bad[i].says);
		if (!said)
			printf("# %s\n# got: %s\n", bad[i].written, e.msg);
		CHECK(said);
	}
}

#define COMMAND "secret A from command \"c d\" for a.example.com as bearer"

static const struct { const char *written, *printed; uint64_t renew_ms; }
renewed[] = {
	{ " renew 50m", " renew 50m", 3000000 },
	{ " renew 1s", " renew 1s", 1000 },
	{ " renew 366d", " renew 366d", 31622400000 },
	{ " add renew 3600s times 2 until 1h", " add renew 1h times 2 until 1h",
	  3600000 },
	{ " times 2", " times 2", 0 },
};

static const struct { const char *written, *says; } not_renewed[] = {
	{ COMMAND " renew", "the time is missing" },
	{ COMMAND " renew 0", "from 1s to 366d" },
	{ COMMAND " renew 999ms", "from 1s to 366d" },
	{ COMMAND " renew 367d", "from 1s to 366d" },
	{ COMMAND " renew 50", "from 1s to 366d" },
	{ COMMAND " renew 2026-12-31T18:00:00Z", "from 1s to 366d" },
	{ COMMAND " renew 50m renew 50m", "nothing may follow" },
	{ COMMAND " times 1 renew 50m", "nothing may follow" },
	{ COMMAND " renew 50m add", "nothing may follow" },
	{ SECRET " renew 50m", "only what comes from a command" },
	{ "secret A from file f for a.example.com as bearer renew 50m",
	  "only what comes from a command" },
};

static void test_what_renews_is_printed_as_read(void)
{
	for (size_t i = 0; i < countof(renewed); i++) {
		auto_buf struct buf text = buf_new(512), printed = buf_new(512);
		auto_policy struct policy p;
		struct err e = { 0 };

		buf_printf(&text, ALLOW COMMAND "%s", renewed[i].written);
		buf_printf(&printed, COMMAND "%s", renewed[i].printed);
		CHECK_INT(policy_of(buf_cstr(&text), &p, &e), 0);
		CHECK_INT(p.secrets_n, 1);
		if (p.secrets_n != 1)
			continue;
		CHECK(sv_eq(p.secrets[0].text, buf_sv(&printed)));
		CHECK(p.secrets[0].renew_ms == renewed[i].renew_ms);
	}
}

static void test_what_cannot_be_renewed_says_why(void)
{
	for (size_t i = 0; i < countof(not_renewed); i++) {
		auto_buf struct buf text = buf_new(512);
		auto_policy struct policy p;
		struct err e = { 0 };
		bool said;

		buf_printf(&text, ALLOW "%s", not_renewed[i].written);
		said = policy_of(buf_cstr(&text), &p, &e) < 0 &&
		       strstr(e.msg, not_renewed[i].says);
		if (!said)
			printf("# %s\n# got: %s\n", not_renewed[i].written, e.msg);
		CHECK(said);
	}
}

/* The same twice is one; another bound of the same secret is no second one. */
static void test_two_bounds_contradict(void)
{
	auto_policy struct policy same, other;
	struct err e = { 0 };

	CHECK_INT(policy_of(ALLOW SECRET " until 60s\n" SECRET " until 1m\n",
			    &same, &e), 0);
	CHECK_INT(same.secrets_n, 1);
	CHECK_INT(policy_of(ALLOW SECRET " times 3\n" SECRET "\n", &other, &e),
		  -1);
	CHECK(strstr(e.msg, "contradicts") != NULL);
}

int main(void)
{
	RUN(test_bounds_are_printed_as_read);
	RUN(test_what_bounds_nothing_says_why);
	RUN(test_what_renews_is_printed_as_read);
	RUN(test_what_cannot_be_renewed_says_why);
	RUN(test_two_bounds_contradict);
	return tap_done();
}
