/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles that are about one thing, which whoever uses them names.
 *
 *	takes OWNER/REPO
 *	allow POST example.com/{}/git-receive-pack
 *
 * `takes` is such a profile's first statement.  `{}` stands for the argument,
 * `{%2F}` for the same with each slash encoded, as where it is one segment of a
 * path.  An argument has as many parts as the form, where `...` is any number
 * of them; a part is letters, digits, dots, dashes and underscores, so that in
 * a rule it is itself and nothing else.  Pure.
 */
#ifndef POLICY_PROFILE_ARGUMENT_H
#define POLICY_PROFILE_ARGUMENT_H

#include "arena.h"
#include "parse.h"

/* The form that a profile takes, and where its text says so; .p is NULL when it
 * takes none. */
must_check int profile_argument_form(const struct policy_source *profile,
				     struct arena *a, struct sv *ret_form,
				     size_t *ret_at, struct err *e);

/* NULL, or why it is none of that form. */
const char *profile_argument_fault(struct sv form, struct sv argument);

/* The text with the argument in it, in the arena; .p is NULL when that is
 * full. */
struct sv profile_argument_fill(struct sv text, struct sv argument,
				struct arena *a);

#endif
