/* SPDX-License-Identifier: Apache-2.0 */
#include "incoming.h"

#include "own.h"
#include "tap.h"

struct outcome {
	enum incoming_result last;
	unsigned heads;
	char body[64];
	size_t n, left;		/* of the body; behind the end */
};

/* Feeds text in pieces of `cut` bytes, then the end of the connection. */
static struct outcome feed(struct incoming *i, struct sv text, size_t cut)
{
	struct outcome o = { .last = INCOMING_MORE };
	struct sv data;

	while (text.n && o.last == INCOMING_MORE) {
		struct sv in = sv_head(text, cut);

		text = sv_from(text, in.n);
		do {
			o.last = incoming_next(i, &in, &data);
			o.heads += o.last == INCOMING_HEAD;
			if (o.last == INCOMING_DATA &&
			    o.n + data.n <= sizeof o.body) {
				memcpy(o.body + o.n, data.p, data.n);
				o.n += data.n;
			}
			CHECK(o.last != INCOMING_HINTS ||
			      i->response.status == 103);
			if (o.last == INCOMING_END && i->trailers.n)
				CHECK_SV(i->trailers.v[0].name, "x-a");
		} while (o.last == INCOMING_HEAD || o.last == INCOMING_DATA ||
			 o.last == INCOMING_HINTS);
		o.left = in.n + text.n;
	}
	if (o.last == INCOMING_MORE)
		o.last = incoming_eof(i, true);
	return o;
}

static void check(struct sv text, struct sv method, enum incoming_result last,
		  const char *body, size_t left)
{
	static const size_t cuts[] = { 1, 2, 3, 7, 16, 100000 };

	for (size_t c = 0; c < countof(cuts); c++) {
		struct incoming i;
		struct outcome o;

		incoming_init(&i, method);
		CHECK(!incoming_has_begun(&i));
		o = feed(&i, text, cuts[c]);
		CHECK_INT(o.last, last);
		CHECK_SV(sv_of(o.body, o.n), body);
		if (last == INCOMING_END) {
			CHECK_INT(o.heads, 1);
			CHECK_INT(o.left, left);
		} else {
			CHECK(i.reason != NULL);
		}
		incoming_fini(&i);
	}
}

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define GET SV("GET")

static void test_next_length_takes_exactly_that(void)
{
	check(SV(OK_LINE "content-length: 3\r\n\r\nabc"), GET, INCOMING_END,
	      "abc", 0);
	check(SV(OK_LINE "content-length: 3\r\n\r\nabcdef"), GET, INCOMING_END,
	      "abc", 3);
	check(SV(OK_LINE "content-length: 0\r\n\r\n"), GET, INCOMING_END, "",
	      0);
	check(SV(OK_LINE "content-length: 4\r\n\r\nabc"), GET, INCOMING_BAD,
	      "abc", 0);
}

static void test_next_chunks_end_with_the_last(void)
{
	check(SV(OK_LINE "transfer-encoding: chunked\r\n\r\n"
		 "1\r\na\r\n2\r\nbc\r\n0\r\n\r\nmore"), GET, INCOMING_END,
	      "abc", 4);
	check(SV(OK_LINE "transfer-encoding: chunked\r\n\r\n1\r\na\r\n"), GET,
	      INCOMING_BAD, "a", 0);
	check(SV(OK_LINE "transfer-encoding: chunked\r\n\r\n1\r\nab"), GET,
	      INCOMING_BAD, "a", 0);
}

static void test_next_without_length_goes_on_until_the_end(void)
{
	check(SV(OK_LINE "\r\nabc"), GET, INCOMING_END, "abc", 0);
	check(SV(OK_LINE "\r\n"), GET, INCOMING_END, "", 0);
}

static void test_next_bodiless_ends_with_its_head(void)
{
	check(SV(OK_LINE "content-length: 3\r\n\r\n"), SV("HEAD"),
	      INCOMING_END, "", 0);
	check(SV("HTTP/1.1 204 N\r\n\r\nabc"), GET, INCOMING_END, "", 3);
	check(SV("HTTP/1.1 304 N\r\ncontent-length: 9\r\n\r\n"), GET,
	      INCOMING_END, "", 0);
}

#define CHUNKS OK_LINE "transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"

static void test_next_keeps_trailers_that_may_be_forwarded(void)
{
	struct incoming i;
	struct sv in = SV(CHUNKS "host: x\r\nX-A:  1\r\n\r\n"), data;

	incoming_init(&i, GET);
	while (incoming_next(&i, &in, &data) != INCOMING_END)
		CHECK(in.n > 0);
	CHECK_INT((long)i.trailers.n, 1);
	CHECK_SV(i.trailers.v[0].name, "x-a");
	CHECK_SV(i.trailers.v[0].value, "1");
	incoming_fini(&i);
	check(SV(CHUNKS "host: x\r\nX-A:  1\r\n\r\n"), GET, INCOMING_END, "a",
	      0);
	check(SV(CHUNKS "x a: 1\r\n\r\n"), GET, INCOMING_BAD, "a", 0);
}

static void test_next_skips_a_few_interim_heads(void)
{
#define EARLY "HTTP/1.1 103 Early\r\nlink: x\r\n\r\n"
	check(SV(EARLY "HTTP/1.1 100 C\r\n\r\n" OK_LINE
		 "content-length: 1\r\n\r\na"), GET, INCOMING_END, "a", 0);
	check(SV(EARLY EARLY EARLY EARLY EARLY EARLY EARLY EARLY OK_LINE
		 "content-length: 1\r\n\r\na"), GET, INCOMING_END, "a", 0);
	check(SV(EARLY EARLY EARLY EARLY EARLY EARLY EARLY EARLY EARLY OK_LINE
		 "content-length: 1\r\n\r\na"), GET, INCOMING_BAD, "", 0);
	check(SV("HTTP/1.1 101 S\r\n\r\n"), GET, INCOMING_BAD, "", 0);
}

static void test_next_a_head_larger_than_its_maximum_is_bad(void)
{
	static char text[HTTP_HEAD_MAX + 64];
	struct buf b = { .p = text, .cap = sizeof text, .max = sizeof text };

	buf_puts(&b, OK_LINE "x: ");
	while (b.n < sizeof text - 4)
		buf_putc(&b, 'a');
	buf_puts(&b, "\r\n\r\n");
	check(buf_sv(&b), GET, INCOMING_BAD, "", 0);
}

static void test_eof_tells_a_cut_from_an_end(void)
{
	struct incoming i;
	struct sv in = SV(OK_LINE "\r\nabc"), data;

	incoming_init(&i, GET);
	CHECK_INT(incoming_next(&i, &in, &data), INCOMING_HEAD);
	CHECK_INT(incoming_next(&i, &in, &data), INCOMING_DATA);
	CHECK_INT(incoming_eof(&i, false), INCOMING_BAD);
	CHECK_SV(sv_str(i.reason), "the response was cut short");
	incoming_fini(&i);

	incoming_init(&i, GET);
	CHECK_INT(incoming_eof(&i, true), INCOMING_BAD);
	CHECK_SV(sv_str(i.reason),
		 "the connection was closed without a response");
	incoming_fini(&i);
}

static void test_a_switch_is_for_who_asked(void)
{
	const struct sv head = SV("HTTP/1.1 101 x\r\nupgrade: websocket\r\n"
				  "connection: upgrade\r\n\r\nabc");

	for (int asked = 0; asked < 2; asked++) {
		struct sv in = head, data = { 0 };
		struct incoming i;

		incoming_init(&i, GET);
		i.upgrade = asked;
		CHECK_INT(incoming_next(&i, &in, &data),
			  asked ? INCOMING_HEAD : INCOMING_BAD);
		if (asked)
			CHECK_SV(in, "abc");
		else
			CHECK(strstr(i.reason, "not asked for") != NULL);
		incoming_fini(&i);
	}
}

static void test_next_behind_the_end_is_bad(void)
{
	struct incoming i;
	struct sv in = SV(OK_LINE "content-length: 0\r\n\r\n"), data;

	incoming_init(&i, GET);
	CHECK_INT(incoming_next(&i, &in, &data), INCOMING_HEAD);
	CHECK_INT(incoming_next(&i, &in, &data), INCOMING_END);
	CHECK_INT(incoming_next(&i, &in, &data), INCOMING_BAD);
	incoming_fini(&i);
}

int main(void)
{
	RUN(test_next_length_takes_exactly_that);
	RUN(test_next_chunks_end_with_the_last);
	RUN(test_next_without_length_goes_on_until_the_end);
	RUN(test_next_bodiless_ends_with_its_head);
	RUN(test_next_keeps_trailers_that_may_be_forwarded);
	RUN(test_next_skips_a_few_interim_heads);
	RUN(test_next_a_head_larger_than_its_maximum_is_bad);
	RUN(test_eof_tells_a_cut_from_an_end);
	RUN(test_a_switch_is_for_who_asked);
	RUN(test_next_behind_the_end_is_bad);
	return tap_done();
}
