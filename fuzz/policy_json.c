/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON form: never crashes; what is accepted is written and read again as
 * the same bytes. */
#include <stdlib.h>

#include "json_form.h"
#include "json_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int write_form(struct sv text, struct buf *ret)
{
	struct policy p = policy_new();
	struct policy_source s = {
		.name = SV("f"), .text = text, .base = SV("/proj"),
		.home = SV("/home/u"),
	};
	struct err e = { 0 };
	int r = json_source_is(text) ? policy_parse(&p, &s, &e) : -1;

	if (r == 0)
		r = policy_check(&p, &e);
	if (r == 0)
		policy_json(&p, ret);
	policy_free(&p);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf once = buf_new(1 << 24), twice = buf_new(1 << 24);

	if (write_form(sv_of((const char *)data, n), &once) == 0) {
		if (write_form(buf_sv(&once), &twice) < 0 ||
		    !sv_eq(buf_sv(&once), buf_sv(&twice)))
			abort();
	}
	buf_free(&once);
	buf_free(&twice);
	return 0;
}
