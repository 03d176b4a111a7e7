/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of files, lexically. */
#include "tap.h"

#include "filepath.h"
#include "own.h"

static const struct {
	const char *word, *base, *clean;
	bool is_glob;
} clean[] = {
	{ "/a/b", "/w", "/a/b", false },
	{ "a/./b//c/", "/w", "/w/a/b/c", false },
	{ "../../../x", "/w/y", "/x", false },
	{ "/..", "/w", "/", false },
	{ ".", "/", "/", false },
	{ "~", "/w", "/home/u", false },
	{ "~/a", "/w", "/home/u/a", false },
	{ "a~", "/w", "/w/a~", false },
	{ "*.pem", "/w", "/w/*.pem", true },
	{ "**/x", "/w", "/w/**/x", true },
	{ "[ab]?", "/w", "/w/[ab]?", true },
	{ "a[*]b", "/w", "/w/a*b", false },
	{ "[[]x]", "/w", "/w/[x]", false },
	/* the base's own characters stay characters */
	{ "x", "/w[1]*", "/w[1]*/x", false },
	{ "x*", "/w[1]*", "/w[[]1][*]/x*", true },
};

static void test_filepath_clean_table(void)
{
	for (size_t i = 0; i < countof(clean); i++) {
		auto_arena struct arena a = arena_new(1 << 16);
		struct filepath f = { 0 }, again = { 0 };
		const char *fault = filepath_clean(sv_str(clean[i].word),
			sv_str(clean[i].base), SV("/home/u"), &a, &f);

		CHECK(!fault);
		CHECK_SV(f.path, clean[i].clean);
		CHECK_INT(f.is_glob, clean[i].is_glob);
		/* What is written is read as the same, from anywhere. */
		fault = filepath_clean(filepath_written(&f, &a), SV("/other"),
				       (struct sv){ 0 }, &a, &again);
		CHECK(!fault && sv_eq(f.path, again.path));
		CHECK_INT(again.is_glob, f.is_glob);
	}
}

static void test_filepath_clean_refuses(void)
{
	static const char *const words[] = {
		"", "~root", "~root/x", "a[b", "a**b", "x/***", "a*/..",
	};
	auto_arena struct arena a = arena_new(1 << 16);
	struct filepath f;

	for (size_t i = 0; i < countof(words); i++)
		CHECK(filepath_clean(sv_str(words[i]), SV("/w"), SV("/h"), &a,
				     &f) != NULL);
	CHECK(filepath_clean(SV("~"), SV("/w"), (struct sv){ 0 }, &a, &f));
	CHECK(!filepath_clean(SV("~"), SV("/w"), SV("/h"), &a, &f));
	CHECK(filepath_clean(SV("x"), (struct sv){ 0 }, SV("/h"), &a, &f));
}

static void test_filepath_covers_by_segments(void)
{
	struct filepath plain = { .path = SV("/data/db") };
	struct filepath glob = { .path = SV("/data/*.d"), .is_glob = true };
	struct filepath root = { .path = SV("/") };
	size_t n = 0;

	CHECK(filepath_covers(&plain, SV("/data/db"), &n) && n == 8);
	CHECK(filepath_covers(&plain, SV("/data/db/x"), &n) && n == 8);
	CHECK(!filepath_covers(&plain, SV("/data/database"), &n));
	CHECK(!filepath_covers(&plain, SV("/data"), &n));
	CHECK(filepath_covers(&glob, SV("/data/x.d/y/z"), &n) && n == 9);
	CHECK(!filepath_covers(&glob, SV("/data/x/y.d"), &n));
	CHECK(filepath_covers(&root, SV("/a"), &n) && n == 1);
}

static void test_filepath_stem_is_above_every_match(void)
{
	CHECK_SV(filepath_stem(SV("/a/b*/c")), "/a");
	CHECK_SV(filepath_stem(SV("/*")), "/");
	CHECK_SV(filepath_stem(SV("/a/**/c")), "/a");
}

int main(void)
{
	RUN(test_filepath_clean_table);
	RUN(test_filepath_clean_refuses);
	RUN(test_filepath_covers_by_segments);
	RUN(test_filepath_stem_is_above_every_match);
	return tap_done();
}
