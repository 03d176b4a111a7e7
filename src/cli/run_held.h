/* SPDX-License-Identifier: Apache-2.0 */
/* What a run with `workspace overlay` holds: made before it, kept or removed
 * after it. */
#ifndef CLI_RUN_HELD_H
#define CLI_RUN_HELD_H

#include <limits.h>

#include "held.h"
#include "launch.h"
#include "reaper.h"

#define HELD_STORE "held"	/* in the state directory */

struct run_held {
	bool is_open;
	bool again;		/* an earlier run has left it */
	const char *id;		/* borrowed: the run's */
	int store_fd;		/* owned */
	struct held held;
	int layers_fd;		/* owned; with `limit workspace`: carry.h */
	int pidfd;		/* borrowed, by the reaper: pid 1 */
	struct reaper reaper;	/* carries it out when we are killed */
	char path[PATH_MAX];
};

static inline struct run_held run_held_none(void)
{
	return (struct run_held){ .store_fd = -1, .held = { .fd = -1 },
				  .layers_fd = -1 };
}

/* What a killed `stockade apply` has begun is completed, or undone; so is what a
 * killed run has carried out of memory, and what it has not is told. */
must_check int run_held_recover(struct err *e);
/* ... in the store, which stays locked as long as it is open. */
must_check int run_held_recover_in(int store_fd, struct err *e);

/* For run `id`, or of what `keep` names (.n is 0 without).  What in->held says
 * lives as long as r. */
must_check int run_held_begin(struct run_held *r, const char *id,
			      struct sv keep, struct launch_input *in,
			      struct err *e);
/* Then, with `limit workspace`: the layers are made in that file system, which r
 * closes. */
must_check int run_held_limit(struct run_held *r, int layers_fd,
			      const struct plan *plan, struct launch_input *in,
			      struct err *e);
/* Before the plan is carried out, by that pid 1; does nothing without
 * run_held_begin(). */
must_check int run_held_note(struct run_held *r, const struct plan *plan,
			     pid_t pid, struct err *e);
/* The launch has failed: was it to continue from something? */
void run_held_explain(const struct run_held *r, struct err *e);
/* Before the command runs: what is only in memory outlives us. */
must_check int run_held_guard(struct run_held *r, int pidfd, struct err *e);
/* While the command runs: what else would be done at the end. */
void run_held_tidy(const struct run_held *r);
/* When nothing of the run is left: says what is held, which stays locked.  Fails
 * when nothing of the run could be. */
must_check int run_held_end(struct run_held *r, struct err *e);
/* Unlocks it.  Without run_held_end(), because the command has not run, nothing
 * is kept but what was. */
void run_held_fini(struct run_held *r);

#endif
