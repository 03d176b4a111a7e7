/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentry: a process outside of the sandbox that watches the granted trees
 * while the command runs, and covers or guards there what appears and would have
 * been covered or guarded at the start.
 *
 * It is made when the command has run for a moment, and ends with its parent.  It
 * looks at the host's trees by descriptors (inotify), and mounts in the sandbox's
 * mount namespace, which it has entered.  Nothing that is mounted is ever taken
 * away.
 */
#ifndef LAUNCH_SENTRY_H
#define LAUNCH_SENTRY_H

#include "launch.h"

/* Has the plan something that could appear? */
bool sentry_is_asked(const struct plan *plan);

struct sentry_post {
	const struct plan *plan;
	int space_fd[SANDBOX_SPACES_N];	/* owned: user, mount, network */
	int note_fd;			/* owned: the parent's other end */
	pid_t parent;
};
/* What the process does that was made for it, for good. */
_Noreturn void sentry_run(const struct sentry_post *post);

/* The parent's side: what it has to say.  Without waiting. */
enum sentry_event_kind {
	SENTRY_NOTHING = 0,
	SENTRY_COVERED, SENTRY_GUARDED,	/* path, because of rule */
	SENTRY_UNWATCHED,	/* why: not all of a tree is watched */
	SENTRY_FAILED,		/* why: what was promised cannot be kept */
	SENTRY_LOST,		/* it has ended */
};
/* Has it been at one and the same name for so long that it will not come back, and
 * was at it when this was asked before?  Then nothing kept us from asking. */
bool sentry_hangs(const struct plan *plan, uint64_t *since);
struct sentry_event {
	enum sentry_event_kind kind;
	struct sv path, rule;	/* until the next event */
	struct err why;
};
struct sentry_event sentry_next(int note_fd);

#endif
