/* SPDX-License-Identifier: Apache-2.0 */
/* What a field may be, and lists. */
#include "field.h"

#include "own.h"
#include "tap.h"

static void test_names_are_lower_case_tokens(void)
{
	CHECK(is_field_name(SV("x-a_b.c!#$%&'*+^`|~1")));
	CHECK(!is_field_name(SV("X-A")));
	CHECK(!is_field_name(SV("")));
	CHECK(is_token(SV("X-A")));
	for (unsigned c = 0; c < 256; c++) {
		char byte = (char)c;
		bool want = c > ' ' && c < 127 &&
			    !strchr("\"(),/:;<=>?@[\\]{}", (int)c);

		CHECK(is_token(sv_of(&byte, 1)) == want);
	}
}

static void test_values_have_no_controls_and_no_outer_blanks(void)
{
	CHECK(is_field_value(SV("")));
	CHECK(is_field_value(SV("a b\tc \xff")));
	CHECK(!is_field_value(SV(" a")));
	CHECK(!is_field_value(SV("a\t")));
	CHECK(!is_field_value(SV("a\0b")));
	CHECK(!is_field_value(SV("a\rb")));
	CHECK(!is_field_value(SV("a\nb")));
	CHECK(!is_field_value(SV("a\x7f")));
	CHECK(!is_field_value(SV("a\x1b")));
}

static void test_other_separators_count_as_hyphens_where_it_matters(void)
{
	CHECK(field_is_hop(SV("transfer-encoding")));
	CHECK(field_is_hop(SV("transfer_encoding")));
	CHECK(field_is_hop(SV("close")));
	CHECK(!field_is_hop(SV("transfer-encodings")));
	CHECK(field_is_override(SV("x-http_method-override")));
	CHECK(!field_is_override(SV("x-forwarded-for")));
	CHECK(field_is_protected(SV("x_api_key")));
	CHECK(!field_is_protected(SV("x-hop")));
	CHECK(field_is_alias(SV("x_api-key"), SV("x-api_key")));
	CHECK(!field_is_alias(SV("x-api-key"), SV("x-api-keys")));
	CHECK(field_is_alias(SV("x-api-key"), SV("x.api~key")));
	CHECK(!field_is_alias(SV("x-api-key"), SV("xaapi-key")));
	CHECK(!field_is_alias(SV("x-api-key"), SV("x1api-key")));
	CHECK(field_is_override(SV("x.http!method'override")));
	CHECK(field_is_misspelt(SV("content.length")));
	CHECK(field_is_misspelt(SV("x_api-key")));
	CHECK(!field_is_misspelt(SV("x-api-key")));
	CHECK(!field_is_misspelt(SV("x.other_one")));
}

static void test_list_elements_are_trimmed_and_empty_ones_skipped(void)
{
	struct sv rest = SV(" , a,\tb c ,,d"), item;

	CHECK(list_next(&rest, &item));
	CHECK_SV(item, "a");
	CHECK(list_next(&rest, &item));
	CHECK_SV(item, "b c");
	CHECK(list_next(&rest, &item));
	CHECK_SV(item, "d");
	CHECK(!list_next(&rest, &item));
	CHECK(list_has(SV("x, CLOSE"), SV("close")));
	CHECK(!list_has(SV("xclose, close x"), SV("close")));
}

static void test_first_field_of_a_name_is_found(void)
{
	struct http_field v[] = {
		{ SV("a"), SV("1") }, { SV("b"), SV("2") }, { SV("b"), SV("3") },
	};
	struct http_fields f = { v, countof(v) };

	CHECK_SV(http_field_get(&f, SV("b")), "2");
	CHECK(http_field_get(&f, SV("c")).p == NULL);
}

int main(void)
{
	RUN(test_names_are_lower_case_tokens);
	RUN(test_values_have_no_controls_and_no_outer_blanks);
	RUN(test_other_separators_count_as_hyphens_where_it_matters);
	RUN(test_list_elements_are_trimmed_and_empty_ones_skipped);
	RUN(test_first_field_of_a_name_is_found);
	return tap_done();
}
