/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of fields, as HTTP/2 carries them.  Of every accepted one: the decider's
 * second look agrees, it is for the host that the connection is for, and what is
 * written for the origin has one reading, which is the request itself.
 */
#include "h2_head.h"
#include "written.h"

static const struct h1_inlet inlets[] = {
	{ .scheme = HTTP_TLS, .host = { "h.test", 6 }, .port = 443 },
	{ .scheme = HTTP_TLS, .host = { "h.test", 6 }, .port = 8443 },
};

/* Fields end in NUL or, if the first byte says so, in LF, so that each of the two
 * can be within a field. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	uint8_t how = fuzz_byte(&in);
	const struct h1_inlet *inlet = &inlets[how & 1];
	bool ended = how & 2;
	char end = how & 4 ? '\0' : '\n';
	auto_arena struct arena a = arena_new(1 << 19);
	struct h2_list list = { 0 };
	struct http_request r;

	while (in.n) {
		struct sv field = sv_cut(&in, end);
		struct sv name = sv_cut(&field, ' ');

		h2_list_add(&list, &a, name, field);
	}
	if (h2_parse_request(&list, ended, inlet, &a, &r) < 0) {
		MUST(list.why.reason && list.why.status >= 400 &&
		     list.why.status <= 505);
		return 0;
	}
	MUST(!list.why.reason);
	MUST(sv_eq(r.host, inlet->host) && r.port == inlet->port);
	MUST(request_is_canonical(&r));
	MUST(!ended || r.body == HTTP_BODY_NONE || r.length == 0);
	MUST(ended || r.body != HTTP_BODY_NONE || r.upgrade);
	check_written(&r);
	return 0;
}
