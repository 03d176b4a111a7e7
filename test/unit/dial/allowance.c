/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a body may be sent. */
#include "tap.h"

#include "allowance.h"

static struct allowance start(uint64_t bytes, enum http_body body)
{
	const struct msg_EXCHANGE m = {
		.allowance = bytes, .body = (uint8_t)body,
	};

	return allowance_of(&m);
}

static void test_without_a_limit_nothing_is_asked(void)
{
	struct allowance a = start(UINT64_MAX, HTTP_BODY_CHUNKED);

	CHECK(allowance_covers(&a, UINT64_C(1) << 60, 32768));
	CHECK(!allowance_ask(&a, UINT64_C(1) << 60));
}

static void test_a_known_length_has_it_all(void)
{
	struct allowance a = start(10, HTTP_BODY_LENGTH);

	CHECK(allowance_covers(&a, 0, 10) && !allowance_covers(&a, 0, 11));
	CHECK(!allowance_covers(&a, 11, 0));
	CHECK(!allowance_ask(&a, 5));
}

static void test_more_is_asked_for_once_and_in_time(void)
{
	struct allowance a = start(100000, HTTP_BODY_CHUNKED);
	struct err e = { 0 };

	CHECK(!allowance_ask(&a, 100000 - WIRE_CHUNK_MAX));
	CHECK(allowance_ask(&a, 100001 - WIRE_CHUNK_MAX) && a.waits);
	CHECK(!allowance_ask(&a, 100000));
	CHECK(allowance_answer(&a, 150000, &e) == 0 && !a.waits);
	CHECK(allowance_ask(&a, 140000));
	CHECK(allowance_answer(&a, 150000, &e) == 0);
	/* There was no more. */
	CHECK(!allowance_ask(&a, 150000));
	CHECK(allowance_answer(&a, 200000, &e) < 0 && e.kind == ERR_PROTO);
}

static void test_an_allowance_never_shrinks(void)
{
	struct allowance a = start(5, HTTP_BODY_CHUNKED);
	struct err e = { 0 };

	CHECK(allowance_ask(&a, 0));
	CHECK(allowance_answer(&a, 4, &e) < 0 && e.kind == ERR_PROTO);
}

int main(void)
{
	RUN(test_without_a_limit_nothing_is_asked);
	RUN(test_a_known_length_has_it_all);
	RUN(test_more_is_asked_for_once_and_in_time);
	RUN(test_an_allowance_never_shrinks);
	return tap_done();
}
