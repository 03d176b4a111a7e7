/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes by descriptor: clone3 (5.3), pidfd_send_signal (5.1), waitid
 * P_PIDFD (5.4), close_range (5.9, CLOEXEC 5.11).
 */
#ifndef KERNEL_PROCESS_H
#define KERNEL_PROCESS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "uapi.h"

/*
 * fork() into new namespaces: flags are CLONE_NEW*, also CLONE_NEWTIME.
 * Returns the pid in the parent, 0 in the child; *pidfd (CLOEXEC) is set in
 * the parent only.  The caller must have one thread: no handlers are run, so
 * a lock that another thread holds would stay locked in the child for ever.
 */
must_check pid_t process_clone(uint64_t flags, int *pidfd, struct err *e);

/* May be ignored where the process may have ended already. */
int process_signal(int pidfd, int signal, struct err *e);

struct process_end {
	int status;		/* of exit, when signal is 0 */
	int signal;		/* that killed it */
};
/* Waits for the end of a child and reaps it. */
must_check int process_wait(int pidfd, struct process_end *ret, struct err *e);
/* As a shell's $?: the status, or 128 + signal. */
static inline int process_status(const struct process_end *end)
{
	return end->signal ? 128 + end->signal : end->status;
}

/* Closes every descriptor but those listed, in any order; -1 is none. */
must_check int process_close_except(const int *keep, size_t n, struct err *e);
/* Marks every descriptor from `first` on close-on-exec. */
must_check int process_cloexec_from(unsigned first, struct err *e);

/* The signal comes when the *thread* that made us ends.  Fails with ESRCH when
 * it has ended already: parent_pid is what getpid() said there, or 0 where
 * the parent is in another pid namespace and cannot be compared. */
must_check int process_die_with_parent(int signal, pid_t parent_pid,
				       struct err *e);
/*
 * Two that work at the same time are kept on two processors: who wakes another
 * by a socket is taken to sleep next, and the kernel puts the woken on its
 * processor, where it waits while another is idle.  All of this is a hint, and
 * may fail.
 *
 * What the caller may use; empty where that is not known.
 */
void process_cpus(cpu_set_t *ret);
/* The one that the caller is on; false where that is not known. */
bool process_this_cpu(cpu_set_t *ret);
/* All without that one; false where there is no other. */
bool process_other_cpus(const cpu_set_t *all, cpu_set_t *ret);
/* Of a process, or with 0 of the caller's thread; an empty set changes none. */
void process_keep_on(pid_t pid, const cpu_set_t *cpus);
/* Whether the caller's thread, when it is woken, lets what works on its
 * processor go on first; children inherit it (SCHED_BATCH, sched(7)).  Whoever
 * has another policy than the usual one keeps it. */
void process_give_way(bool on);
/* Whether a child that outlives us is reaped by whoever inherits it.  The init
 * of the host does that; the first process of a container often does not. */
bool process_orphans_are_reaped(void);
/* Not traceable and no core file, by anyone with the same uid. */
must_check int process_hide(struct err *e);

#endif
