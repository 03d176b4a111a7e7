/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sentry has made read-only inside, in memory that it shares with pid 1.
 *
 * At the start each directory above a guarded path is a mount, so that it cannot
 * be renamed away.  While the command runs that would come too late for whoever is
 * in such a directory, and would not show him what is mounted there afterwards;
 * so pid 1, who renames for the agent, refuses it.
 */
#ifndef LAUNCH_KEPT_H
#define LAUNCH_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "sv.h"

enum { KEPT_BYTES = 4 << 20 };

struct kept {
	_Atomic size_t n;	/* of these bytes are written: "PATH NUL PATH ..." */
	char paths[KEPT_BYTES];
};

/* False: there is no room. */
bool kept_add(struct kept *k, struct sv path);
/* Is one of them below dir, of which is_still() says that it is one yet?  k may be
 * NULL. */
bool kept_below(const struct kept *k, struct sv dir,
		bool (*is_still)(const char *path));

#endif
