/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of requests and uploads: never beyond, in any order of events. */
#include "tap.h"

#include "budget.h"
#include "own.h"
#include "parse.h"

#define auto_policy __attribute__((cleanup(policy_free)))
#define auto_budgets __attribute__((cleanup(budgets_fini)))

static void parse(const char *text, struct policy *ret, struct budgets *b)
{
	struct policy_source s = {
		.name = SV("t"), .text = sv_str(text), .base = SV("/"),
	};
	struct err e = { 0 };

	*ret = policy_new();
	CHECK(policy_parse(ret, &s, &e) == 0 && policy_check(ret, &e) == 0);
	CHECK(budgets_init(b, ret, &e) == 0);
}

static struct budget_ask ask_of(uint32_t conn, const char *host,
				uint64_t head)
{
	return (struct budget_ask){
		.conn = conn, .id = 1, .host = sv_str(host),
		.head_bytes = head,
	};
}

/* The text of the limit that is in the way, or "". */
static const char *take(struct budgets *b, struct budget_ask ask)
{
	const struct budget_rule *reached = NULL;
	struct err e = { 0 };

	if (budgets_take(b, &ask, &reached, &e) < 0)
		return "failed";
	return reached ? reached->text.p : "";
}

#define CHECK_TAKE(b, ask, want) CHECK_SV(sv_str(take((b), (ask))), want)

static void test_requests_of_a_host_and_of_the_run(void)
{
	auto_policy struct policy p;
	auto_budgets struct budgets b;

	parse("limit requests 3\nlimit requests 1 for *.a.example.com", &p, &b);
	CHECK_TAKE(&b, ask_of(1, "x.a.example.com", 9), "");
	CHECK_TAKE(&b, ask_of(2, "y.a.example.com", 9),
		   "limit requests 1 for *.a.example.com");
	CHECK_TAKE(&b, ask_of(3, "b.example.com", 9), "");
	CHECK_TAKE(&b, ask_of(4, "b.example.com", 9), "");
	CHECK_TAKE(&b, ask_of(5, "b.example.com", 9), "limit requests 3");
}

static void test_heads_count_as_upload(void)
{
	auto_policy struct policy p;
	auto_budgets struct budgets b;

	parse("limit upload 1K", &p, &b);
	CHECK_TAKE(&b, ask_of(1, "a.example.com", 1000), "");
	CHECK_TAKE(&b, ask_of(2, "a.example.com", 25), "limit upload 1K");
	CHECK_TAKE(&b, ask_of(3, "a.example.com", 24), "");
	CHECK_TAKE(&b, ask_of(4, "a.example.com", 1), "limit upload 1K");
}

static void test_a_known_length_is_reserved_and_given_back(void)
{
	struct budget_ask ask = ask_of(1, "a.example.com", 24);
	auto_policy struct policy p;
	auto_budgets struct budgets b;
	struct err e = { 0 };

	parse("limit upload 1K", &p, &b);
	ask.body = HTTP_BODY_LENGTH;
	ask.length = 1001;
	CHECK_TAKE(&b, ask, "limit upload 1K");
	ask.length = UINT64_MAX;
	CHECK_TAKE(&b, ask, "limit upload 1K");
	ask.length = 600;
	CHECK_TAKE(&b, ask, "");
	CHECK(budgets_allowance(&b, 1, 1) == 600);
	ask.conn = 2;
	CHECK_TAKE(&b, ask, "limit upload 1K");
	CHECK(budgets_settle(&b, 1, 1, 100, &e) == 0);
	CHECK_TAKE(&b, ask, "");
	CHECK(budgets_left(&b, p.budgets) == 1024 - 24 - 100 - 24 - 600);
	/* Never begun. */
	CHECK(budgets_settle(&b, 2, 1, 0, &e) == 0);
	CHECK(budgets_settle(&b, 2, 1, 0, &e) == 0);
	CHECK(budgets_left(&b, p.budgets) == 1024 - 24 - 100 - 24);
}

static void test_two_uploads_in_steps_never_go_beyond(void)
{
	enum { MAX = 1 << 20 };
	struct budget_ask ask = ask_of(1, "a.example.com", 0);
	auto_policy struct policy p;
	auto_budgets struct budgets b;
	struct err e = { 0 };
	uint64_t one, two;

	parse("limit upload 1M\nlimit upload 2M for a.example.com", &p, &b);
	ask.body = HTTP_BODY_CHUNKED;
	CHECK_TAKE(&b, ask, "");
	ask.conn = 2;
	CHECK_TAKE(&b, ask, "");
	one = budgets_allowance(&b, 1, 1);
	two = budgets_allowance(&b, 2, 1);
	for (int i = 0; i < 4; i++) {
		CHECK(budgets_more(&b, 1, 1, &one, &e) == 0);
		CHECK(budgets_more(&b, 2, 1, &two, &e) == 0);
		CHECK(one + two <= MAX);
	}
	CHECK(one + two == MAX);
	CHECK(budgets_settle(&b, 1, 1, 5, &e) == 0);
	CHECK(budgets_more(&b, 2, 1, &two, &e) == 0);
	CHECK(two <= MAX - 5);
	CHECK(budgets_more(&b, 1, 1, &one, &e) < 0 && e.kind == ERR_PROTO);
	e = (struct err){ 0 };
	CHECK(budgets_settle(&b, 2, 1, two + 1, &e) < 0 &&
	      e.kind == ERR_PROTO);
}

static void test_nothing_is_counted_without_a_limit(void)
{
	struct budget_ask ask = ask_of(1, "a.example.com", 1);
	auto_policy struct policy p;
	auto_budgets struct budgets b;
	auto_buf struct buf text = buf_new(256);

	parse("limit upload 1K for b.example.com", &p, &b);
	ask.body = HTTP_BODY_LENGTH;
	ask.length = UINT64_MAX;
	CHECK_TAKE(&b, ask, "");
	CHECK(budgets_allowance(&b, 1, 1) == UINT64_MAX);
	budgets_put_limit(&b, ask.host, &text);
	CHECK(text.n == 0);
	budgets_put_limit(&b, SV("b.example.com"), &text);
	CHECK_SV(buf_sv(&text), "limit upload 1K for b.example.com (t:1)");
}

static void test_names_count_once_each(void)
{
	struct budget_ask ask = ask_of(1, "x.a.example.com", 1);
	auto_policy struct policy p;
	auto_budgets struct budgets b;

	parse("limit names 1", &p, &b);
	CHECK_TAKE(&b, ask, "");
	ask.by_wildcard = true;
	CHECK_TAKE(&b, ask, "");
	CHECK_TAKE(&b, ask, "");
	ask.host = SV("y.a.example.com");
	CHECK_TAKE(&b, ask, "limit names 1");
	ask.by_wildcard = false;
	CHECK_TAKE(&b, ask, "");
}

int main(void)
{
	RUN(test_requests_of_a_host_and_of_the_run);
	RUN(test_heads_count_as_upload);
	RUN(test_a_known_length_is_reserved_and_given_back);
	RUN(test_two_uploads_in_steps_never_go_beyond);
	RUN(test_nothing_is_counted_without_a_limit);
	RUN(test_names_count_once_each);
	return tap_done();
}
