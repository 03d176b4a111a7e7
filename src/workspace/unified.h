/* SPDX-License-Identifier: Apache-2.0 */
/* Unified differences of two texts. */
#ifndef WORKSPACE_UNIFIED_H
#define WORKSPACE_UNIFIED_H

#include <stdbool.h>

#include "buf.h"

/* Has a zero byte near its start, as git decides it. */
bool unified_is_binary(struct sv text);

/*
 * Appends the hunks that make b of a, with three lines around each; nothing
 * when they are equal.  With `visible`, bytes that a terminal would act upon are
 * shown as \xNN, but for tabs.  Texts that differ a lot get one large hunk.
 */
must_check int unified_put(struct buf *out, struct sv a, struct sv b,
			   bool visible, struct err *e);

#endif
