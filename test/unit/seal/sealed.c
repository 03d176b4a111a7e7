/* SPDX-License-Identifier: Apache-2.0 */
#include "sealed.h"

#include "tap.h"

static struct sealed parsed;
static struct err e;

static const struct sealed_cost cost = { .log_n = 14, .r = 8, .p = 1 };

static void put_bytes(struct buf *b, size_t n)
{
	while (n--)
		buf_putc(b, 'x');
}

static void put_entry(struct buf *b, const char *name, size_t n)
{
	sealed_put_name(b, sv_str(name), n);
	put_bytes(b, SEALED_NONCE + n + SEALED_TAG);
}

static void put_head(struct buf *b, const struct sealed_cost *c, size_t n)
{
	sealed_put_front(b, c, SV("0123456789abcdef"));
	put_bytes(b, SEALED_NONCE + SEALED_KEY + SEALED_TAG);
	sealed_put_count(b, n);
}

static void put_close(struct buf *b)
{
	put_bytes(b, SEALED_NONCE + SEALED_TAG);
}

static int parse(const struct buf *b)
{
	e = (struct err){ 0 };
	return sealed_parse(buf_sv(b), &parsed, &e);
}

static void test_parse_what_was_written_is_found(void)
{
	struct buf b = buf_new(SEALED_SIZE_MAX);

	put_head(&b, &cost, 2);
	put_entry(&b, "A", 3);
	put_entry(&b, "B/x@y", 16384);
	put_close(&b);
	CHECK_INT(parse(&b), 0);
	CHECK_INT(parsed.n, 2);
	CHECK_INT(parsed.cost.log_n, 14);
	CHECK_SV(parsed.salt, "0123456789abcdef");
	CHECK(sealed_find(&parsed, SV("A")) == &parsed.entries[0]);
	CHECK(sealed_find(&parsed, SV("B/x@y")) == &parsed.entries[1]);
	CHECK(!sealed_find(&parsed, SV("B")));
	CHECK_INT(parsed.entries[0].box.text.n, 3);
	CHECK_INT(parsed.body.n + SEALED_NONCE + SEALED_TAG, b.n);
	buf_free(&b);
}

static void test_parse_truncated_or_longer_fails(void)
{
	struct buf b = buf_new(4096);

	put_head(&b, &cost, 2);
	put_entry(&b, "A", 3);
	put_entry(&b, "B", 5);
	put_close(&b);
	CHECK_INT(parse(&b), 0);
	for (size_t n = b.n; b.n > 0;) {
		b.n = --n;
		CHECK_INT(parse(&b), -1);
	}
	buf_reset(&b);
	put_head(&b, &cost, 0);
	put_close(&b);
	CHECK_INT(parse(&b), 0);
	buf_putc(&b, 'x');
	CHECK_INT(parse(&b), -1);
	buf_free(&b);
}

static int parse_cost(struct sealed_cost c)
{
	struct buf b = buf_new(4096);
	int rc;

	put_head(&b, &c, 0);
	put_close(&b);
	rc = parse(&b);
	buf_free(&b);
	return rc;
}

static void test_parse_cost_is_bounded(void)
{
	CHECK_INT(parse_cost((struct sealed_cost){ 17, 8, 1 }), 0);
	CHECK_INT(parse_cost((struct sealed_cost){ 10, 1, 16 }), 0);
	CHECK_INT(parse_cost((struct sealed_cost){ 9, 8, 1 }), -1);
	CHECK_INT(parse_cost((struct sealed_cost){ 21, 1, 1 }), -1);
	CHECK_INT(parse_cost((struct sealed_cost){ 255, 255, 255 }), -1);
	CHECK_INT(parse_cost((struct sealed_cost){ 14, 0, 1 }), -1);
	CHECK_INT(parse_cost((struct sealed_cost){ 14, 33, 1 }), -1);
	CHECK_INT(parse_cost((struct sealed_cost){ 14, 8, 0 }), -1);
	CHECK_INT(parse_cost((struct sealed_cost){ 14, 8, 17 }), -1);
	/* Each within its bound, and 4 GiB together. */
	CHECK_INT(parse_cost((struct sealed_cost){ 20, 32, 1 }), -1);
	CHECK(strstr(e.msg, "cost") != NULL);
}

static int parse_two(const char *one, const char *two, size_t n)
{
	struct buf b = buf_new(65536);
	int rc;

	put_head(&b, &cost, 2);
	put_entry(&b, one, n);
	put_entry(&b, two, n);
	put_close(&b);
	rc = parse(&b);
	buf_free(&b);
	return rc;
}

static void test_parse_one_way_to_write_it(void)
{
	CHECK_INT(parse_two("A", "B", 1), 0);
	CHECK_INT(parse_two("A", "AB", 1), 0);
	CHECK_INT(parse_two("B", "A", 1), -1);
	CHECK_INT(parse_two("A", "A", 1), -1);
	CHECK_INT(parse_two("AB", "A", 1), -1);
	CHECK_INT(parse_two("A", "", 1), -1);
	CHECK_INT(parse_two("-A", "B", 1), -1);
	CHECK_INT(parse_two("A", "B\033", 1), -1);
	CHECK_INT(parse_two("A", "B", 0), -1);
	CHECK_INT(parse_two("A", "B", 16385), -1);
}

static void test_parse_count_is_bounded(void)
{
	struct buf b = buf_new(SEALED_SIZE_MAX);
	char name[8];

	put_head(&b, &cost, SEALED_ENTRIES_MAX + 1);
	for (int i = 0; i <= SEALED_ENTRIES_MAX; i++) {
		(void)snprintf(name, sizeof name, "N%04d", i);
		put_entry(&b, name, 1);
	}
	put_close(&b);
	CHECK_INT(parse(&b), -1);
	CHECK(strstr(e.msg, "too many") != NULL);
	buf_free(&b);
}

int main(void)
{
	RUN(test_parse_what_was_written_is_found);
	RUN(test_parse_truncated_or_longer_fails);
	RUN(test_parse_cost_is_bounded);
	RUN(test_parse_one_way_to_write_it);
	RUN(test_parse_count_is_bounded);
	return tap_done();
}
