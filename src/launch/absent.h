/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's rules for names that do not exist and are not to (creation.h). */
#ifndef LAUNCH_ABSENT_H
#define LAUNCH_ABSENT_H

#include "builder.h"

/* path, canonical as far as it exists, is not to be made. */
void absent_forbid(struct builder *b, struct sv path, struct sv why,
		   bool is_default);
/* What is guarded by default at any depth, and by patterns. */
void absent_plan(struct builder *b);

#endif
