/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo terminals of an instance of devpts, and the user's own terminal. */
#ifndef KERNEL_PTY_H
#define KERNEL_PTY_H

#include <stdbool.h>
#include <termios.h>

#include "err.h"

struct pty {
	int master;		/* owned; CLOEXEC, O_NOCTTY */
	int slave;		/* owned; CLOEXEC, O_NOCTTY */
	unsigned index;		/* its name is /dev/pts/INDEX */
};

/* devpts_fd is the root of a devpts instance, attached or not. */
must_check int pty_open(int devpts_fd, struct pty *ret, struct err *e);
/* The window size of one terminal, given to another. */
must_check int pty_copy_size(int from, int to, struct err *e);
/* Makes slave the controlling terminal of this process, which leads a session
 * without one (setsid). */
must_check int pty_control(int slave, struct err *e);

struct pty_mode {
	bool saved;
	struct termios termios;
};
/* Raw, with the old mode in *old; a second call keeps what is saved. */
must_check int pty_raw(int fd, struct pty_mode *old, struct err *e);
/* Async-signal-safe; does nothing when nothing is saved. */
void pty_restore(int fd, const struct pty_mode *old);

#endif
