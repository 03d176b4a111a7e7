/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts, targets and paths.  What is canonical stays as it is when it is made
 * canonical again; and whatever a careless origin does to an accepted path
 * (decoding it up to three times, dropping parameters, turning backslashes
 * round), no dot segment and no control comes out of it.
 */
#include "buf.h"
#include "fuzz.h"
#include "target.h"

static void check_host(struct sv in)
{
	char text[HTTP_HOST_MAX], again[HTTP_HOST_MAX];
	struct sv host, same;
	struct authority a;

	if (!authority_parse(in, &a))
		MUST(!host_is_literal(a.host) && a.host.p == a.text);
	if (host_canonical(in, text, &host))
		return;
	MUST(host.n > 0 && host.n <= HTTP_HOST_MAX);
	MUST(host.p[0] != '.' && host.p[host.n - 1] != '.');
	MUST(!host_canonical(host, again, &same) && sv_eq(host, same));
}

/* One careless decoding: escapes, and backslashes for slashes. */
static void decode(struct sv in, struct buf *out)
{
	for (size_t i = 0; i < in.n; i++) {
		char c = in.p[i];

		if (c == '%' && i + 2 < in.n && hex_value(in.p[i + 1]) >= 0 &&
		    hex_value(in.p[i + 2]) >= 0) {
			c = (char)(hex_value(in.p[i + 1]) << 4 |
				   hex_value(in.p[i + 2]));
			i += 2;
		}
		buf_putc(out, c == '\\' ? '/' : c);
	}
}

static void check_segments(struct sv path)
{
	while (path.n) {
		size_t n = sv_find(path, '/');
		struct sv segment = sv_trim(sv_head(path, n));

		segment = sv_trim(sv_head(segment, sv_find(segment, ';')));
		MUST(!sv_eq(segment, SV(".")) && !sv_eq(segment, SV("..")));
		path = sv_from(path, n + 1);
	}
}

static void check_careless_readings(struct sv path, unsigned decodings)
{
	auto_buf struct buf decoded = buf_new(65536);

	check_segments(path);
	for (size_t i = 0; i < path.n; i++)
		MUST((uint8_t)path.p[i] >= ' ' && path.p[i] != 0x7f);
	if (decodings == 0)
		return;
	decode(path, &decoded);
	check_careless_readings(buf_sv(&decoded), decodings - 1);
}

static void check_path(struct sv in)
{
	auto_arena struct arena a = arena_new(1 << 20);
	struct sv path, same;

	if (path_canonical(in, &a, &path)) {
		MUST(!path_is_canonical(in));
		return;
	}
	MUST(path_is_canonical(path) && path.n <= in.n);
	MUST(!path_canonical(path, &a, &same) && sv_eq(path, same));
	check_careless_readings(path, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	unsigned accepted = fuzz_byte(&in) & 15;
	auto_arena struct arena a = arena_new(1 << 20);
	struct target t;

	check_host(in);
	check_path(in);
	if (!target_parse(in, accepted, &a, &t)) {
		MUST(accepted & t.form);
		MUST(t.form == TARGET_ASTERISK || path_is_canonical(t.path));
		MUST(!query_check(t.query));
	}
	return 0;
}
