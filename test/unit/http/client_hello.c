/* SPDX-License-Identifier: Apache-2.0 */
/* ClientHellos: whole, byte by byte, cut into records, and damaged. */
#include "client_hello.h"

#include "buf.h"
#include "own.h"
#include "tap.h"

/* Appends v behind a length of `size` bytes, in network order. */
static void put_vector(struct buf *b, unsigned size, struct sv v)
{
	while (size--)
		buf_putc(b, (char)(v.n >> 8 * size));
	buf_put(b, v);
}

static void put_extension(struct buf *b, unsigned type, struct sv body)
{
	buf_putc(b, (char)(type >> 8));
	buf_putc(b, (char)type);
	put_vector(b, 2, body);
}

/* server_name with one name. */
static void put_name(struct buf *b, struct sv name)
{
	auto_buf struct buf one = buf_new(65536), list = buf_new(65536);

	buf_putc(&one, 0);
	put_vector(&one, 2, name);
	put_vector(&list, 2, buf_sv(&one));
	put_extension(b, 0, buf_sv(&list));
}

/* The message without its head; extensions .p NULL: not even their length. */
static void put_body(struct buf *b, struct sv extensions)
{
	static const char random[32];

	buf_puts(b, "\3\3");
	buf_put(b, sv_of(random, sizeof random));
	put_vector(b, 1, SV("0123456789abcdef0123456789abcdef"));
	put_vector(b, 2, SV("\x13\1\x0a\x0a"));
	put_vector(b, 1, sv_of("", 1));
	if (extensions.p)
		put_vector(b, 2, extensions);
}

static void put_message(struct buf *b, struct sv body)
{
	buf_putc(b, 1);
	put_vector(b, 3, body);
}

/* In records of so many bytes. */
static void put_records(struct buf *b, struct sv message, size_t each)
{
	while (message.n) {
		struct sv part = sv_head(message, each);

		buf_puts(b, "\x16\3\1");
		put_vector(b, 2, part);
		message = sv_from(message, part.n);
	}
}

static void put_hello(struct buf *b, struct sv extensions, size_t each)
{
	auto_buf struct buf body = buf_new(1 << 17), message = buf_new(1 << 17);

	put_body(&body, extensions);
	put_message(&message, buf_sv(&body));
	put_records(b, buf_sv(&message), each);
}

static enum client_hello_result parse(struct sv extensions, size_t each,
				      struct client_hello *h)
{
	auto_buf struct buf b = buf_new(1 << 17);

	put_hello(&b, extensions, each);
	return client_hello_parse(buf_sv(&b), h);
}

static void test_client_hello_is_read_at_any_cut(void)
{
	static const size_t cuts[] = { 1, 2, 3, 7, 100, 16384 };
	auto_buf struct buf extensions = buf_new(4096);

	put_extension(&extensions, 0x0a0a, SV(""));	/* GREASE */
	put_name(&extensions, SV("a.example.com"));
	put_extension(&extensions, 16, SV("\0\3\2h2"));
	for (size_t i = 0; i < countof(cuts); i++) {
		auto_buf struct buf b = buf_new(1 << 16);
		struct client_hello h;

		put_hello(&b, buf_sv(&extensions), cuts[i]);
		for (size_t n = 0; n < b.n; n++)
			CHECK_INT(client_hello_parse(sv_of(b.p, n), &h),
				  CLIENT_HELLO_MORE);
		CHECK_INT(client_hello_parse(buf_sv(&b), &h),
			  CLIENT_HELLO_WHOLE);
		CHECK(h.has_name && !h.has_ech);
		CHECK_SV(client_hello_name(&h), "a.example.com");
		/* What follows is none of its business. */
		buf_puts(&b, "\x14\3\3\0\1\1 and more");
		CHECK_INT(client_hello_parse(buf_sv(&b), &h),
			  CLIENT_HELLO_WHOLE);
	}
}

static void test_client_hello_without_a_name(void)
{
	struct client_hello h;

	CHECK_INT(parse((struct sv){ 0 }, 16384, &h), CLIENT_HELLO_WHOLE);
	CHECK(!h.has_name);
	CHECK_INT(parse(SV(""), 16384, &h), CLIENT_HELLO_WHOLE);
	CHECK(!h.has_name && !h.has_ech);
	CHECK(client_hello_fault(&h, SV("")) != NULL);
}

static void test_client_hello_fault_is_anything_but_that_name(void)
{
	static const struct {
		struct sv name;
		bool fine;
	} names[] = {
		{ SV("a.test"), true }, { SV("A.tEst"), true },
		{ SV("b.test"), false }, { SV("a.test."), false },
		{ SV("a.test\0"), false }, { SV("a.test\0.b.test"), false },
		{ SV("xa.test"), false }, { SV("a.tes"), false },
		{ SV("192.0.2.1"), false }, { SV(" a.test"), false },
	};

	for (size_t i = 0; i < countof(names); i++) {
		auto_buf struct buf extensions = buf_new(4096);
		struct client_hello h;

		put_name(&extensions, names[i].name);
		CHECK_INT(parse(buf_sv(&extensions), 16384, &h),
			  CLIENT_HELLO_WHOLE);
		CHECK_INT(client_hello_fault(&h, SV("a.test")) == NULL,
			  names[i].fine);
	}
}

static void test_client_hello_ech_is_a_fault_wherever_it_stands(void)
{
	static const unsigned types[] = { 0xfe0d, 0xfe0a, 0xffce };

	for (size_t i = 0; i < 2 * countof(types); i++) {
		auto_buf struct buf extensions = buf_new(4096);
		struct client_hello h;

		if (i % 2)
			put_name(&extensions, SV("a.test"));
		put_extension(&extensions, types[i / 2], SV("x"));
		if (!(i % 2))
			put_name(&extensions, SV("a.test"));
		CHECK_INT(parse(buf_sv(&extensions), 16384, &h),
			  CLIENT_HELLO_WHOLE);
		CHECK(h.has_ech);
		CHECK(client_hello_fault(&h, SV("a.test")) != NULL);
	}
}

static void test_client_hello_two_readings_are_bad(void)
{
	static const struct sv bad[] = {
		/* lists of names: empty, of two, of another kind, cut, longer */
		SV("\0\0\0\2\0\0"), SV("\0\0\0\5\0\3\0\0\0"),
		SV("\0\0\0\12\0\10\0\0\1a\0\0\1b"),
		SV("\0\0\0\6\0\4\1\0\1a"), SV("\0\0\0\6\0\4\0\0\2a"),
		SV("\0\0\0\7\0\4\0\0\1ab"), SV("\0\0\0\6\0\5\0\0\1a"),
		SV("\0\0\0\0"),
		/* twice the same extension, one that is cut, one half a head */
		SV("\xff\1\0\0\xff\1\0\0"), SV("\xff\1\0\2x"), SV("\xff\1\0"),
	};
	struct client_hello h;

	for (size_t i = 0; i < countof(bad); i++)
		CHECK_INT(parse(bad[i], 16384, &h), CLIENT_HELLO_BAD);
}

/* Every byte of the frame, changed to each value, is read as nothing worse
 * than another whole hello, an unfinished one or a bad one, with its reason. */
static void test_client_hello_damaged(void)
{
	auto_buf struct buf extensions = buf_new(4096), b = buf_new(4096);
	unsigned whole = 0, bad = 0;

	put_name(&extensions, SV("a.test"));
	put_hello(&b, buf_sv(&extensions), 20);
	for (size_t i = 0; i < b.n; i++)
		for (unsigned value = 0; value < 256; value++) {
			char was = b.p[i];
			struct client_hello h;

			b.p[i] = (char)value;
			switch (client_hello_parse(buf_sv(&b), &h)) {
			case CLIENT_HELLO_WHOLE:
				whole++;
				break;
			case CLIENT_HELLO_BAD:
				bad += h.fault != NULL;
				break;
			case CLIENT_HELLO_MORE:
				break;
			}
			b.p[i] = was;
		}
	CHECK(whole > 256 * 32);
	CHECK(bad > 256 * 20);
}

static void test_client_hello_frames_that_are_none(void)
{
	static const struct sv bad[] = {
		SV("G"), SV("\x80"), SV("\x17\3\1\0\1x"), SV("\x16\2"),
		SV("\x16\3\1\0\0"), SV("\x16\3\1\x40\1"), SV("\x16\3\1\0\1\2"),
		SV("\x16\3\1\0\4\1\0\0\0"), SV("\x16\3\1\0\4\1\1\0\0"),
		SV("\x16\3\1\0\1\1\x14\3\3\0\1\1"),
	};
	struct client_hello h;

	for (size_t i = 0; i < countof(bad); i++)
		CHECK_INT(client_hello_parse(bad[i], &h), CLIENT_HELLO_BAD);
	/* Another message behind it in its record. */
	{
		auto_buf struct buf body = buf_new(4096), b = buf_new(4096);
		auto_buf struct buf message = buf_new(4096);

		put_body(&body, SV(""));
		put_message(&message, buf_sv(&body));
		buf_putc(&message, 11);
		put_records(&b, buf_sv(&message), 16384);
		CHECK_INT(client_hello_parse(buf_sv(&b), &h),
			  CLIENT_HELLO_BAD);
	}
}

static void test_client_hello_of_any_size_up_to_the_most(void)
{
	/* What stands around one extension of padding. */
	enum { REST = 2 + 32 + 33 + 6 + 2 + 2 + 4 };
	auto_buf struct buf padding = buf_new(1 << 17);
	struct client_hello h;

	for (size_t n = CLIENT_HELLO_MAX - REST; n < CLIENT_HELLO_MAX; n++) {
		auto_buf struct buf extensions = buf_new(1 << 17);

		buf_reset(&padding);
		while (padding.n < n)
			buf_putc(&padding, 0);
		put_extension(&extensions, 21, buf_sv(&padding));
		CHECK_INT(parse(buf_sv(&extensions), 16384, &h),
			  n == CLIENT_HELLO_MAX - REST ? CLIENT_HELLO_WHOLE :
							 CLIENT_HELLO_BAD);
	}
	/* Too many records for what is looked at. */
	{
		auto_buf struct buf extensions = buf_new(1 << 17);
		auto_buf struct buf b = buf_new(1 << 17);

		padding.n = 8000;
		put_extension(&extensions, 21, buf_sv(&padding));
		put_hello(&b, buf_sv(&extensions), 1);
		CHECK_INT(client_hello_parse(
				  sv_head(buf_sv(&b), CLIENT_HELLO_BYTES_MAX),
				  &h), CLIENT_HELLO_BAD);
		CHECK_INT(client_hello_parse(buf_sv(&b), &h),
			  CLIENT_HELLO_BAD);
	}
}

int main(void)
{
	RUN(test_client_hello_is_read_at_any_cut);
	RUN(test_client_hello_without_a_name);
	RUN(test_client_hello_fault_is_anything_but_that_name);
	RUN(test_client_hello_ech_is_a_fault_wherever_it_stands);
	RUN(test_client_hello_two_readings_are_bad);
	RUN(test_client_hello_damaged);
	RUN(test_client_hello_frames_that_are_none);
	RUN(test_client_hello_of_any_size_up_to_the_most);
	return tap_done();
}
