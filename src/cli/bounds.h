/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of a run while it runs: which one has ended it, or was reached.
 *
 * Memory and output end the run when they are full; time is supervise.c's.
 * The number of processes and the size of files only refuse, and are told at
 * the end.  Where there are control groups, a reaper removes them should this
 * process be killed.
 */
#ifndef CLI_BOUNDS_H
#define CLI_BOUNDS_H

#include "launch.h"
#include "loop.h"
#include "output_count.h"
#include "reaper.h"

struct bounds {
	const struct plan_limits *limits;	/* borrowed; NULL: none yet */
	const struct limits_groups *groups;	/* borrowed */
	struct loop *loop;			/* borrowed */
	struct reaper reaper;
	pid_t pid;				/* whom the reaper outlives */
	struct watch memory;
	int memory_fd;				/* owned */
	struct output_count output;
	enum limit_kind ended_by;
	/* Set by who supervises: everything inside has to end now. */
	void (*over)(void *ctx);
	void *ctx;
};

/* After plan_new(), before sandbox_start(). */
must_check int bounds_open(struct bounds *b, struct plan *plan,
			   struct err *e);
/* When the sandbox stands. */
must_check int bounds_watch(struct bounds *b, struct loop *loop,
			    const struct sandbox *sb, struct err *e);
/* After sandbox_kill().  Accepts a zeroed one. */
void bounds_close(struct bounds *b);

/* When the sandbox is gone: what was reached, or LIMIT_NONE.  *status is what
 * the run is to end with. */
enum limit_kind bounds_verdict(const struct bounds *b,
			       const struct sandbox *sb, bool timed_out,
			       int *status);
/* "memory 64M", or empty */
struct sv bounds_text(const struct bounds *b, enum limit_kind kind);

#endif
