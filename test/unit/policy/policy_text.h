/* SPDX-License-Identifier: Apache-2.0 */
/* A policy from a literal, as the tests need it. */
#ifndef TEST_POLICY_TEXT_H
#define TEST_POLICY_TEXT_H

#include "parse.h"
#include "text_form.h"

static inline struct policy_source source_of(const char *text)
{
	return (struct policy_source){
		.name = SV("t.policy"), .text = sv_str(text),
		.base = SV("/proj"), .home = SV("/home/u"),
	};
}

/* Parses and checks; the caller frees *ret in any case. */
static inline int policy_of(const char *text, struct policy *ret,
			    struct err *e)
{
	struct policy_source s = source_of(text);

	*ret = policy_new();
	if (policy_parse(ret, &s, e) < 0)
		return -1;
	return policy_check(ret, e);
}

#define auto_policy __attribute__((cleanup(policy_free)))

#endif
