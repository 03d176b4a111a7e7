/* SPDX-License-Identifier: Apache-2.0 */
/* One text in its many spellings. */
#include "spelling.h"

#include "own.h"
#include "tap.h"

static const struct {
	const char *text, *in;
	size_t len;		/* 0: no match */
} cases[] = {
	{ "a/b+c", "a/b+c", 5 },
	{ "a/b+c", "a/b+cd", 5 },
	{ "a/b+c", "a%2Fb%2bc", 9 },
	{ "a/b+c", "%61%2f%62%2B%63", 15 },
	{ "a/b+c", "a%252Fb%252bc", 13 },
	{ "a/b+c", "a\\/b\\u002bc", 11 },
	{ "a/b+c", "\\u0061\\u002F\\x62+c", 18 },
	{ "a/b+c", "a\\\\u002fb\\\\/", 0 },
	{ "a/b+c", "a\\\\/b+c", 7 },
	{ "a/b+c", "a&#47;b&#x2B;c", 14 },
	{ "a/b+c", "a&#047;b%2b\\u0063", 17 },
	{ "a/b+c", "A/b+c", 0 },
	{ "a/b+c", "a-b_c", 0 },
	{ "a/b+c", "a%2Eb+c", 0 },
	{ "a%25b", "a%25b", 5 },
	{ "a%25b", "a%2525b", 7 },
	{ "a\\b\"", "a\\b\"", 4 },
	{ "a\\b\"", "a\\\\b\\\"", 6 },
	{ "a&b", "a&b", 3 },
	{ "a&b", "a&amp;b", 7 },
	{ "a&amp;b", "a&amp;b", 7 },
	{ "a%b/c", "a%b\\/c", 6 },
	{ "a<b>", "a&lt;b&gt;", 10 },
};

static void test_spelling_of_each_kind_is_matched(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		struct spelling s = spelling_of(sv_str(cases[i].text));
		size_t len = 0;
		enum spelled r = spelling_match(&s, sv_str(cases[i].in), true,
						&len);

		if ((r == SPELLED_YES) != (cases[i].len != 0))
			printf("# %s in %s\n", cases[i].text, cases[i].in);
		CHECK((r == SPELLED_YES) == (cases[i].len != 0));
		if (r == SPELLED_YES)
			CHECK_INT(len, cases[i].len);
	}
}

static void test_spelling_cut_short_is_part_of_one(void)
{
	for (size_t i = 0; i < countof(cases); i++)
		for (size_t n = 0; n < cases[i].len; n++) {
			struct spelling s = spelling_of(sv_str(cases[i].text));
			struct sv in = sv_head(sv_str(cases[i].in), n);
			size_t len;

			if (cases[i].len == strlen(cases[i].in))
				CHECK_INT(spelling_match(&s, in, false, &len),
					  SPELLED_PART);
		}
}

static void test_spelling_begins_with_one_of_its_openings(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		struct spelling s = spelling_of(sv_str(cases[i].text));
		char pairs[SPELLING_OPENINGS][2];
		size_t n = spelling_openings(&s, pairs);
		bool found = false;

		for (size_t k = 0; k < n; k++)
			found |= memcmp(pairs[k], cases[i].in, 2) == 0;
		CHECK(n <= SPELLING_OPENINGS);
		CHECK(found || cases[i].len == 0);
	}
}

static void check_opening(const struct spelling *s, const char *want)
{
	char pairs[SPELLING_OPENINGS][2];
	size_t n = spelling_openings(s, pairs), found = 0;

	for (size_t i = 0; i < n; i++)
		found += memcmp(pairs[i], want, 2) == 0;
	CHECK(n <= SPELLING_OPENINGS);
	CHECK(found);
}

static void test_spelling_folds_case_and_alphabets_when_told(void)
{
	struct spelling folded = spelling_of(SV("Ab1"));
	struct spelling url = spelling_of(SV("a+b/"));
	size_t len;

	folded.fold = true;
	url.url64 = true;
	CHECK_INT(spelling_match(&folded, SV("aB1"), true, &len), SPELLED_YES);
	CHECK_INT(spelling_match(&folded, SV("%41%62" "1"), true, &len),
		  SPELLED_YES);
	CHECK_INT(spelling_match(&folded, SV("ab2"), true, &len), SPELLED_NO);
	check_opening(&folded, "ab");
	check_opening(&folded, "AB");
	check_opening(&folded, "aB");
	check_opening(&folded, "a%");
	CHECK_INT(spelling_match(&url, SV("a-b_"), true, &len), SPELLED_YES);
	CHECK_INT(spelling_match(&url, SV("a+b%2F"), true, &len), SPELLED_YES);
	CHECK_INT(spelling_match(&url, SV("a_b-"), true, &len), SPELLED_NO);
}

static void test_base64_digits_are_those_inside_any_text(void)
{
	char digits[64];

	/* "xSECRETy" at the three alignments: c Qu VFJFU UNSRVR ... */
	CHECK_SV(sv_of(digits, spelling_base64(SV("SECRET"), 0, digits)),
		 "U0VDUkVU");
	CHECK_SV(sv_of(digits, spelling_base64(SV("SECRET"), 1, digits)),
		 "NFQ1JFV");
	CHECK_SV(sv_of(digits, spelling_base64(SV("SECRET"), 2, digits)),
		 "TRUNSRV");
	CHECK_INT(spelling_base64(SV(""), 0, digits), 0);
}

int main(void)
{
	RUN(test_spelling_of_each_kind_is_matched);
	RUN(test_spelling_cut_short_is_part_of_one);
	RUN(test_spelling_begins_with_one_of_its_openings);
	RUN(test_spelling_folds_case_and_alphabets_when_told);
	RUN(test_base64_digits_are_those_inside_any_text);
	return tap_done();
}
