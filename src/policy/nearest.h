/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean ...": the candidate the fewest slips of the hand away. */
#ifndef POLICY_NEAREST_H
#define POLICY_NEAREST_H

#include "sv.h"

enum {
	NEAREST_MAX = 32,	/* longer words are not compared */
	NEAREST_CUT_MIN = 3,	/* of a word whose end is missing */
};

struct nearest {
	struct sv word;		/* what was written */
	struct sv best;		/* .p NULL: nothing is near enough */
	size_t distance;
};

static inline struct nearest nearest_to(struct sv word)
{
	return (struct nearest){ .word = word, .distance = 1 + word.n / 3 };
}

void nearest_offer(struct nearest *n, struct sv candidate);

#endif
