/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reaper: a process that outlives this one, to put the terminal back.
 *
 * What runs inside ends with its pid 1, and that ends with us, by the kernel's
 * doing.  A terminal in raw mode does not: so before it becomes raw, a child is
 * made that waits for our end, expected or not, and restores the mode if we
 * did not.
 */
#ifndef CLI_REAPER_H
#define CLI_REAPER_H

#include "pty.h"

struct reaper {
	bool running;
	int pidfd;		/* owned */
	int life_fd;		/* owned; its end is our end */
};

/* fd is the terminal whose mode is to be put back. */
must_check int reaper_start(struct reaper *r, int fd,
			    const struct pty_mode *mode, struct err *e);
/* The mode is back: let it go. */
void reaper_dismiss(struct reaper *r);

#endif
