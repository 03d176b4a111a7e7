/* SPDX-License-Identifier: Apache-2.0 */
/* Why a request was decided so, and which statement would permit it. */
#ifndef POLICY_EXPLANATION_H
#define POLICY_EXPLANATION_H

#include "match.h"

enum { EXPLANATION_REASON_MAX = 1000, EXPLANATION_ALLOW_MAX = 4000 };

/* From verdict and rule to reason and allow_with; `clear` is false when the
 * path has no one meaning.  -1: the arena is full. */
must_check int explanation_put(const struct policy *p,
			       const struct question *q, bool clear,
			       struct arena *a, struct answer *ret);

#endif
