/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns over paths of files. */
#include "tap.h"

#include "glob.h"
#include "own.h"

static const struct {
	const char *pattern, *path;
	bool match;
} cases[] = {
	{ "/a/*.pem", "/a/x.pem", true }, { "/a/*.pem", "/a/b/x.pem", false },
	{ "/a/**/*.pem", "/a/x.pem", true },
	{ "/a/**/*.pem", "/a/b/c/x.pem", true },
	{ "/a/**/*.pem", "/b/x.pem", false },
	{ "/a/?", "/a/b", true }, { "/a/?", "/a/bc", false },
	{ "/a/[a-c]x", "/a/bx", true }, { "/a/[!a-c]x", "/a/bx", false },
	{ "/a/[*]", "/a/*", true }, { "/a/[*]", "/a/b", false },
	{ "/a/*", "/a/.hidden", true }, { "/a/**", "/b", false },
	{ "/**/b/**/c", "/a/b/x/b/c", true },
	{ "/a*b*c", "/axxbyyc", true }, { "/a*b*c", "/axxcyyb", false },
};

static void test_glob_match_table(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		bool got = glob_match(sv_str(cases[i].pattern),
				      sv_str(cases[i].path));

		if (got != cases[i].match)
			printf("# %s %s\n", cases[i].pattern, cases[i].path);
		CHECK_INT(got, cases[i].match);
	}
}

static void test_glob_match_shown_needs_a_dot_for_a_dot(void)
{
	CHECK(glob_match_shown(SV("/a/*"), SV("/a/b")));
	CHECK(!glob_match_shown(SV("/a/*"), SV("/a/.b")));
	CHECK(!glob_match_shown(SV("/a/?b"), SV("/a/.b")));
	CHECK(!glob_match_shown(SV("/a/[.]b"), SV("/a/.b")));
	CHECK(glob_match_shown(SV("/a/.*"), SV("/a/.b")));
	CHECK(glob_match_shown(SV("/a/**/b"), SV("/a/c/d/b")));
	CHECK(!glob_match_shown(SV("/a/**/b"), SV("/a/c/.d/b")));
	CHECK(!glob_match_shown(SV("/a/**"), SV("/a/c/.d")));
	CHECK(glob_match_shown(SV("/a/**/.d/b"), SV("/a/c/.d/b")));
	CHECK(!glob_match_shown(SV("/a/**/.d/*"), SV("/a/.c/.d/b")));
	CHECK(glob_may_show_below(SV("/a/**/y"), SV("/a/b")));
	CHECK(!glob_may_show_below(SV("/a/**/y"), SV("/a/.b")));
	CHECK(glob_may_show_below(SV("/a/**/.b/y"), SV("/a/.b")));
	CHECK(!glob_may_show_below(SV("/a/*/y"), SV("/a/.b")));
}

static void test_glob_may_match_below_leads_to_matches(void)
{
	CHECK(glob_may_match_below(SV("/a/*/c"), SV("/a/b")));
	CHECK(glob_may_match_below(SV("/a/**/c"), SV("/a/b/d")));
	CHECK(!glob_may_match_below(SV("/a/*/c"), SV("/b")));
	CHECK(!glob_may_match_below(SV("/a/*/c"), SV("/a/b/c")));
}

int main(void)
{
	RUN(test_glob_match_table);
	RUN(test_glob_match_shown_needs_a_dot_for_a_dot);
	RUN(test_glob_may_match_below_leads_to_matches);
	return tap_done();
}
