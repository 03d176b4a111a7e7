/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy text: parses whatever it is given; what is accepted and printed must
 * parse to the same, in text and in JSON.  Behind a NUL is what every profile
 * says.
 */
#include <stdlib.h>

#include "json_form.h"
#include "parse.h"
#include "text_form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct policy_source source_of(struct sv text)
{
	return (struct policy_source){
		.name = SV("f"), .text = text, .base = SV("/proj/[x]"),
		.home = SV("/home/u"),
	};
}

/* What every profile says, a few times: they may name each other. */
struct profile {
	struct sv text;
	int loads;
};

static int load(void *ctx, struct sv name, struct sv *ret, struct err *e)
{
	struct profile *profile = ctx;

	(void)name;
	if (++profile->loads > 4)
		return err_kind(e, ERR_POLICY, "there is no such profile");
	*ret = profile->text;
	return 0;
}

/* The accepted policy once more, from one of its own forms. */
static void check_same(struct sv form, struct sv text)
{
	struct policy p = policy_new();
	struct policy_source s = source_of(form);
	struct buf again = buf_new(1 << 24);
	struct err e = { 0 };

	s.base = SV("/elsewhere");
	s.home = (struct sv){ 0 };
	if (policy_parse(&p, &s, &e) < 0 || policy_check(&p, &e) < 0)
		abort();
	policy_print(&p, &again, false);
	if (!sv_eq(buf_sv(&again), text))
		abort();
	buf_free(&again);
	policy_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct policy p = policy_new();
	struct sv text = sv_of((const char *)data, n);
	struct policy_source s = source_of(sv_head(text, sv_find(text, '\0')));
	struct profile profile = { .text = sv_from(text, s.text.n + 1) };
	struct err e = { 0 };

	s.load = load;
	s.load_ctx = &profile;
	if (policy_parse(&p, &s, &e) == 0 && policy_check(&p, &e) == 0) {
		struct buf printed = buf_new(1 << 24);
		struct buf json = buf_new(1 << 24);

		policy_print(&p, &printed, false);
		policy_json(&p, &json);
		check_same(buf_sv(&printed), buf_sv(&printed));
		check_same(buf_sv(&json), buf_sv(&printed));
		buf_free(&printed);
		buf_free(&json);
	} else if (e.kind == ERR_NONE || strlen(e.msg) == 0 ||
		   strlen(e.msg) >= sizeof e.msg - 1) {
		abort();
	}
	policy_free(&p);
	return 0;
}
