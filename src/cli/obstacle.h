/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in the way of a user namespace here: a switch of the machine's,
 * AppArmor, or the filter of what is around us.  The kernel says the same
 * EPERM for most of them, and what helps differs.
 */
#ifndef CLI_OBSTACLE_H
#define CLI_OBSTACLE_H

#include "err.h"

enum obstacle {
	OBSTACLE_NONE,		/* or none that is known */
	OBSTACLE_OWN,		/* a sandbox of stockade's is around us */
	OBSTACLE_OFF,
	OBSTACLE_ROOT_ONLY,
	OBSTACLE_APPARMOR,
	OBSTACLE_FILTER,
};

/* After a refused call, of whose error *e is. */
enum obstacle obstacle_find(const struct err *e);
const char *obstacle_cause(enum obstacle o);

enum { OBSTACLE_REMEDY_MAX = 8192 };

/* What helps, never by weakening the host.  Lines after the first are a file's
 * to be, and begin with blanks.  NULL for OBSTACLE_NONE. */
const char *obstacle_remedy(enum obstacle o);

/* Adds this to the error of a run that could not be started, where the machine
 * refused something. */
void obstacle_explain(struct err *e);

#endif
