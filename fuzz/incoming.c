/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole response connection: the outcome, the body and what is left behind
 * the end are the same however the bytes were cut into reads.
 */
#include "fuzz.h"
#include "incoming.h"

struct outcome {
	enum incoming_result last;
	uint16_t status;
	struct buf body;
	size_t left;
};

static struct outcome run(struct sv text, struct sv method, size_t cut)
{
	struct outcome o = { .last = INCOMING_MORE, .body = buf_new(1 << 20) };
	struct incoming i;
	unsigned heads = 0, hints = 0;

	incoming_init(&i, method);
	while (text.n && o.last == INCOMING_MORE) {
		struct sv in = sv_head(text, cut), data;
		const char *end = in.p + in.n;

		text = sv_from(text, in.n);
		do {
			o.last = incoming_next(&i, &in, &data);
			MUST(o.last == INCOMING_BAD || in.p + in.n == end);
			heads += o.last == INCOMING_HEAD;
			hints += o.last == INCOMING_HINTS;
			MUST(o.last != INCOMING_HINTS ||
			     (heads == 0 && i.response.status == 103));
			if (o.last != INCOMING_DATA)
				continue;
			MUST(heads == 1 && data.n > 0);
			MUST(data.p + data.n <= end);
			buf_put(&o.body, data);
		} while (o.last == INCOMING_HEAD || o.last == INCOMING_DATA ||
			 o.last == INCOMING_HINTS);
		o.left = in.n + text.n;
	}
	if (o.last == INCOMING_MORE)
		o.last = incoming_eof(&i, true);
	MUST(o.last == INCOMING_END || (o.last == INCOMING_BAD && i.reason));
	MUST(heads <= 1 && hints <= INCOMING_INTERIM_MAX && !o.body.full);
	o.status = heads ? i.response.status : 0;
	if (o.last == INCOMING_END) {
		MUST(heads == 1 && o.status >= 200);
		MUST(i.response.body != HTTP_BODY_LENGTH ||
		     o.body.n == i.response.length);
	}
	incoming_fini(&i);
	return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sv methods[] = { { "GET", 3 }, { "HEAD", 4 } };
	struct sv in = fuzz_input(data, size);
	struct sv method = methods[fuzz_byte(&in) % 2];
	size_t cut = fuzz_byte(&in) + 1U;
	struct outcome whole = run(in, method, in.n ? in.n : 1);
	struct outcome pieces = run(in, method, cut);

	MUST(whole.last == pieces.last);
	if (whole.last == INCOMING_END) {
		MUST(whole.status == pieces.status);
		MUST(whole.left == pieces.left);
		MUST(sv_eq(buf_sv(&whole.body), buf_sv(&pieces.body)));
	}
	buf_free(&whole.body);
	buf_free(&pieces.body);
	return 0;
}
