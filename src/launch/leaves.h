/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent leaves that runs something later: it may make repositories, and
 * in a directory of its own (made.h) every name that is guarded by default, and
 * these are its own.  Whoever uses them outside should have been told.
 *
 * The keeper shows every name that is about to be made.  It is said at once, for
 * the record, and the directory that it is in is kept open: where that is at the
 * end, and whether the name is still there, is what the person is told.
 */
#ifndef LAUNCH_LEAVES_H
#define LAUNCH_LEAVES_H

#include <limits.h>

#include "creation.h"
#include "descent.h"

enum { LEAVES_MAX = 64 };	/* told of a run; more are only counted */

struct leaves {
	struct leaf {
		int dir_fd;	/* owned; O_PATH */
		uint64_t dev, ino;
		char name[NAME_MAX + 1];	/* "" : a bare repository */
	} v[LEAVES_MAX];
	size_t n;
	bool more, told;
};

/* The name at d, with that path, is about to be made; freed is the rule that
 * does not hold there because the directory is the agent's, or NULL. */
void leaves_look(struct leaves *l, int control_fd, const struct plan *plan,
		 const struct descent *d, struct sv path,
		 const struct creation_rule *freed);
/* At the end of the run, when nothing is made any more. */
void leaves_tell(struct leaves *l, int control_fd);

#endif
