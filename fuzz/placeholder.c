/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders: one that is put into any bytes is found there, whole and over
 * any division into pieces, and a division finds what the whole has.
 */
#include "buf.h"
#include "fuzz.h"
#include "own.h"
#include "placeholder.h"

/*
 * The longest form of a placeholder is a few hundred bytes, and each piece costs a
 * search of its own: more bytes, or more pieces, would add only time.
 */
enum { INPUT_MAX = 512, PIECES_MAX = 64 };

static bool scan(struct sv body, size_t step)
{
	struct placeholder_scan s = { 0 };
	struct placeholder_core out;
	bool found = false;

	if (step <= body.n / PIECES_MAX)
		step = body.n / PIECES_MAX + 1;
	for (size_t at = 0; at < body.n; at += step)
		if (placeholder_scan(&s, true, sv_head(sv_from(body, at), step),
				     &out)) {
			MUST(placeholder_is_in(body, sv_of(out.text, out.n)));
			found = true;
		}
	return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t noise[PLACEHOLDER_NOISE] = { 1, 2, 0xab };
	static const struct sv likes[] = {
		SV(""), SV("jwt"), SV("ghp_"), SV("xoxb-"), SV("x"),
	};
	struct sv in = fuzz_input(data, size);
	size_t step = 1 + fuzz_byte(&in) % 100, at = fuzz_byte(&in);
	struct sv like = likes[fuzz_byte(&in) % countof(likes)];
	auto_buf struct buf body = buf_new(1 << 20);
	struct placeholder_core out;
	struct placeholder made;

	if (size > INPUT_MAX)
		return 0;
	if (placeholder_find(in, &out))
		MUST(placeholder_is_in(in, sv_of(out.text, out.n)));
	MUST(scan(in, step) == scan(in, in.n + 1));
	MUST(placeholder_make(noise, like, &made));
	buf_put(&body, sv_head(in, at));
	buf_put(&body, placeholder_text(&made));
	buf_put(&body, sv_from(in, at));
	MUST(placeholder_find(buf_sv(&body), &out));
	MUST(placeholder_is_in(buf_sv(&body), placeholder_core(&made)));
	MUST(scan(buf_sv(&body), step));
	return 0;
}
