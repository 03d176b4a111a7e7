/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names below which anybody may have one: co.uk, github.io.
 *
 * Which these are is in no name: a list says it, the Public Suffix List, which
 * is the machine's and may not be there.  So no rule depends on it.
 */
#ifndef POLICY_PUBLIC_SUFFIX_H
#define POLICY_PUBLIC_SUFFIX_H

#include "sv.h"

/*
 * The first entry of list that is the domain or is below it: then a wildcard in
 * front of the domain covers strangers' names.  .n is 0 without any.  An entry
 * that is not written in ASCII is not recognised.
 */
struct sv public_suffix_within(struct sv list, struct sv domain);

#endif
