/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking: any division of a response into pieces gives the same output, of
 * the same length as the input, without the value in any form that it is known
 * in; and a second pass finds nothing more.
 */
#include "base64.h"
#include "fuzz.h"
#include "scrub.h"
#include "spelling.h"

/* A value spelled at its longest fits; every position is compared in every form,
 * so that more bytes would add only time. */
enum { INPUT_MAX = 400 };

/* A value of visible characters; '*' would be its own mask. */
static struct sv value_take(struct sv *in, char text[32])
{
	size_t n = SCRUB_VALUE_MIN + fuzz_byte(in) % 20;

	for (size_t i = 0; i < n; i++) {
		text[i] = (char)('!' + fuzz_byte(in) % 94);
		if (text[i] == '*')
			text[i] = '+';
	}
	return sv_of(text, n);
}

static uint64_t scrub(const struct sv values[2], struct sv in, size_t step,
		      struct buf *out)
{
	struct scrub s;
	struct err e;
	uint64_t hits;

	MUST(!scrub_init(&s, values, 2, &e));
	for (size_t at = 0; at < in.n; at += step) {
		MUST(!scrub_push(&s, sv_head(sv_from(in, at), step), out, &e));
		MUST(s.held.n < s.longest);
	}
	MUST(!scrub_finish(&s, out, &e));
	hits = s.hits;
	scrub_fini(&s);
	return hits;
}

static void check_absent(struct sv value, struct sv out)
{
	auto_buf struct buf digits = buf_new(256);
	struct spelling s = spelling_of(value), hex;
	size_t len;

	buf_put_hex(&digits, value);
	hex = spelling_of(buf_sv(&digits));
	hex.fold = true;
	MUST(sv_find_sv(out, value) == out.n);
	for (size_t i = 0; i < out.n; i++) {
		struct sv rest = sv_from(out, i);

		MUST(spelling_match(&s, rest, true, &len) == SPELLED_NO);
		MUST(spelling_match(&hex, rest, true, &len) == SPELLED_NO);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	char texts[2][32];
	struct sv values[2] = { value_take(&in, texts[0]),
				value_take(&in, texts[1]) };
	size_t step = 1 + fuzz_byte(&in) % 64, at = fuzz_byte(&in);
	auto_buf struct buf plain = buf_new(1 << 20);
	auto_buf struct buf body = buf_new(1 << 20);
	auto_buf struct buf whole = buf_new(1 << 20);
	auto_buf struct buf cut = buf_new(1 << 20);
	auto_buf struct buf twice = buf_new(1 << 20);
	uint64_t hits;

	if (size > INPUT_MAX)
		return 0;
	/* The value somewhere inside, its base64 and its digits: all are met. */
	buf_put(&plain, sv_head(in, at));
	buf_put(&plain, values[0]);
	buf_put(&plain, sv_from(in, at));
	buf_put(&body, buf_sv(&plain));
	buf_put_base64(&body, buf_sv(&plain));
	buf_put_hex(&body, values[0]);
	hits = scrub(values, buf_sv(&body), body.n, &whole);
	MUST(hits >= 3 && whole.n == body.n);
	MUST(scrub(values, buf_sv(&body), step, &cut) == hits);
	MUST(sv_eq(buf_sv(&whole), buf_sv(&cut)));
	for (size_t i = 0; i < body.n; i++)
		MUST(whole.p[i] == body.p[i] || whole.p[i] == '*');
	MUST(scrub(values, buf_sv(&whole), whole.n, &twice) == 0);
	check_absent(values[0], buf_sv(&whole));
	check_absent(values[1], buf_sv(&whole));
	return 0;
}
