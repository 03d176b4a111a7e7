/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentry of a run (launch/sentry.h), as a child of this process.
 *
 * It is made when the command has run for a moment: most commands have ended by
 * then.  What it does is put on record; if it ends, or cannot keep what was
 * promised, the run ends.
 */
#ifndef CLI_RUN_SENTRY_H
#define CLI_RUN_SENTRY_H

#include "launch.h"
#include "loop.h"
#include "warden.h"

struct run_sentry {
	/* Borrowed, set by the caller. */
	const struct plan *plan;
	struct loop *loop;
	struct sandbox *sandbox;
	struct warden *warden;
	/* Everything inside has to end now, and why; said to the person and put
	 * on record already. */
	void (*over)(void *ctx);
	void *ctx;

	unsigned appeared;	/* things that were hidden or guarded */
	struct err unwatched;	/* kind 0: all is watched */
	uint64_t since_ms;	/* ... it has been at a name, when last looked */
	struct timer timer;
	struct watch notes;
	int note_fd, pidfd;	/* owned; -1: there is none */
};

/* One that is not there. */
static inline struct run_sentry run_sentry_none(void)
{
	return (struct run_sentry){
		.notes = { .fd = -1 }, .note_fd = -1, .pidfd = -1,
	};
}

/* The command runs: some time from now there will be one, if it is needed. */
void run_sentry_begin(struct run_sentry *s);
/* The sandbox's namespaces have come, which are taken over. */
void run_sentry_start(struct run_sentry *s, int space_fd[SANDBOX_SPACES_N]);
/* The command has ended: no event comes from now on. */
void run_sentry_end(struct run_sentry *s);
/* To a person, at the end; run is its name. */
void run_sentry_tell(const struct run_sentry *s, const char *run);
/* It is gone.  Accepts one that is not there. */
void run_sentry_close(struct run_sentry *s);

#endif
