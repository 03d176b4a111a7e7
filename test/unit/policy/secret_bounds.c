/* SPDX-License-Identifier: Apache-2.0 */
/* `times` and `until` of a secret: read, printed, and refused. */
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
	RUN(test_two_bounds_contradict);
	return tap_done();
}
