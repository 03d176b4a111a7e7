/* SPDX-License-Identifier: Apache-2.0 */
/* While the command runs: signals, the terminal, the time limit, its end. */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

#include "bounds.h"
#include "launch.h"
#include "leavings.h"
#include "publish.h"
#include "run_control.h"
#include "run_sentry.h"
#include "terminal.h"
#include "warden.h"

struct supervision {
	struct loop *loop;		/* all borrowed */
	struct warden *warden;
	struct sandbox *sandbox;
	struct terminal *terminal;	/* NULL without one */
	struct publish *publish;	/* NULL without one */
	struct bounds *bounds;
	struct run_sentry *sentry;
	struct run_control *asked;
	struct leavings *leavings;	/* what is left, to be told at the end */
	int signal_fd;			/* owned */
	struct watch signals, control;
	struct timer limit, grace;
	bool timed_out, killed;
	bool interrupted;		/* by SIGINT, on a terminal */
	unsigned interrupts;
	int status;			/* -1 while the command runs */
};

enum { STATUS_TIME_LIMIT = 124 };

/* Takes the signals that ask for an end, before anything is started. */
must_check int supervise_signals(struct supervision *s, struct err *e);
/* Until the command has ended; its exit status, or -1.  loop, warden, sandbox,
 * terminal, bounds, sentry and asked are set by the caller; limit_ms 0 is none. */
int supervise(struct supervision *s, uint64_t limit_ms, struct err *e);
void supervise_fini(struct supervision *s);

#endif
