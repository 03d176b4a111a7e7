/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's terminal, relayed to the sandbox's own.
 *
 * The command never has the user's terminal: it has a pty of the sandbox, and
 * bytes are carried between the two.  The user's is raw meanwhile, so that
 * Ctrl-C and Ctrl-Z mean what the inner terminal says they mean.
 *
 *	terminal_open()		after sandbox_pty(), before sandbox_go()
 *	terminal_signal()	for SIGWINCH and SIGCONT of this process
 *	terminal_suspend()	when the command was stopped (SANDBOX_STOPPED):
 *				stops this process's job too; afterwards send
 *				SIGCONT inside
 *	terminal_close()	after sandbox_kill(): what the command still
 *				wrote goes out, and the mode comes back
 *
 * What the command prints passes exactly, or through a filter (escape.h).  What
 * is typed always passes exactly.
 *
 * A process in the background leaves the mode alone and reads nothing until a
 * SIGCONT finds it in the foreground.  So does one whose output is a pipe: the
 * terminal is the pager's at the other end.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "buf.h"
#include "escape.h"
#include "loop.h"
#include "output_count.h"
#include "pty.h"
#include "reaper.h"

struct terminal {
	struct loop *loop;	/* borrowed */
	int user_fd;		/* owned; own description, not blocking */
	int pty_fd;		/* owned */
	bool may_be_raw;	/* output is not a pipe */
	bool is_raw;
	struct pty_mode mode;	/* the user's, to be put back */
	struct reaper reaper;
	struct watch user, pty;
	struct buf to_user, to_pty;
	struct output_count *count;	/* borrowed; set after opening */
	bool filtered;			/* the same */
	struct escape_filter filter;
	struct buf unfiltered;
};

/* stdio are the caller's 0, 1 and 2, one of which is a terminal.  Takes
 * pty_fd, also on failure. */
must_check int terminal_open(struct terminal *t, struct loop *loop,
			     const int stdio[3], int pty_fd, struct err *e);
void terminal_signal(struct terminal *t, int signal);
void terminal_suspend(struct terminal *t);
/* Accepts one that was never opened, if it is zeroed. */
void terminal_close(struct terminal *t);

#endif
