/* SPDX-License-Identifier: Apache-2.0 */
/* Masking in frames: wherever they and the reads are cut, no head changes. */
#include "websocket_mask.h"

#include <stdlib.h>

#include "own.h"
#include "tap.h"

#define VALUE "sk-Te5tK3y"
#define MASK "**********"

enum { CONTINUED = 0x00, TEXT = 0x01, CLOSE = 0x08, PING = 0x09, LAST = 0x80 };

static void put_frame(struct buf *b, int first, struct sv payload)
{
	buf_putc(b, (char)first);
	buf_putc(b, (char)payload.n);
	buf_put(b, payload);
}

/* in through a mask, in pieces of `step` bytes. */
static int mask(struct sv in, size_t step, struct buf *out, uint64_t *hits)
{
	static const struct sv values[] = { SV(VALUE) };
	struct scrub *s = calloc(1, sizeof *s);
	struct websocket_frames f = { 0 };
	struct websocket_mask *m;
	struct err e;
	int r = 0;

	CHECK(s && !scrub_init(s, values, 1, &e));
	m = websocket_mask_new(s, &e);
	CHECK(m);
	for (size_t at = 0; at < in.n && r == 0; at += step)
		r = websocket_mask_push(m, &f, sv_head(sv_from(in, at), step),
					out, &e);
	*hits = m->scrub->hits;
	websocket_mask_free(m);
	return r;
}

static void check_masked(struct sv in, struct sv want, uint64_t want_hits)
{
	for (size_t step = 1; step <= in.n; step++) {
		auto_buf struct buf out = buf_new(4096);
		uint64_t hits = 0;

		CHECK(!mask(in, step, &out, &hits));
		CHECK(sv_eq(buf_sv(&out), want));
		CHECK_INT(hits, want_hits);
	}
}

static void test_a_value_is_masked_whatever_frames_it_is_in(void)
{
	static const struct sv text = SV("<" VALUE "> and " VALUE),
			       masked = SV("<" MASK "> and " MASK);

	for (size_t i = 0; i <= text.n; i++)
		for (size_t k = i; k <= text.n; k++) {
			auto_buf struct buf in = buf_new(256);
			auto_buf struct buf want = buf_new(256);
			const struct { struct buf *to; struct sv text; } both[] = {
				{ &in, text }, { &want, masked },
			};

			for (size_t b = 0; b < countof(both); b++) {
				struct sv v = both[b].text;

				put_frame(both[b].to, TEXT, sv_head(v, i));
				put_frame(both[b].to, CONTINUED,
					  sv_head(sv_from(v, i), k - i));
				put_frame(both[b].to, LAST | CONTINUED,
					  sv_from(v, k));
			}
			check_masked(buf_sv(&in), buf_sv(&want), 2);
		}
}

static void test_a_value_in_frames_of_one_byte_is_masked(void)
{
	auto_buf struct buf in = buf_new(256), want = buf_new(256);

	for (size_t i = 0; i < sizeof(VALUE) - 1; i++) {
		int first = (i ? CONTINUED : TEXT) |
			    (i == sizeof(VALUE) - 2 ? LAST : 0);

		put_frame(&in, first, sv_head(sv_from(SV(VALUE), i), 1));
		put_frame(&want, first, SV("*"));
	}
	check_masked(buf_sv(&in), buf_sv(&want), 1);
}

/* The agent may have to answer before more comes. */
static void test_nothing_is_held_behind_a_message_or_a_control_frame(void)
{
	auto_buf struct buf in = buf_new(256);

	put_frame(&in, LAST | TEXT, SV("begins: sk-Te"));
	check_masked(buf_sv(&in), buf_sv(&in), 0);
	put_frame(&in, TEXT, SV("5tK3y sk-"));
	put_frame(&in, LAST | PING, SV("sk-T"));
	check_masked(buf_sv(&in), buf_sv(&in), 0);
	put_frame(&in, LAST | CONTINUED, SV("e5tK3y"));
	put_frame(&in, LAST | CLOSE, SV("sk-T"));
	check_masked(buf_sv(&in), buf_sv(&in), 0);
}

static void test_a_value_in_a_control_frame_is_masked(void)
{
	auto_buf struct buf in = buf_new(256), want = buf_new(256);

	put_frame(&in, TEXT, SV("sk-"));
	put_frame(&want, TEXT, SV("sk-"));
	put_frame(&in, LAST | PING, SV(VALUE));
	put_frame(&want, LAST | PING, SV(MASK));
	put_frame(&in, LAST | CONTINUED, SV("a"));
	put_frame(&want, LAST | CONTINUED, SV("a"));
	check_masked(buf_sv(&in), buf_sv(&want), 1);
}

/* What waits is bounded; what is let go is not lost. */
static void test_heads_without_end_do_not_wait(void)
{
	auto_buf struct buf in = buf_new(4096);

	put_frame(&in, TEXT, SV("sk-"));
	for (int i = 0; i < 3 * WEBSOCKET_MASK_FRAMES; i++)
		put_frame(&in, CONTINUED, SV(""));
	put_frame(&in, LAST | CONTINUED, SV("end"));
	check_masked(buf_sv(&in), buf_sv(&in), 0);
}

static void test_what_are_no_frames_is_refused(void)
{
	auto_buf struct buf out = buf_new(256);
	uint64_t hits;

	CHECK(mask(SV("\x83\x01x"), 1, &out, &hits) < 0);
	CHECK(mask(SV("\x81\x81xxxxy"), 7, &out, &hits) < 0);
	CHECK(mask(SV("\x81\x01x"), 1, &out, &hits) == 0);
}

int main(void)
{
	RUN(test_a_value_is_masked_whatever_frames_it_is_in);
	RUN(test_a_value_in_frames_of_one_byte_is_masked);
	RUN(test_nothing_is_held_behind_a_message_or_a_control_frame);
	RUN(test_a_value_in_a_control_frame_is_masked);
	RUN(test_heads_without_end_do_not_wait);
	RUN(test_what_are_no_frames_is_refused);
	return tap_done();
}
