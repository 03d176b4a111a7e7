/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hosts, and patterns of them: "*", "*.example.com" or a name. */
#ifndef POLICY_HOSTPATTERN_H
#define POLICY_HOSTPATTERN_H

#include "arena.h"

/* Each gives NULL when v (lower case) is one, else a sentence that says why
 * it is none. */
const char *hostpattern_name_fault(struct sv v);
const char *hostpattern_fault(struct sv v);

/* A name that means this machine, this network or a cloud's metadata service,
 * whoever asks: never suggested, and not a public name. */
bool hostpattern_is_special(struct sv name);

/* v in lower case, in the arena; .p NULL when it is full. */
struct sv hostpattern_lower(struct arena *a, struct sv v);

#endif
