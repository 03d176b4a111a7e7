/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields, edits and requests inside messages: what is read is written as it
 * was, and a request that passes the second look survives the way through a
 * message.
 */
#include "canonical.h"
#include "fuzz.h"
#include "head.h"

static void check_fields(struct sv in)
{
	auto_arena struct arena a = arena_new(1 << 20);
	auto_buf struct buf b = buf_new(1 << 20);
	struct http_fields f;
	struct err e;

	if (head_get_fields(in, &a, &f, &e) < 0)
		return;
	head_put_fields(&b, &f);
	MUST(!b.full && sv_eq(buf_sv(&b), in));
}

static void check_edits(struct sv in)
{
	auto_buf struct buf b = buf_new(1 << 20);
	struct edit edits[EDITS_MAX];
	struct err e;
	size_t n;

	if (head_get_edits(in, edits, &n, &e) < 0)
		return;
	MUST(n <= EDITS_MAX);
	for (size_t i = 0; i < n; i++)
		head_put_edit(&b, &edits[i]);
	MUST(!b.full && sv_eq(buf_sv(&b), in));
}

static void check_request(struct sv in)
{
	auto_arena struct arena a = arena_new(1 << 20);
	auto_buf struct buf scratch = buf_new(1 << 20);
	auto_buf struct buf b = buf_new(1 << 20);
	struct msg m = { 0 };
	struct http_request r;
	struct err e;

	if (msg_decode(in, ROLE_EDGE, ROLE_WARDEN, PHASE_RUN, &m, &e) < 0 ||
	    m.kind != MSG_REQUEST ||
	    head_from_request(&m.REQUEST, &a, &r, &e) < 0)
		return;
	(void)request_check(&r);
	head_to_request(&r, m.REQUEST.conn, m.REQUEST.id, &scratch,
			&m.REQUEST);
	msg_encode(&b, &m);
	MUST(!b.full && !scratch.full && sv_eq(buf_sv(&b), in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);

	check_fields(in);
	check_edits(in);
	check_request(in);
	return 0;
}
