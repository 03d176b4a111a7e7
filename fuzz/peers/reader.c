/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own side of fuzz/differential.py: reads heads from standard input and
 * says what is made of each.
 *
 * Input and output are sequences of frames, a 32-bit little-endian length and
 * that many bytes.  A frame in begins with a byte for the inlet (0 TLS, 1 plain,
 * 2 proxy).  A frame out is empty for a head that is not accepted, else the
 * number of bytes that the head took and the framing of the body, as text, a
 * line feed, and the head as it is written for the origin.
 */
#include <stdio.h>

#include "buf.h"
#include "cur.h"
#include "h1_request.h"
#include "h1_response.h"

static const struct h1_inlet inlets[] = {
	{ .scheme = HTTP_TLS, .host = { "h.test", 6 }, .port = 443 },
	{ .scheme = HTTP_PLAIN, .host = { "h.test", 6 }, .port = 8080 },
	{ .proxy = true },
};

static bool frame_read(struct buf *b)
{
	uint8_t head[4];
	size_t n;
	char *at;

	buf_reset(b);
	if (fread(head, 1, 4, stdin) != 4)
		return false;
	n = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
	at = buf_reserve(b, n);
	if (!at || fread(at, 1, n, stdin) != n)
		return false;
	b->n = n;
	return n > 0;
}

static void answer(struct sv in, struct buf *out)
{
	auto_arena struct arena a = arena_new(1 << 20);
	const struct h1_inlet *inlet = &inlets[(uint8_t)in.p[0] % 3];
	struct h1_request h;
	ssize_t n = h1_parse_request(sv_from(in, 1), inlet, &a, &h);

	if (n <= 0 || h.is_connect)
		return;
	buf_printf(out, "%zd %d %ju\n", n, (int)h.request.body,
		   (uintmax_t)h.request.length);
	h1_write_request(out, &h.request);
}

int main(void)
{
	auto_buf struct buf in = buf_new(1 << 20), out = buf_new(1 << 20);
	auto_buf struct buf size = buf_new(4);

	while (frame_read(&in)) {
		buf_reset(&out);
		buf_reset(&size);
		answer(buf_sv(&in), &out);
		buf_put_u32(&size, (uint32_t)out.n);
		if (fwrite(size.p, 1, size.n, stdout) != size.n ||
		    fwrite(out.p ? out.p : "", 1, out.n, stdout) != out.n ||
		    fflush(stdout))
			return 1;
	}
	return 0;
}
