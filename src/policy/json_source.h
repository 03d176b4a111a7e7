/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the canonical JSON form (json_form.h writes it). */
#ifndef POLICY_JSON_SOURCE_H
#define POLICY_JSON_SOURCE_H

#include "parse.h"

/* The first byte of a text that is no blank tells the two forms apart. */
bool json_source_is(struct sv text);

/*
 * Each entry becomes the words of its statement, and is parsed as such: there
 * is one set of rules for both forms.
 */
must_check int json_source_parse(struct policy *p,
				 const struct policy_source *s, struct err *e);

#endif
