/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that may never come back from a system call: where the server of a file
 * system is gone, the kernel may keep who asks for it for ever, and past every
 * signal.  A process does it that can be left behind.
 */
#ifndef KERNEL_ASIDE_H
#define KERNEL_ASIDE_H

#include <signal.h>
#include <stdint.h>

#include "err.h"

/*
 * Calls work(arg) in this memory and without any descriptor, while the caller
 * does nothing but wait, also for what *until_ms becomes meanwhile (by
 * loop_now_ms()).  0 when it has returned; 1 when the time is past: then it is
 * killed, and does nothing more, but may be a process for as long as the kernel
 * keeps it.  The caller must have one thread and no handlers of signals; after
 * ASIDE_PATIENCE_MS it is ended by those that end a program, also where it blocks
 * them: at first they are kept for the command, but who waits for longer wants to
 * end this.
 */
must_check int aside_run(void (*work)(void *arg), void *arg,
			 const _Atomic uint64_t *until_ms, struct err *e);

enum { ASIDE_PATIENCE_MS = 500 };
/* What the caller blocks, but for the signals that end a program. */
void aside_impatient(sigset_t *ret);

#endif
