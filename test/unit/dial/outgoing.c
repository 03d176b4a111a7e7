/* SPDX-License-Identifier: Apache-2.0 */
#include "outgoing.h"

#include "tap.h"

static struct http_field one_field = { .name = { "x-a", 3 },
				       .value = { "b", 1 } };

static struct http_request request(enum http_body body, uint64_t length)
{
	return (struct http_request){
		.scheme = HTTP_TLS, .host = SV("a.test"), .port = 443,
		.method = SV("PUT"), .path = SV("/p"),
		.fields = { .v = &one_field, .n = 1 }, .body = body,
		.length = length,
	};
}

#define HEAD "PUT /p HTTP/1.1\r\nhost: a.test\r\nx-a: b\r\n"
#define TAIL "connection: keep-alive\r\n\r\n"

/* Takes what is pending in pieces of two bytes. */
static void drain(struct outgoing *o, struct buf *wire)
{
	struct sv v;

	while ((v = outgoing_pending(o)).n) {
		v = sv_head(v, 2);
		buf_put(wire, v);
		outgoing_wrote(o, v.n);
	}
}

static void test_put_length_is_sent_as_it_is(void)
{
	struct http_request r = request(HTTP_BODY_LENGTH, 5);
	auto_buf struct buf wire = buf_new(1000);
	struct outgoing o;
	struct err e;

	CHECK(outgoing_init(&o, &r, &e) == 0);
	CHECK(!outgoing_head_is_out(&o));
	drain(&o, &wire);
	CHECK(outgoing_head_is_out(&o) && !outgoing_is_complete(&o));
	CHECK(outgoing_put(&o, SV("abc"), &e) == 0);
	drain(&o, &wire);
	CHECK(outgoing_put(&o, SV("de"), &e) == 0);
	CHECK(!outgoing_is_complete(&o));
	drain(&o, &wire);
	CHECK(outgoing_is_complete(&o));
	CHECK(outgoing_end(&o, &e) == 0);
	CHECK_SV(buf_sv(&wire), HEAD "content-length: 5\r\n" TAIL "abcde");
	CHECK_INT(o.sent, 5);
	outgoing_fini(&o);
}

static void test_put_chunked_is_framed(void)
{
	struct http_request r = request(HTTP_BODY_CHUNKED, 0);
	auto_buf struct buf wire = buf_new(1000);
	struct outgoing o;
	struct err e;

	CHECK(outgoing_init(&o, &r, &e) == 0);
	drain(&o, &wire);
	CHECK(outgoing_put(&o, SV("abc"), &e) == 0);
	drain(&o, &wire);
	CHECK(outgoing_put(&o, SV(""), &e) == 0);
	CHECK(!outgoing_is_complete(&o));
	CHECK(outgoing_end(&o, &e) == 0);
	CHECK(!outgoing_is_complete(&o));
	drain(&o, &wire);
	CHECK(outgoing_is_complete(&o));
	CHECK_SV(buf_sv(&wire), HEAD "transfer-encoding: chunked\r\n" TAIL
		 "3\r\nabc\r\n0\r\n\r\n");
	outgoing_fini(&o);
}

static void test_put_what_was_not_announced_is_refused(void)
{
	struct http_request none = request(HTTP_BODY_NONE, 0);
	struct http_request three = request(HTTP_BODY_LENGTH, 3);
	struct outgoing o;
	struct err e;

	CHECK(outgoing_init(&o, &none, &e) == 0);
	CHECK(outgoing_put(&o, SV("x"), &e) < 0);
	outgoing_fini(&o);

	CHECK(outgoing_init(&o, &three, &e) == 0);
	CHECK(outgoing_put(&o, SV("abcd"), &e) < 0);
	CHECK(outgoing_put(&o, SV("ab"), &e) == 0);
	CHECK(outgoing_end(&o, &e) < 0);
	CHECK(outgoing_put(&o, SV("c"), &e) == 0);
	CHECK(outgoing_end(&o, &e) == 0);
	CHECK(outgoing_end(&o, &e) < 0);
	CHECK(outgoing_put(&o, SV(""), &e) < 0);
	outgoing_fini(&o);
}

static void test_head_is_gone_once_it_is_out(void)
{
	struct http_request r = request(HTTP_BODY_NONE, 0);
	auto_buf struct buf wire = buf_new(1000);
	struct outgoing o;
	struct err e;

	CHECK(outgoing_init(&o, &r, &e) == 0);
	drain(&o, &wire);
	CHECK(o.head.p == NULL);
	CHECK(outgoing_is_complete(&o));
	outgoing_fini(&o);
}

static void test_rewind_sends_a_kept_head_again(void)
{
	struct http_request r = request(HTTP_BODY_NONE, 0);
	auto_buf struct buf wire = buf_new(1000);
	struct outgoing o;
	struct err e;

	CHECK(outgoing_init(&o, &r, &e) == 0);
	o.keep_head = true;
	drain(&o, &wire);
	CHECK(outgoing_head_is_out(&o));
	outgoing_rewind(&o);
	CHECK(!outgoing_head_is_out(&o));
	outgoing_release_head(&o);
	drain(&o, &wire);
	CHECK_SV(buf_sv(&wire), HEAD TAIL HEAD TAIL);
	CHECK(o.head.p == NULL);
	outgoing_fini(&o);
}

static void test_put_releases_the_head(void)
{
	struct http_request r = request(HTTP_BODY_CHUNKED, 0);
	auto_buf struct buf wire = buf_new(1000);
	struct outgoing o;
	struct err e;

	CHECK(outgoing_init(&o, &r, &e) == 0);
	o.keep_head = true;
	drain(&o, &wire);
	CHECK(o.head.p != NULL);
	CHECK(outgoing_put(&o, SV("a"), &e) == 0);
	CHECK(o.head.p == NULL && o.begun);
	outgoing_fini(&o);
}

int main(void)
{
	RUN(test_put_length_is_sent_as_it_is);
	RUN(test_put_chunked_is_framed);
	RUN(test_put_what_was_not_announced_is_refused);
	RUN(test_head_is_gone_once_it_is_out);
	RUN(test_rewind_sends_a_kept_head_again);
	RUN(test_put_releases_the_head);
	return tap_done();
}
