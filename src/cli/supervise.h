/* SPDX-License-Identifier: Apache-2.0 */
/* While the command runs: signals, the terminal, the time limit, its end. */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

#include "launch.h"
#include "warden.h"

struct supervision {
	struct loop *loop;
	struct warden *warden;
	struct sandbox *sandbox;
	int signal_fd;			/* owned */
	struct watch signals, control;
	struct timer limit;
	bool timed_out, killed;
	unsigned interrupts;
	int status;			/* -1 while the command runs */
};

enum { STATUS_TIME_LIMIT = 124 };

/* Takes the signals that ask for an end, before anything is started. */
must_check int supervise_signals(struct supervision *s, struct err *e);
/* Until the command has ended; its exit status, or -1. */
int supervise(struct supervision *s, struct loop *l, struct warden *w,
	      struct sandbox *sb, uint64_t limit_ms, struct err *e);
void supervise_fini(struct supervision *s);

#endif
