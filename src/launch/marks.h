/* SPDX-License-Identifier: Apache-2.0 */
/* What `show`, `hide` and `guard` name.  After marks_plan(). */
#ifndef LAUNCH_MARKS_H
#define LAUNCH_MARKS_H

#include "builder.h"
#include "sieve.h"

/* The statement of that kind that names path, or NULL. */
const struct grant *marks_named_by(const struct builder *b,
				   enum grant_kind kind, struct sv path);
/* Could a statement of that kind name something below path? */
bool marks_named_below(const struct builder *b, enum grant_kind kind,
		       struct sv path);
/* Every name that one of them could name passes, whatever is above it. */
void marks_sieve(const struct builder *b, struct sieve *s);

#endif
