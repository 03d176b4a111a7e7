/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical path and the query: each refusal beside an acceptance. */
#include "own.h"
#include "target.h"
#include "tap.h"

static const struct {
	const char *raw, *want;
} accepted[] = {
	{ "/", "/" },
	{ "/a", "/a" },
	{ "/a/", "/a/" },
	{ "/a/b.c/..d/e../...f", "/a/b.c/..d/e../...f" },
	{ "/%61llowed/%7e%2D%2e%5fx", "/allowed/~-._x" },
	{ "/a%2fb", "/a%2Fb" },			/* one segment */
	{ "/@scope%2fname", "/@scope%2Fname" },
	{ "/%40scope%2Fname", "/%40scope%2Fname" },
	{ "/a%20b", "/a%20b" },
	{ "/a;b=c/d", "/a;b=c/d" },
	{ "/a%3bb", "/a%3Bb" },
	{ "/x:y", "/x:y" },
	{ "/x!$&'()*+,=@[]|", "/x!$&'()*+,=@[]|" },
	{ "/%c3%bc", "/%C3%BC" },
	{ "/%e4%bd%a0%e5%a5%bd", "/%E4%BD%A0%E5%A5%BD" },
	{ "/%f0%9f%98%80", "/%F0%9F%98%80" },
	{ "/100%25", "/100%25" },
	{ "/100%25-off", "/100%25-off" },
	{ "/compare/main...topic", "/compare/main...topic" },
	{ "/C%23/What%3f", "/C%23/What%3F" },
};

static const char *const refused[] = {
	"", "a", "*", "?",
	/* dot segments, raw, encoded, with parameters, blanks, more dots */
	"/.", "/..", "/a/.", "/a/..", "/a/../b", "/a/./b", "/../a", "/a/...",
	"/a/%2e%2e/b", "/a/.%2E/b", "/a/%2e/b", "/a/%2e%2e", "/a/%2e./",
	"/a/..;/b", "/a/..;x=y/b", "/a/.;/b", "/a/..%3b/b", "/a/..;",
	"/a/..%20/b", "/a/..+/b", "/a/.%20./b", "/a/%20../b", "/a;/../b",
	/* the second reading of %2F */
	"/a/..%2fb", "/a/..%2Fb", "/a/b%2f..", "/a%2f..%2fb", "/a%2f.%2fb",
	"/a%2f%2fb", "/a/%2fb", "/%2f", "/a%2f", "/a%2f/b", "/a/%2e%2e%2fb",
	"/a%2f..;x",
	/* empty segments */
	"//", "//a", "/a//b", "/a//", "//evil.test/a", "/http://evil.test/",
	/* encoded twice */
	"/a/%252e%252e/b", "/a/..%252fb", "/%252f", "/%2561", "/%25%36%31",
	"/a%2500", "/%25252e", "/%255c", "/%25u002e", "/%25u002f",
	/* backslashes */
	"/a/..\\b", "/a\\b", "/a/..%5cb", "/a%5Cb", "\\a",
	/* controls, NUL, raw bytes that must be escaped */
	"/a%00", "/a%00/../b", "/a%0d%0aX:%20y", "/a%1f", "/a%7f", "/a\tb",
	"/a b", "/a\nb", "/a\rb", "/a\x7f", "/a\"b", "/a<b>", "/a{b}", "/a^b",
	"/a`b", "/\xff/x", "/\xc3\xbc", "/a#b", "/#/../b", "/a?b",
	"/a%c2%80", "/a%c2%9f",
	/* malformed escapes */
	"/%", "/%2", "/%zz", "/%u002e%u002e/b", "/%x41", "/a%2", "/%%41",
	/* ... that become one with what is decoded */
	"/a%%32Fb", "/%%345", "/%%36%31", "/%E2%80%%42e",
	/* not UTF-8: overlong, surrogates, cut short, too large */
	"/%c0%ae%c0%ae/b", "/%c0%af", "/%e0%80%ae", "/%f0%80%80%ae", "/%ff",
	"/%80", "/%c3", "/%c3/", "/%c3a", "/%ed%a0%80", "/%f4%90%80%80",
	"/%e4%bd", "/%f8%88%80%80%80", "/%c1%9c",
	/* what normalises to dots, slashes, percent signs */
	"/a/%ef%bc%8e%ef%bc%8e/b", "/a/%e2%80%a4%e2%80%a4/b", "/a%ef%bc%8fb",
	"/%e2%80%a5/b", "/%e2%80%a6/b", "/a%e2%88%95b", "/a%e2%81%84b",
	"/a%ef%bc%bcb", "/a%ef%b9%a8b", "/%ef%bc%852e", "/%ef%b9%92/b",
	"/%e3%80%82/b", "/%c2%a5",
};

static void test_path_accepted_is_canonical_and_stays_so(void)
{
	for (size_t i = 0; i < countof(accepted); i++) {
		auto_arena struct arena a = arena_new(65536);
		struct sv once = { 0 }, twice = { 0 };
		const char *why = path_canonical(sv_str(accepted[i].raw), &a,
						 &once);

		if (why)
			printf("# %s: %s\n", accepted[i].raw, why);
		CHECK(!why);
		CHECK_SV(once, accepted[i].want);
		CHECK(path_is_canonical(once));
		CHECK(!path_canonical(once, &a, &twice) && sv_eq(once, twice));
	}
}

static void test_path_of_two_readings_is_refused(void)
{
	for (size_t i = 0; i < countof(refused); i++) {
		auto_arena struct arena a = arena_new(65536);
		struct sv path = SV("untouched");

		if (!path_canonical(sv_str(refused[i]), &a, &path))
			printf("# accepted: %s\n", refused[i]);
		CHECK_SV(path, "untouched");
		CHECK(!path_is_canonical(sv_str(refused[i])));
	}
}

static void test_path_with_nul_or_too_long_is_refused(void)
{
	static char longest[HTTP_PATH_MAX + 1];
	auto_arena struct arena a = arena_new(65536);
	struct sv path;

	CHECK(path_canonical(SV("/a\0b"), &a, &path) != NULL);
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	CHECK(!path_canonical(sv_of(longest, HTTP_PATH_MAX), &a, &path));
	CHECK(path_canonical(sv_of(longest, HTTP_PATH_MAX + 1), &a, &path) !=
	      NULL);
}

static void test_path_not_canonical_is_not_taken_for_it(void)
{
	static const char *const other[] = {
		"/%61", "/%2f/", "/a%2fb", "/%c3%bc", "/%7E", "/%C3%bc",
		"/%E4%BD%a0",
	};

	for (size_t i = 0; i < countof(other); i++)
		CHECK(!path_is_canonical(sv_str(other[i])));
}

static void test_query_is_printable_with_valid_escapes(void)
{
	static const char *const good[] = {
		"", "a=b&c", "a[]=1;b", "?", "a=%00%ff%2e", "x=\\\"<>|",
	};
	static const struct sv bad[] = {
		SV("a b"), SV("a#b"), SV("a\tb"), SV("a\0b"), SV("%"),
		SV("%zz"), SV("%u0041"), SV("\xc3\xbc"), SV("a\x7f"),
		SV("a\r\nb"),
	};

	for (size_t i = 0; i < countof(good); i++)
		CHECK(!query_check(sv_str(good[i])));
	for (size_t i = 0; i < countof(bad); i++)
		CHECK(query_check(bad[i]) != NULL);
}

int main(void)
{
	RUN(test_path_accepted_is_canonical_and_stays_so);
	RUN(test_path_of_two_readings_is_refused);
	RUN(test_path_with_nul_or_too_long_is_refused);
	RUN(test_path_not_canonical_is_not_taken_for_it);
	RUN(test_query_is_printable_with_valid_escapes);
	return tap_done();
}
