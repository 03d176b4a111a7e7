/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded buffers, and the cursor that reads what they wrote. */
#include "buf.h"
#include "cur.h"
#include "tap.h"

static void test_buf_put_past_the_maximum_sets_full_and_keeps(void)
{
	auto_buf struct buf b = buf_new(4);
	struct err e;

	buf_puts(&b, "abc");
	CHECK(buf_check(&b, "it", &e) == 0);
	buf_puts(&b, "de");
	CHECK(b.full);
	CHECK_SV(buf_sv(&b), "abc");
	CHECK(buf_check(&b, "it", &e) < 0);
	CHECK_INT(e.kind, ERR_LIMIT);
	/* Sticky: what would fit is not appended behind a gap. */
	buf_puts(&b, "d");
	CHECK_SV(buf_sv(&b), "abc");
}

static void test_buf_put_up_to_the_maximum_fits(void)
{
	auto_buf struct buf b = buf_new(4);

	buf_puts(&b, "abcd");
	CHECK(!b.full);
	CHECK(buf_cstr(&b) != NULL);
	CHECK_INT(b.n, 4);
	CHECK_INT(strlen(b.p), 4);
}

static void test_buf_grows_from_one_byte(void)
{
	auto_buf struct buf b = buf_new(100000);

	for (int i = 0; i < 100000; i++)
		buf_putc(&b, 'x');
	CHECK_INT(b.n, 100000);
	CHECK(!b.full);
	buf_putc(&b, 'x');
	CHECK(b.full);
}

static void test_buf_consume_keeps_the_rest(void)
{
	auto_buf struct buf b = buf_new(10);

	buf_puts(&b, "abcdef");
	buf_consume(&b, 2);
	CHECK_SV(buf_sv(&b), "cdef");
	buf_consume(&b, 100);
	CHECK_INT(b.n, 0);
}

static void test_buf_of_stays_in_the_memory_it_was_given(void)
{
	char memory[5] = "????";
	struct buf b = buf_of(memory, 4);

	buf_puts(&b, "abcd");
	CHECK(!b.full && b.p == memory);
	CHECK_SV(buf_sv(&b), "abcd");
	buf_putc(&b, 'e');
	CHECK(b.full && b.p == memory);
}

static void test_buf_put_percent_keeps_what_is_unreserved(void)
{
	auto_buf struct buf b = buf_new(100);

	buf_put_percent(&b, SV("aZ0-._~"));
	CHECK_SV(buf_sv(&b), "aZ0-._~");
	buf_reset(&b);
	buf_put_percent(&b, sv_of(" %+/=&@\0\n\x7f\xff", 11));
	CHECK_SV(buf_sv(&b), "%20%25%2B%2F%3D%26%40%00%0A%7F%FF");
}

static void test_buf_put_percent_fits_whole_or_not(void)
{
	auto_buf struct buf b = buf_new(5);

	buf_put_percent(&b, SV("a%"));
	CHECK(!b.full);
	buf_put_percent(&b, SV("%"));
	CHECK(b.full);
	CHECK_SV(buf_sv(&b), "a%25");
}

static void test_cur_reads_what_buf_put(void)
{
	auto_buf struct buf b = buf_new(100);

	buf_put_u8(&b, 0xff);
	buf_put_u16(&b, 0x1234);
	buf_put_u32(&b, 0xdeadbeef);
	buf_put_u64(&b, 0x0123456789abcdefULL);
	buf_put_sv(&b, SV("text"));
	struct cur c = cur_of(buf_sv(&b));

	CHECK_INT(cur_u8(&c), 0xff);
	CHECK_INT(cur_u16(&c), 0x1234);
	CHECK_INT(cur_u32(&c), 0xdeadbeef);
	CHECK(cur_u64(&c) == 0x0123456789abcdefULL);
	CHECK(!cur_done(&c));
	CHECK_SV(cur_sv(&c, 4), "text");
	CHECK(cur_done(&c));
}

static void test_cur_past_the_end_is_bad_for_good(void)
{
	struct cur c = cur_of(SV("\x01"));

	CHECK_INT(cur_u16(&c), 0);
	CHECK(c.bad);
	CHECK_INT(cur_u8(&c), 0);
	CHECK(!cur_done(&c));
}

static void test_cur_sv_above_its_maximum_is_bad(void)
{
	struct cur c = cur_of(sv_of("\x05\0\0\0hello", 9));

	CHECK_SV(cur_sv(&c, 4), "");
	CHECK(c.bad);
	c = cur_of(sv_of("\x05\0\0\0hello", 9));
	CHECK_SV(cur_sv(&c, 5), "hello");
	/* A length that runs past the end. */
	c = cur_of(sv_of("\xff\xff\xff\xff", 4));
	CHECK_SV(cur_sv(&c, SIZE_MAX), "");
	CHECK(c.bad);
}

int main(void)
{
	RUN(test_buf_put_past_the_maximum_sets_full_and_keeps);
	RUN(test_buf_put_up_to_the_maximum_fits);
	RUN(test_buf_grows_from_one_byte);
	RUN(test_buf_consume_keeps_the_rest);
	RUN(test_buf_of_stays_in_the_memory_it_was_given);
	RUN(test_buf_put_percent_keeps_what_is_unreserved);
	RUN(test_buf_put_percent_fits_whole_or_not);
	RUN(test_cur_reads_what_buf_put);
	RUN(test_cur_past_the_end_is_bad_for_good);
	RUN(test_cur_sv_above_its_maximum_is_bad);
	return tap_done();
}
