/* SPDX-License-Identifier: Apache-2.0 */
/* Queries in rules: what permits wants one reading, what restricts has all. */
#include "tap.h"

#include "buf.h"
#include "own.h"
#include "query.h"

/* Does `allow ...?pattern` take it, and does `deny ...?pattern`? */
static const struct {
	const char *pattern, *query;
	bool allow, deny;
} cases[] = {
	{ "a=1&b=2", "a=1&b=2", true, true },
	{ "a=1&b=2", "b=2&a=1", true, true },
	{ "a=1&b=2", "a=1", false, false },
	{ "a=1&b=2", "b=1&a=2", false, false },
	{ "a=1", "a=1&b=2", false, true },
	{ "a=1&*", "a=1&b=2", true, true },
	{ "a=1&*", "b=2&a=1&c", true, true },
	{ "a=1&*", "a=1", true, true },
	{ "a=1&*", "b=2", false, false },
	{ "a=1", "A=1", false, true },
	{ "a=1&*", "a=1&A=2", false, true },
	{ "a=1&*", "a=1&%41=2", false, true },
	{ "a=1&*", "a=1&b=A", true, true },
	{ "a=x", "a=X", false, false },
	{ "a=*", "a=", true, true },
	{ "a=*", "a=x%26y", true, true },
	{ "a=*", "a", false, true },
	{ "a=", "a=", true, true },
	{ "a=", "a", false, true },
	{ "a", "a", true, true },
	{ "a", "a=", false, true },
	{ "a", "a=1", false, false },
	{ "a=v*.tar", "a=v1.2.tar", true, true },
	{ "a=v*.tar", "a=v1.2.zip", false, false },
	{ "a=%2A", "a=*", true, true },
	{ "a=%2A", "a=x", false, false },
	{ "", "", true, true },
	{ "", "a=1", false, false },
	{ "", "&", false, true },
	{ "*", "", true, true },
	{ "*", "x=1&y", true, true },
	/* encodings of a value */
	{ "a=/x", "a=%2fx", true, true },
	{ "a=x", "a=%78", true, true },
	{ "a=a+b", "a=a+b", true, true },
	{ "a=a%20b", "a=a+b", false, true },
	{ "a=a%2Bb", "a=a+b", false, true },
	{ "a=a+b", "a=a%20b", false, true },
	{ "a=b=c", "a=b=c", true, true },
	/* a key twice */
	{ "a=1", "a=1&a=1", false, true },
	{ "a=1", "a=2&a=1", false, true },
	{ "a=1&*", "a=1&a=2", false, true },
	{ "a=1&*", "a=1&b=1&b=2", false, true },
	{ "a=*", "a=1&a=2", false, true },
	/* an encoded name that decodes to a key */
	{ "a=1", "%61=1", false, true },
	{ "a=1&*", "a=1&%61=2", false, true },
	{ "a=2&*", "a=1&%61=2", false, true },
	{ "a=1&*", "a=1&%2561=2", false, true },
	{ "a=2", "%2561=2", false, true },
	{ "a=2", "%25%36%31=2", false, true },
	{ "a_b=1", "a.b=1", false, true },
	{ "a_b=1&*", "a_b=1&a+b=2", false, true },
	{ "a=1&*", "a=1&+a=2", false, true },
	{ "a=1&*", "a=1&a%00b=2", false, true },
	/* separators */
	{ "a=1", "a=1;b=2", false, true },
	{ "b=2", "a=1;b=2", false, true },
	{ "a=*", "a=1;b=2", false, true },
	{ "a=1&*", "a=1&c=d;e=f", false, true },
	{ "a=1&*", "a=1&c;e", false, true },
	{ "a=1;b=2", "a=1;b=2", true, true },
	{ "a=*", "a=1%3Bb=2", true, true },
	/* arrays */
	{ "a=1", "a[]=1", false, true },
	{ "a=1", "a%5B%5D=1", false, true },
	{ "a=1&*", "a=1&a[x]=2", false, true },
	{ "a=1&*", "a=1&b[]=2", false, true },
	{ "a[]=1", "a[]=1", true, true },
	{ "a[]=1", "a[]=1&a[]=1", false, true },
	/* pairs that are none */
	{ "a=1", "a=1&", false, true },
	{ "a=1", "&a=1", false, true },
	{ "a=1&*", "a=1&&b=2", false, true },
	{ "a=1&*", "a=1&=2", false, true },
};

static void test_query_cases(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		auto_arena struct arena a = arena_new(4096);
		struct sv pattern = { 0 }, query = sv_str(cases[i].query);
		const char *why;

		CHECK(!query_canonical(sv_str(cases[i].pattern), &a,
				       &pattern));
		why = query_difference(pattern, query);
		CHECK(!why == cases[i].allow);
		CHECK(query_may_have(pattern, query) == cases[i].deny);
		if (!why != cases[i].allow ||
		    query_may_have(pattern, query) != cases[i].deny)
			printf("# ?%s %s: %s\n", cases[i].pattern,
			       cases[i].query, why ? why : "permitted");
	}
}

static void test_query_pairs_are_bounded(void)
{
	auto_buf struct buf b = buf_new(4096);

	for (int i = 0; i < QUERY_PAIRS_MAX; i++)
		buf_printf(&b, i ? "&k%d" : "k%d", i);
	CHECK(!query_difference(SV("k0&*"), buf_sv(&b)));
	CHECK(query_may_have(SV("k0"), buf_sv(&b)));
	buf_puts(&b, "&more");
	CHECK(query_difference(SV("k0&*"), buf_sv(&b)));
	CHECK(query_may_have(SV("k0"), buf_sv(&b)));
}

static void test_query_canonical_is_idempotent(void)
{
	static const struct { const char *in, *out; } forms[] = {
		{ "", "" }, { "*", "*" }, { "a=%7e", "a=~" },
		{ "%61=%2f", "a=%2F" }, { "a=*&b&*", "a=*&b&*" },
		{ "a[]=/", "a[]=/" },
	};

	for (size_t i = 0; i < countof(forms); i++) {
		auto_arena struct arena a = arena_new(4096);
		struct sv once = { 0 }, twice = { 0 };

		CHECK(!query_canonical(sv_str(forms[i].in), &a, &once));
		CHECK_SV(once, forms[i].out);
		CHECK(!query_canonical(once, &a, &twice));
		CHECK(sv_eq(once, twice));
	}
}

static void test_query_canonical_refuses(void)
{
	static const char *const words[] = {
		"a b", "a=\x01", "a=\xff", "a#b", "a=%", "a=%0", "a=%zz",
		"&a", "a&", "a&&b", "&*", "a&&*", "=1", "a*=1", "*=1",
		"*&a=1", "a=1&a=2", "a=1&%61=2", "a=1&a[]=2",
	};
	auto_arena struct arena a = arena_new(4096);
	struct sv out;

	for (size_t i = 0; i < countof(words); i++)
		CHECK(query_canonical(sv_str(words[i]), &a, &out));
	CHECK(!query_canonical(SV("a=1"), &a, &out));
}

int main(void)
{
	RUN(test_query_cases);
	RUN(test_query_pairs_are_bounded);
	RUN(test_query_canonical_is_idempotent);
	RUN(test_query_canonical_refuses);
	return tap_done();
}
