/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of a WebSocket. */
#include "websocket_key.h"

#include "base64.h"
#include "tap.h"

static void test_accept_is_that_of_the_standard(void)
{
	char accept[WEBSOCKET_ACCEPT_SIZE];
	struct err e = { 0 };

	CHECK_INT(websocket_accept(SV("dGhlIHNhbXBsZSBub25jZQ=="), accept, &e),
		  0);
	CHECK_SV(sv_of(accept, sizeof accept), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void test_keys_are_new_each_time(void)
{
	char a[WEBSOCKET_KEY_SIZE], b[WEBSOCKET_KEY_SIZE];
	auto_buf struct buf bytes = buf_new(100);
	struct err e = { 0 };

	CHECK(websocket_make_key(a, &e) == 0 && websocket_make_key(b, &e) == 0);
	CHECK(memcmp(a, b, sizeof a) != 0);
	CHECK(buf_put_unbase64(&bytes, sv_of(a, sizeof a)) && bytes.n == 16);
}

int main(void)
{
	RUN(test_accept_is_that_of_the_standard);
	RUN(test_keys_are_new_each_time);
	return tap_done();
}
