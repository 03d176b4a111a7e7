/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/edge/names.c. */
#include "names.h"

#include <stdio.h>

#include "tap.h"

static void test_number_is_stable_and_reversible(void)
{
	struct err e = { 0 };
	struct names *n = names_new(&e);
	uint32_t a = names_number(n, SV("a.example"));
	uint32_t b = names_number(n, SV("b.example"));
	uint8_t v4[4], v6[16];

	CHECK(a && b && a != b);
	CHECK_INT(names_number(n, SV("a.example")), a);
	CHECK_SV(names_get(n, b), "b.example");
	CHECK_SV(names_get(n, NAMES_PROXY), "proxy.stockade");
	names_v4(b, v4);
	names_v6(b, v6);
	CHECK_INT(names_of_v4(v4), b);
	CHECK_INT(names_of_v6(v6), b);
	CHECK(names_get(n, 0).p == NULL);
	CHECK(names_get(n, b + 1).p == NULL);
	names_free(n);
}

static void test_pool_fills_up_and_stays_right(void)
{
	struct err e = { 0 };
	struct names *n = names_new(&e);
	uint32_t given = 1;
	char name[32];

	for (uint32_t i = 0; i < NAMES_MAX + 10; i++) {
		int len = snprintf(name, sizeof name, "n%u.example", i);
		uint32_t number = names_number(n, sv_of(name, (size_t)len));
		uint8_t v4[4], v6[16];

		if (!number)
			continue;
		given++;
		names_v4(number, v4);
		names_v6(number, v6);
		if (names_of_v4(v4) != number || names_of_v6(v6) != number ||
		    !sv_eq(names_get(n, number), sv_str(name)))
			CHECK(false);
	}
	CHECK_INT(given, NAMES_MAX);
	CHECK_INT(names_number(n, SV("n5.example")), 7);
	CHECK_INT(names_number(n, SV("late.example")), 0);
	names_free(n);
}

static void test_addresses_outside_the_ranges_have_no_number(void)
{
	uint8_t below[4] = { 198, 17, 0, 2 }, above[4] = { 198, 20, 0, 2 };
	uint8_t v6[16];

	CHECK_INT(names_of_v4(below), 0);
	CHECK_INT(names_of_v4(above), 0);
	names_v6(5, v6);
	v6[8] = 1;
	CHECK_INT(names_of_v6(v6), 0);
	names_v6(5, v6);
	v6[0] = 0xfc;
	CHECK_INT(names_of_v6(v6), 0);
}

static void test_localhost(void)
{
	CHECK(name_is_localhost(SV("localhost")));
	CHECK(name_is_localhost(SV("a.localhost")));
	CHECK(!name_is_localhost(SV("notlocalhost")));
	CHECK(!name_is_localhost(SV("localhost.example")));
}

int main(void)
{
	RUN(test_number_is_stable_and_reversible);
	RUN(test_pool_fills_up_and_stays_right);
	RUN(test_addresses_outside_the_ranges_have_no_number);
	RUN(test_localhost);
	return tap_done();
}
