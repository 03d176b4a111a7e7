/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sealed file of secrets: what is accepted is what the writer writes of its
 * parts, each view lies within it, names are in order, and a guess of the
 * passphrase costs what can be paid.
 */
#include "fuzz.h"
#include "sealed.h"

static bool is_within(struct sv part, struct sv text)
{
	return part.n == 0 ||
	       (part.p >= text.p && part.p + part.n <= text.p + text.n);
}

static void put_box(struct buf *b, const struct sealed_box *box, struct sv text)
{
	MUST(box->nonce.n == SEALED_NONCE && box->tag.n == SEALED_TAG);
	MUST(is_within(box->nonce, text) && is_within(box->text, text) &&
	     is_within(box->tag, text));
	buf_put(b, box->nonce);
	buf_put(b, box->text);
	buf_put(b, box->tag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sealed s;
	struct sv text = fuzz_input(data, size);
	struct buf b = buf_new(SEALED_SIZE_MAX);
	struct err e = { 0 };

	if (sealed_parse(text, &s, &e) < 0) {
		MUST(e.msg[0]);
		return 0;
	}
	MUST(sealed_memory(&s.cost) > 0 &&
	     sealed_memory(&s.cost) <= UINT64_C(512) << 20);
	sealed_put_front(&b, &s.cost, s.salt);
	MUST(sv_eq(buf_sv(&b), s.front));
	put_box(&b, &s.wrap, text);
	MUST(sv_eq(buf_sv(&b), s.head));
	MUST(s.n <= SEALED_ENTRIES_MAX);
	sealed_put_count(&b, s.n);
	for (size_t i = 0; i < s.n; i++) {
		MUST(store_name_is(s.entries[i].name));
		MUST(sealed_find(&s, s.entries[i].name) == &s.entries[i]);
		sealed_put_name(&b, s.entries[i].name,
				s.entries[i].box.text.n);
		put_box(&b, &s.entries[i].box, text);
	}
	MUST(sv_eq(buf_sv(&b), s.body));
	put_box(&b, &s.close, text);
	MUST(sv_eq(buf_sv(&b), text));
	buf_free(&b);
	return 0;
}
