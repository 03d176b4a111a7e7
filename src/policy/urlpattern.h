/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of request paths.
 *
 * A pattern is written in the canonical form of paths: unreserved characters
 * are not encoded, the hex of the others is upper case, no segment is empty
 * (but the last) or a dot segment.  `*` matches within one segment that is not
 * empty, a segment `**` any number of segments; at the end at least one, which
 * may be empty: `/p/` and `**` covers /p/ and all below, not /p.
 */
#ifndef POLICY_URLPATTERN_H
#define POLICY_URLPATTERN_H

#include "arena.h"

enum { URLPATTERN_PATH_MAX = 8192 };

/* *ret is v in canonical form, in the arena.  NULL, or why there is none. */
const char *urlpattern_canonical(struct sv v, struct arena *a,
				 struct sv *ret);
/* Not empty segments (but the last), no dot segments, starts with '/'. */
bool urlpattern_is_clean(struct sv path);

bool urlpattern_match(struct sv pattern, struct sv path);

/*
 * The other reading of a path: each %2F as a separator.  An origin may take
 * either.  Writes to out (at least v.n bytes) and returns what it wrote; .p is
 * NULL when there is no %2F in v, so that there is one reading only.
 */
struct sv urlpattern_other_reading(struct sv v, char *out);

/* Is there a `;`, encoded or not? */
bool urlpattern_has_parameters(struct sv v);

/*
 * A path or a pattern as servers read it that take what is behind a `;` in a
 * segment for parameters.  Writes and returns as above; .p is NULL when there are
 * none in v.
 */
struct sv urlpattern_bare(struct sv v, char *out);

#endif
