/* SPDX-License-Identifier: Apache-2.0 */
/* Unified differences: fixed ones, and random ones that are applied again. */
#include "unified.h"

#include <stdlib.h>

#include "own.h"
#include "tap.h"

static const struct {
	const char *a, *b, *hunks;
} cases[] = {
	{ "", "", "" },
	{ "a\n", "a\n", "" },
	{ "", "a\n", "@@ -0,0 +1 @@\n+a\n" },
	{ "a\n", "", "@@ -1 +0,0 @@\n-a\n" },
	{ "a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n" },
	{ "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n" },
	{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n5\n6\n7\n8\n9\n",
	  "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n" },
	{ "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
	  "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
	  "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n" },
	{ "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
	  "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n" },
};

static void test_hunks(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		auto_buf struct buf b = buf_new(4096);
		struct err e;

		CHECK_INT(unified_put(&b, sv_str(cases[i].a),
				      sv_str(cases[i].b), false, &e), 0);
		CHECK_SV(buf_sv(&b), cases[i].hunks);
	}
}

static void test_a_terminal_is_not_acted_upon(void)
{
	auto_buf struct buf b = buf_new(4096);
	struct err e;

	CHECK_INT(unified_put(&b, SV(""), SV("\tx\x1b[2K\xe2\x80\xae\r\n"),
			      true, &e), 0);
	CHECK_SV(buf_sv(&b), "@@ -0,0 +1 @@\n+\tx\\x1b[2K\\xe2\\x80\\xae\\x0d\n");
}

/* What the rows without `sign` say: the text of the other side. */
static void side_of(struct sv hunks, char sign, struct buf *ret)
{
	while (hunks.n) {
		struct sv line = sv_head(hunks, sv_find(hunks, '\n') + 1);

		hunks = sv_from(hunks, line.n);
		if (line.p[0] != '@' && line.p[0] != sign)
			buf_put(ret, sv_from(line, 1));
	}
}

static void test_random_texts_come_out_again(void)
{
	unsigned seed = 1;

	for (int i = 0; i < 3000; i++) {
		auto_buf struct buf a = buf_new(4096), b = buf_new(4096);
		auto_buf struct buf hunks = buf_new(1 << 16);
		auto_buf struct buf a_side = buf_new(1 << 16);
		auto_buf struct buf b_side = buf_new(1 << 16);
		struct err e;

		/* Short, so that the context has all of it. */
		for (unsigned n = (unsigned)rand_r(&seed) % 7; n; n--)
			buf_printf(&a, "%d\n", rand_r(&seed) % 3);
		for (unsigned n = (unsigned)rand_r(&seed) % 7; n; n--)
			buf_printf(&b, "%d\n", rand_r(&seed) % 3);
		CHECK_INT(unified_put(&hunks, buf_sv(&a), buf_sv(&b), false,
				      &e), 0);
		if (sv_eq(buf_sv(&a), buf_sv(&b))) {
			CHECK_INT(hunks.n, 0);
			continue;
		}
		side_of(buf_sv(&hunks), '+', &a_side);
		side_of(buf_sv(&hunks), '-', &b_side);
		/* At most three equal lines at an end are left out. */
		CHECK(sv_find_sv(buf_sv(&a), buf_sv(&a_side)) < a.n || !a.n);
		CHECK(sv_find_sv(buf_sv(&b), buf_sv(&b_side)) < b.n || !b.n);
		CHECK((int)a.n - (int)b.n == (int)a_side.n - (int)b_side.n);
	}
}

static void test_large_texts_that_differ_wholly(void)
{
	auto_buf struct buf a = buf_new(1 << 20), b = buf_new(1 << 20);
	auto_buf struct buf hunks = buf_new(4 << 20);
	struct err e;

	for (int i = 0; i < 3000; i++) {
		buf_printf(&a, "a%d\n", i);
		buf_printf(&b, "b%d\n", i);
	}
	CHECK_INT(unified_put(&hunks, buf_sv(&a), buf_sv(&b), false, &e), 0);
	CHECK_SV(sv_head(buf_sv(&hunks), 24), "@@ -1,3000 +1,3000 @@\n-a");
	CHECK(unified_is_binary(SV("a\0b")) && !unified_is_binary(SV("ab")));
}

int main(void)
{
	RUN(test_hunks);
	RUN(test_a_terminal_is_not_acted_upon);
	RUN(test_random_texts_come_out_again);
	RUN(test_large_texts_that_differ_wholly);
	return tap_done();
}
