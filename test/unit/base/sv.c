/* SPDX-License-Identifier: Apache-2.0 */
/* Views. */
#include "tap.h"

static void test_sv_eq_compares_bytes_not_strings(void)
{
	CHECK(sv_eq(sv_of("a\0b", 3), sv_of("a\0b", 3)));
	CHECK(!sv_eq(sv_of("a\0b", 3), sv_of("a\0c", 3)));
	CHECK(!sv_eq(SV("ab"), SV("abc")));
	CHECK(sv_eq((struct sv){ 0 }, SV("")));
}

static void test_sv_eq_nocase_folds_ascii_only(void)
{
	CHECK(sv_eq_nocase(SV("Host"), SV("hOST")));
	CHECK(!sv_eq_nocase(SV("\xc3\x84"), SV("\xc3\xa4")));
}

static void test_sv_starts_and_ends(void)
{
	CHECK(sv_starts(SV("abc"), SV("ab")));
	CHECK(!sv_starts(SV("ab"), SV("abc")));
	CHECK(sv_ends(SV("abc"), SV("bc")));
	CHECK(!sv_ends(SV("bc"), SV("abc")));
}

static void test_sv_find_absent_is_the_length(void)
{
	CHECK_INT(sv_find(SV("abc"), 'c'), 2);
	CHECK_INT(sv_find(SV("abc"), 'x'), 3);
	CHECK_INT(sv_find_sv(SV("abcabd"), SV("abd")), 3);
	CHECK_INT(sv_find_sv(SV("abc"), SV("abd")), 3);
	CHECK_INT(sv_find_sv(SV("abc"), SV("")), 3);
}

static void test_sv_to_u64_takes_plain_digits_only(void)
{
	const struct { const char *text; bool ok; uint64_t value; } rows[] = {
		{ "0", true, 0 }, { "7", true, 7 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "", false, 0 }, { "01", false, 0 }, { "+1", false, 0 },
		{ "-1", false, 0 }, { " 1", false, 0 }, { "1 ", false, 0 },
		{ "0x1", false, 0 }, { "1a", false, 0 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint64_t value = 0;

		CHECK_INT(sv_to_u64(sv_str(rows[i].text), UINT64_MAX, &value),
			  rows[i].ok);
		CHECK_INT(value, rows[i].value);
	}
}

static void test_sv_to_u64_above_the_maximum_is_refused(void)
{
	uint64_t value = 9;

	CHECK(sv_to_u64(SV("65535"), 65535, &value));
	CHECK(!sv_to_u64(SV("65536"), 65535, &value));
	CHECK_INT(value, 65535);
}

static void test_sv_trim_takes_spaces_and_tabs(void)
{
	CHECK_SV(sv_trim(SV(" \t a b \t")), "a b");
	CHECK_SV(sv_trim(SV(" \t")), "");
	CHECK_SV(sv_trim(SV("\n")), "\n");
}

static void test_sv_cut_takes_what_is_before(void)
{
	struct sv rest = SV("a::b");

	CHECK_SV(sv_cut(&rest, ':'), "a");
	CHECK_SV(sv_cut(&rest, ':'), "");
	CHECK_SV(rest, "b");
	CHECK_SV(sv_cut(&rest, ':'), "b");
	CHECK_SV(rest, "");
}

static void test_sv_is_name_of_plain_characters(void)
{
	CHECK(sv_is_name(SV("a-Z_0.9")));
	CHECK(sv_is_name(SV("")));
	CHECK(!sv_is_name(SV("a\0b")));
	CHECK(!sv_is_name(SV("a/b")));
	CHECK(!sv_is_name(SV("~a")));
	CHECK(!sv_is_name(SV("\xc3\xa4")));
}

static void test_sv_compare_paths_keeps_a_directory_together(void)
{
	CHECK_INT(sv_compare_paths(SV("a/b"), SV("a/b")), 0);
	CHECK(sv_compare_paths(SV("a"), SV("a/b")) < 0);
	CHECK(sv_compare_paths(SV("a/b"), SV("a")) > 0);
	CHECK(sv_compare_paths(SV("a/b"), SV("a!")) < 0);
	CHECK(sv_compare_paths(SV("a!"), SV("a/b")) > 0);
	CHECK(sv_compare_paths(SV("a\xff"), SV("ab")) > 0);
}

int main(void)
{
	RUN(test_sv_eq_compares_bytes_not_strings);
	RUN(test_sv_eq_nocase_folds_ascii_only);
	RUN(test_sv_starts_and_ends);
	RUN(test_sv_find_absent_is_the_length);
	RUN(test_sv_to_u64_takes_plain_digits_only);
	RUN(test_sv_to_u64_above_the_maximum_is_refused);
	RUN(test_sv_trim_takes_spaces_and_tabs);
	RUN(test_sv_cut_takes_what_is_before);
	RUN(test_sv_is_name_of_plain_characters);
	RUN(test_sv_compare_paths_keeps_a_directory_together);
	return tap_done();
}
