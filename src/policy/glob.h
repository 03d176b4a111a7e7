/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns over paths, segment by segment: `**` as a whole segment is any
 * number of segments, also none; inside a segment `*`, `?` and `[a-z]`,
 * `[!a-z]`.  A leading dot is a character like any other: a pattern that hides
 * must not overlook what is hidden from a shell.  What grants is the other way
 * round: glob_match_shown() needs a dot for a dot, as a shell does.
 */
#ifndef POLICY_GLOB_H
#define POLICY_GLOB_H

#include "sv.h"

/* Both are absolute and clean. */
bool glob_match(struct sv pattern, struct sv path);
/* The same, but a name with a dot in front matches only where the pattern's
 * segment has one in front. */
bool glob_match_shown(struct sv pattern, struct sv path);
/* Could something below the directory `path` match? */
bool glob_may_match_below(struct sv pattern, struct sv path);
bool glob_may_show_below(struct sv pattern, struct sv path);
/* One segment, without '/'. */
bool glob_match_segment(struct sv pattern, struct sv name);
/* Has a character that means something. */
bool glob_is_pattern(struct sv v);

#endif
