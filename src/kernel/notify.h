/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait for somebody else: seccomp's user notification (5.0), with
 * descriptors given as the answer (SECCOMP_ADDFD_FLAG_SEND, 5.14) and callers
 * that only a fatal signal takes away while they are served (5.19).
 *
 * Nothing that a caller's pointers lead to may be decided on and then left to
 * the kernel, which would read it again: whoever serves a call carries it out
 * himself.  There is no function here that lets a call go on.
 */
#ifndef KERNEL_NOTIFY_H
#define KERNEL_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct seccomp_filter;

struct notify_call {
	uint64_t id;
	pid_t pid;		/* the thread's, as the reader sees it */
	int nr;			/* SYS_* of this architecture */
	uint64_t args[6];
};

/* Installs the filter on the caller, on top of what it has, and returns the
 * listener (CLOEXEC).  Only one filter of a process can have one: EBUSY. */
must_check int notify_listen(const struct seccomp_filter *filter,
			     struct err *e);
/* 1, or 0 when it was taken back meanwhile. */
must_check int notify_receive(int listener_fd, struct notify_call *ret,
			      struct err *e);
/* Does the caller still wait?  What was found by its pid is its own if so. */
bool notify_is_waiting(int listener_fd, uint64_t id);
/* error is 0 or an errno, the call's result -1.  One that is gone is no
 * failure. */
must_check int notify_answer(int listener_fd, uint64_t id, int error,
			     struct err *e);
/* The result is a copy of fd in the caller; -1 with its errno in e->code when
 * the caller can have no more (EMFILE). */
must_check int notify_give(int listener_fd, uint64_t id, int fd, bool cloexec,
			   struct err *e);

#endif
