/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a message bus answers: what is read lies within the message, does not
 * depend on what follows, and is not whole while a byte is missing.
 */
#include "bus.h"
#include "fuzz.h"

static bool is_within(struct sv part, struct sv whole)
{
	return part.n == 0 || (part.p >= whole.p && part.n <= whole.n &&
			       part.p + part.n <= whole.p + whole.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sv in = sv_of((const char *)data, n);
	struct bus_message m, again;
	long length = bus_parse(in, &m);
	struct sv whole;

	MUST(length >= -1 && length <= (long)n);
	if (length <= 0)
		return 0;
	whole = sv_head(in, (size_t)length);
	MUST(is_within(m.text, whole) && is_within(m.error, whole));
	MUST(bus_parse(whole, &again) == length);
	MUST(again.type == m.type && again.reply_to == m.reply_to &&
	     sv_eq(again.text, m.text) && sv_eq(again.error, m.error));
	for (size_t i = 0; i < whole.n; i++)
		MUST(bus_parse(sv_head(whole, i), &again) == 0);
	return 0;
}
