/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries in rules: pure.
 *
 * A pattern is a list of pairs, `k=v&flag&k2=*`, and at its end perhaps `*` for
 * any others.  The order means nothing.  `*` in a value is any bytes, or none;
 * a key is written out.
 *
 * What a query says is not the same to every program: one takes the first of
 * two equal keys and one the last, one splits at `;`, one reads `a[]` as `a`.
 * So a rule that permits asks for a query that can be read in one way only, and
 * a rule that restricts looks into each of its readings.
 */
#ifndef POLICY_QUERY_H
#define POLICY_QUERY_H

#include "arena.h"

/* Of a query that a pattern may permit; each is compared with each. */
enum { QUERY_PAIRS_MAX = 64 };

/*
 * *ret is the pattern v (behind the `?`) in canonical form, in the arena:
 * unreserved characters not encoded, the hex of the others in upper case.
 * NULL, or why v is no pattern.
 */
const char *query_canonical(struct sv v, struct arena *a, struct sv *ret);

/*
 * For allow.  NULL when the query has the pattern's pairs, each once, and no
 * others but with `*`, and can be read in no other way; else a sentence that
 * says what is in the way.
 */
const char *query_difference(struct sv pattern, struct sv query);

/* For deny and ask: can the query be read as one that has each of the pattern's
 * pairs, whatever else it has? */
bool query_may_have(struct sv pattern, struct sv query);

#endif
