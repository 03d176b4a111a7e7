/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request heads.  Of every accepted head: no shorter part of it was accepted
 * or refused, the decider's second look agrees, and what is written for the
 * origin has one reading, which is the request itself.
 */
#include "written.h"

static const struct h1_inlet inlets[] = {
	{ .scheme = HTTP_TLS, .host = { "h.test", 6 }, .port = 443 },
	{ .scheme = HTTP_PLAIN, .host = { "h.test", 6 }, .port = 8080 },
	{ .proxy = true },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	const struct h1_inlet *inlet = &inlets[fuzz_byte(&in) % 3];
	size_t cut = fuzz_byte(&in);
	auto_arena struct arena a = arena_new(1 << 20);
	auto_arena struct arena b = arena_new(1 << 20);
	struct h1_request h, part;
	ssize_t n = h1_parse_request(in, inlet, &a, &h);

	if (n == H1_BAD) {
		MUST(h.reason && h.status >= 400 && h.status <= 505);
		return 0;
	}
	if (n == H1_MORE)
		return 0;
	MUST((size_t)n <= in.n);
	if (cut < (size_t)n)
		MUST(h1_parse_request(sv_head(in, cut), inlet, &b, &part) ==
		     H1_MORE);
	if (h.is_connect)
		return 0;
	MUST(request_is_canonical(&h.request));
	check_written(&h.request);
	return 0;
}
