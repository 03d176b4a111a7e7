/* SPDX-License-Identifier: Apache-2.0 */
/* At the end of a run: what the agent has made that runs commands when it is
 * used (launch/leaves.h), in one line to a person. */
#ifndef CLI_LEAVINGS_H
#define CLI_LEAVINGS_H

#include "buf.h"

struct leavings {
	struct buf paths;	/* owned; NUL between */
	int count;
};

/* One more path, with count -1; else all of them, instead of those. */
void leavings_take(struct leavings *l, struct sv paths, int count);
/* Says them, if stderr is a terminal and there are any. */
void leavings_tell(const struct leavings *l, const char *run);
void leavings_fini(struct leavings *l);

#endif
