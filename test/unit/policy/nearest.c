/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest word. */
#include "tap.h"

#include "nearest.h"

static struct sv nearest_of(const char *word)
{
	struct nearest n = nearest_to(sv_str(word));

	nearest_offer(&n, SV("allow"));
	nearest_offer(&n, SV("read"));
	nearest_offer(&n, SV("reach"));
	nearest_offer(&n, SV("profile"));
	return n.best;
}

static void test_nearest_finds_one_slip(void)
{
	CHECK_SV(nearest_of("allw"), "allow");
	CHECK_SV(nearest_of("lalow"), "allow");
	CHECK_SV(nearest_of("erad"), "read");
	CHECK_SV(nearest_of("rech"), "reach");
	CHECK_SV(nearest_of("porfile"), "profile");
	CHECK_SV(nearest_of("profiles"), "profile");
	CHECK_SV(nearest_of("prof"), "profile");
}

static void test_nearest_leaves_strangers_alone(void)
{
	CHECK(!nearest_of("xyzzy").p);
	CHECK(!nearest_of("").p);
	CHECK(!nearest_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").p);
}

int main(void)
{
	RUN(test_nearest_finds_one_slip);
	RUN(test_nearest_leaves_strangers_alone);
	return tap_done();
}
