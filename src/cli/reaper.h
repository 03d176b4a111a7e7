/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reaper: a process that outlives this one, to put things back.
 *
 * What runs inside ends with its pid 1, and that ends with us, by the kernel's
 * doing.  A terminal in raw mode does not, nor a control group: so before there
 * is such a thing, a child is made that waits for our end, expected or not, and
 * undoes it if we did not.
 */
#ifndef CLI_REAPER_H
#define CLI_REAPER_H

#include <stddef.h>

#include "pty.h"

struct reaper {
	bool running;
	int pidfd;		/* owned */
	int life_fd;		/* owned; its end is our end */
};

struct reaper_job {
	const int *keep;	/* the descriptors that it needs */
	size_t n;
	void (*undo)(const void *arg);
	const void *arg;	/* in memory that it has a copy of */
};
enum { REAPER_FDS_MAX = 8 };
must_check int reaper_start_job(struct reaper *r,
				const struct reaper_job *job, struct err *e);
/* fd is the terminal whose mode is to be put back. */
must_check int reaper_start(struct reaper *r, int fd,
			    const struct pty_mode *mode, struct err *e);
/* All is put back: let it go. */
void reaper_dismiss(struct reaper *r);

#endif
