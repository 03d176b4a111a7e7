/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of request paths. */
#include "tap.h"

#include "own.h"
#include "urlpattern.h"

static void test_urlpattern_canonical_is_idempotent(void)
{
	static const struct { const char *in, *out; } cases[] = {
		{ "/", "/" }, { "/%7e", "/~" }, { "/%41%2f", "/A%2F" },
		{ "/a%20b", "/a%20b" }, { "/a/**", "/a/**" },
		{ "/%c3%a9", "/%C3%A9" }, { "/a/*b*/", "/a/*b*/" },
	};

	for (size_t i = 0; i < countof(cases); i++) {
		auto_arena struct arena a = arena_new(4096);
		struct sv once = { 0 }, twice = { 0 };

		CHECK(!urlpattern_canonical(sv_str(cases[i].in), &a, &once));
		CHECK_SV(once, cases[i].out);
		CHECK(!urlpattern_canonical(once, &a, &twice));
		CHECK(sv_eq(once, twice));
	}
}

static void test_urlpattern_canonical_refuses(void)
{
	static const char *const words[] = {
		"", "a", "/.", "/..", "/%2e", "/a//b", "//", "/%", "/%2",
		"/%0a", "/%7f", "/a b", "/a\\b", "/a\"b", "/***", "/a**",
		"/\xff",
	};
	auto_arena struct arena a = arena_new(4096);
	struct sv out;

	for (size_t i = 0; i < countof(words); i++)
		CHECK(urlpattern_canonical(sv_str(words[i]), &a, &out));
	CHECK(!urlpattern_canonical(SV("/a"), &a, &out));
}

static void test_urlpattern_other_reading_only_with_an_encoded_slash(void)
{
	char out[64];

	CHECK(!urlpattern_other_reading(SV("/a/b"), out).p);
	CHECK_SV(urlpattern_other_reading(SV("/a%2Fb%2Fc"), out), "/a/b/c");
	CHECK_SV(urlpattern_other_reading(SV("/a%20%2F"), out), "/a%20/");
}

static void test_urlpattern_is_clean_table(void)
{
	CHECK(urlpattern_is_clean(SV("/")));
	CHECK(urlpattern_is_clean(SV("/a/")));
	CHECK(urlpattern_is_clean(SV("/...")));
	CHECK(!urlpattern_is_clean(SV("")));
	CHECK(!urlpattern_is_clean(SV("a")));
	CHECK(!urlpattern_is_clean(SV("//")));
	CHECK(!urlpattern_is_clean(SV("/a/.")));
	CHECK(!urlpattern_is_clean(SV("/a/../b")));
}

static void test_urlpattern_match_time_is_bounded(void)
{
	char pattern[4096], path[4096];

	/* An exponential matcher would not end. */
	for (size_t i = 0; i + 3 < sizeof pattern; i += 3)
		memcpy(pattern + i, "/**", 3);
	for (size_t i = 0; i + 2 < sizeof path; i += 2)
		memcpy(path + i, "/a", 2);
	memcpy(pattern + 2997, "/b", 2);
	CHECK(!urlpattern_match(sv_of(pattern, 2999), sv_of(path, 4000)));
	memcpy(path + 3998, "/b", 2);
	CHECK(urlpattern_match(sv_of(pattern, 2999), sv_of(path, 4000)));
}

static void test_urlpattern_bare_is_without_parameters(void)
{
	char out[64];

	CHECK(!urlpattern_bare(SV("/a/b"), out).p);
	CHECK_SV(urlpattern_bare(SV("/a;x=1/b;/c"), out), "/a/b/c");
	CHECK_SV(urlpattern_bare(SV("/a%3Bx%2Fy/b%3A"), out), "/a/b%3A");
	CHECK_SV(urlpattern_bare(SV("/;"), out), "/");
}

int main(void)
{
	RUN(test_urlpattern_canonical_is_idempotent);
	RUN(test_urlpattern_canonical_refuses);
	RUN(test_urlpattern_other_reading_only_with_an_encoded_slash);
	RUN(test_urlpattern_bare_is_without_parameters);
	RUN(test_urlpattern_is_clean_table);
	RUN(test_urlpattern_match_time_is_bounded);
	return tap_done();
}
