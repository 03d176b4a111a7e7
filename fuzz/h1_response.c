/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Response heads: what is written for the agent is read back as the same
 * response, by the same strict parser.
 */
#include "buf.h"
#include "fuzz.h"
#include "h1_response.h"

static void check_same(const struct http_response *a,
		       const struct http_response *b)
{
	MUST(a->status == b->status && a->body == b->body);
	MUST(a->length == b->length && a->fields.n == b->fields.n);
	for (size_t i = 0; i < a->fields.n; i++)
		MUST(sv_eq(a->fields.v[i].name, b->fields.v[i].name) &&
		     sv_eq(a->fields.v[i].value, b->fields.v[i].value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sv methods[] = { { "GET", 3 }, { "HEAD", 4 } };
	struct sv in = fuzz_input(data, size);
	struct sv method = methods[fuzz_byte(&in) % 2];
	size_t cut = fuzz_byte(&in);
	auto_arena struct arena a = arena_new(1 << 20);
	auto_arena struct arena b = arena_new(1 << 20);
	auto_buf struct buf out = buf_new(1 << 20);
	struct h1_response r, again;
	ssize_t n = h1_parse_response(in, method, &a, &r);

	if (n == H1_BAD)
		MUST(r.reason);
	if (n <= 0)
		return 0;
	MUST((size_t)n <= in.n);
	if (cut < (size_t)n)
		MUST(h1_parse_response(sv_head(in, cut), method, &b, &again) ==
		     H1_MORE);
	h1_write_response_head(&out, &r.response, !r.response.close);
	MUST(!out.full);
	/* What frames the body and the connection is added to the fields. */
	if (out.n > HTTP_HEAD_MAX || r.response.fields.n + 3 > HTTP_FIELDS_MAX)
		return 0;
	MUST(h1_parse_response(buf_sv(&out), method, &b, &again) ==
	     (ssize_t)out.n);
	check_same(&r.response, &again.response);
	return 0;
}
