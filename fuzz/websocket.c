/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a server: nothing is lost or added, and where they begin does not
 * depend on how they were cut.
 */
#include "buf.h"
#include "fuzz.h"
#include "websocket.h"

/* Both cuts are in the first half of it. */
enum { INPUT_MAX = 1024 };

/* All that was taken, with a mark in front of each head; false: bad. */
static bool read_frames(struct sv in, size_t first, size_t second,
			bool extended, struct buf *plain, struct buf *marked)
{
	struct sv pieces[3] = { sv_head(in, first),
				sv_head(sv_from(in, first), second),
				sv_from(in, first + second) };
	struct websocket_frames f = { .extended = extended };

	for (size_t i = 0; i < 3; i++) {
		enum websocket_piece got;
		struct sv piece = { 0 };

		while ((got = websocket_next(&f, &pieces[i], &piece)) >
		       WEBSOCKET_MORE) {
			MUST(piece.n);
			if (got == WEBSOCKET_HEAD)
				buf_puts(marked, "<>");
			buf_put(marked, piece);
			buf_put(plain, piece);
		}
		if (got == WEBSOCKET_BAD)
			return false;
		MUST(pieces[i].n == 0);
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	size_t first = fuzz_byte(&in), second = fuzz_byte(&in);
	bool extended = fuzz_byte(&in) & 1;
	auto_buf struct buf whole = buf_new(1 << 20), cut = buf_new(1 << 20);
	auto_buf struct buf a = buf_new(1 << 21), b = buf_new(1 << 21);
	bool good;

	if (size > INPUT_MAX)
		return 0;
	good = read_frames(in, 0, 0, extended, &whole, &a);
	MUST(read_frames(in, first, second, extended, &cut, &b) == good);
	MUST(sv_eq(buf_sv(&a), buf_sv(&b)));
	/* The rest is part of a head that is not whole. */
	MUST(sv_eq(buf_sv(&whole), sv_head(in, whole.n)));
	MUST(!good || in.n - whole.n < WEBSOCKET_HEAD_MAX);
	return 0;
}
