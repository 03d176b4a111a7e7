/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to bytes and back, and what the table forbids. */
#include "codec.h"
#include "head.h"
#include "tap.h"

static int decode(struct sv bytes, enum role from, enum role to,
		  unsigned n_fds, struct msg *m)
{
	struct err e;

	*m = (struct msg){ .n_fds = n_fds };
	return msg_decode(bytes, from, to, PHASE_RUN, m, &e);
}

static void encode_socket(struct buf *b)
{
	struct msg m = { .kind = MSG_SOCKET };

	m.SOCKET = (struct msg_SOCKET){ .conn = 7, .id = 9,
					.error = SV("refused") };
	msg_encode(b, &m);
}

static void test_msg_decode_gives_back_what_was_encoded(void)
{
	auto_buf struct buf b = buf_new(1000);
	struct msg m;

	encode_socket(&b);
	CHECK_INT(decode(buf_sv(&b), ROLE_RESOLVE, ROLE_DIAL, 0, &m), 0);
	CHECK_INT(m.kind, MSG_SOCKET);
	CHECK_INT(m.SOCKET.conn, 7);
	CHECK_INT(m.SOCKET.id, 9);
	CHECK_SV(m.SOCKET.error, "refused");
}

static void test_msg_decode_from_or_to_the_wrong_role_fails(void)
{
	auto_buf struct buf b = buf_new(1000);
	struct msg m;

	encode_socket(&b);
	CHECK_INT(decode(buf_sv(&b), ROLE_EDGE, ROLE_DIAL, 0, &m), -1);
	CHECK_INT(decode(buf_sv(&b), ROLE_RESOLVE, ROLE_WARDEN, 0, &m), -1);
	CHECK_INT(decode(buf_sv(&b), ROLE_DIAL, ROLE_RESOLVE, 0, &m), -1);
}

static void test_msg_decode_at_the_wrong_phase_fails(void)
{
	auto_buf struct buf b = buf_new(1000);
	struct msg m = { 0 };
	struct err e;

	encode_socket(&b);
	CHECK_INT(msg_decode(buf_sv(&b), ROLE_RESOLVE, ROLE_DIAL, PHASE_BOOT,
			     &m, &e), -1);
	CHECK_INT(e.kind, ERR_PROTO);
}

static void test_msg_decode_too_many_descriptors_fails(void)
{
	auto_buf struct buf b = buf_new(1000);
	struct msg m;

	encode_socket(&b);
	CHECK_INT(decode(buf_sv(&b), ROLE_RESOLVE, ROLE_DIAL, 1, &m), 0);
	CHECK_INT(decode(buf_sv(&b), ROLE_RESOLVE, ROLE_DIAL, 2, &m), -1);
}

static void test_msg_decode_cut_or_extended_fails(void)
{
	auto_buf struct buf b = buf_new(1000);
	struct msg m;
	size_t whole;

	encode_socket(&b);
	whole = b.n;
	for (size_t n = 0; n < whole; n++)
		CHECK_INT(decode(sv_of(b.p, n), ROLE_RESOLVE, ROLE_DIAL, 0,
				 &m), -1);
	buf_putc(&b, 0);
	CHECK_INT(decode(buf_sv(&b), ROLE_RESOLVE, ROLE_DIAL, 0, &m), -1);
}

static void test_msg_decode_unknown_kind_fails(void)
{
	struct msg m;

	CHECK_INT(decode(SV("\xff"), ROLE_EDGE, ROLE_WARDEN, 0, &m), -1);
	CHECK_INT(decode(sv_of("\0", 1), ROLE_EDGE, ROLE_WARDEN, 0, &m), -1);
	CHECK_INT(decode(SV(""), ROLE_EDGE, ROLE_WARDEN, 0, &m), -1);
}

static void test_msg_encode_above_a_maximum_is_full(void)
{
	auto_buf struct buf b = buf_new(1000);
	static char long_name[300];
	struct msg m = { .kind = MSG_SIGN };

	memset(long_name, 'a', sizeof long_name);
	m.SIGN.name = sv_of(long_name, 253);
	msg_encode(&b, &m);
	CHECK(!b.full);
	m.SIGN.name = sv_of(long_name, 254);
	msg_encode(&b, &m);
	CHECK(b.full);
}

static void test_head_request_round_trip(void)
{
	struct http_field fields[] = {
		{ SV("accept"), SV("*/*") }, { SV("x"), SV("") },
	};
	struct http_request r = {
		.scheme = HTTP_TLS, .host = SV("example.org"), .port = 443,
		.method = SV("POST"), .path = SV("/a"), .has_query = true,
		.query = SV("q=1"), .fields = { fields, 2 },
		.body = HTTP_BODY_LENGTH, .length = 12,
	}, back;
	auto_arena struct arena a = arena_new(10000);
	auto_buf struct buf scratch = buf_new(1000);
	struct msg_REQUEST m;
	struct err e;

	head_to_request(&r, 1, 2, &scratch, &m);
	CHECK_INT(head_from_request(&m, &a, &back, &e), 0);
	CHECK_INT(back.fields.n, 2);
	CHECK_SV(back.fields.v[0].name, "accept");
	CHECK_SV(back.fields.v[1].value, "");
	CHECK_INT(back.length, 12);
	m.scheme = 3;
	CHECK_INT(head_from_request(&m, &a, &back, &e), -1);
	m.scheme = HTTP_TLS;
	m.body = HTTP_BODY_CHUNKED;	/* with a length */
	CHECK_INT(head_from_request(&m, &a, &back, &e), -1);
}

static void test_head_edits_round_trip_and_bounds(void)
{
	struct edit edit = {
		.form = EDIT_ADD, .field = SV("authorization"),
		.prefix = SV("Bearer "), .secret = 0x01020304,
	}, back[EDITS_MAX];
	auto_buf struct buf b = buf_new(10000);
	size_t n = 0;
	struct err e;

	for (int i = 0; i < EDITS_MAX; i++)
		head_put_edit(&b, &edit);
	CHECK_INT(head_get_edits(buf_sv(&b), back, &n, &e), 0);
	CHECK_INT(n, EDITS_MAX);
	CHECK_SV(back[3].prefix, "Bearer ");
	CHECK_INT(back[3].secret, 0x01020304);
	head_put_edit(&b, &edit);
	CHECK_INT(head_get_edits(buf_sv(&b), back, &n, &e), -1);
	buf_reset(&b);
	edit.field = SV("");
	head_put_edit(&b, &edit);
	CHECK_INT(head_get_edits(buf_sv(&b), back, &n, &e), -1);
}

int main(void)
{
	RUN(test_msg_decode_gives_back_what_was_encoded);
	RUN(test_msg_decode_from_or_to_the_wrong_role_fails);
	RUN(test_msg_decode_at_the_wrong_phase_fails);
	RUN(test_msg_decode_too_many_descriptors_fails);
	RUN(test_msg_decode_cut_or_extended_fails);
	RUN(test_msg_decode_unknown_kind_fails);
	RUN(test_msg_encode_above_a_maximum_is_full);
	RUN(test_head_request_round_trip);
	RUN(test_head_edits_round_trip_and_bounds);
	return tap_done();
}
