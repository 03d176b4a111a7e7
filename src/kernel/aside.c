/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that may never come back: see aside.h.
 *
 * The process is made as vfork() makes one, in our memory, so no page is copied
 * and its results need not be sent; but we wait for it with a limit.  libc knows
 * of one thread, so nothing may be called here while it runs that allocates or
 * sets errno.
 *
 * It has descriptors of its own, none: one that is left behind would hold open
 * what ends for others when we end, such as a pipe that our output goes to.
 */
#include "aside.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"
#include "own.h"
#include "process.h"

/* As large as a usual first one: who walks trees may go deep. */
enum { STACK = 8 << 20, GUARD = 64 << 10, DEATH_MS = 50 };

struct aside {
	void (*work)(void *arg);
	void *arg;
	pid_t parent;
	struct err e;
};

static int begin(void *arg)
{
	struct aside *a = arg;

	if (process_die_with_parent(SIGKILL, a->parent, &a->e) < 0 ||
	    process_close_except(NULL, 0, &a->e) < 0)
		return 1;
	a->work(a->arg);
	return 0;
}

/* Its lowest part ends who goes too deep. */
static char *new_stack(struct err *e)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			   MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

	if (stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE) < 0) {
		(void)err_sys(e, "make a stack");
		return NULL;
	}
	return stack;
}

static int start(struct aside *a, char *stack, int *pidfd, struct err *e)
{
	cpu_set_t all, here;
	pid_t pid;

	/* We sleep from now on: elsewhere it would wait for what works there. */
	process_cpus(&all);
	if (process_this_cpu(&here))
		process_keep_on(0, &here);
	pid = clone(begin, stack + STACK, CLONE_VM | CLONE_PIDFD |
		    SIGCHLD, a, pidfd);
	process_keep_on(0, &all);
	return pid < 0 ? err_sys(e, "make a process that looks at files") : 0;
}

/* Has it ended, at the latest at that time?  With these signals blocked. */
static bool has_ended(int pidfd, uint64_t until_ms, const sigset_t *blocked)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	uint64_t now = loop_now_ms(), rest = until_ms > now ?
					     until_ms - now : 0;
	struct timespec time = {
		.tv_sec = (time_t)(rest / 1000),
		.tv_nsec = (long)(rest % 1000) * 1000000,
	};

	return ppoll(&end, 1, &time, blocked) > 0;
}

void aside_impatient(sigset_t *ret)
{
	const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

	(void)sigprocmask(SIG_SETMASK, NULL, ret);
	for (size_t i = 0; i < countof(ending); i++)
		(void)sigdelset(ret, ending[i]);
}

static bool has_ended_in_time(int pidfd, const _Atomic uint64_t *until_ms)
{
	uint64_t patient_ms = loop_now_ms() + ASIDE_PATIENCE_MS;
	sigset_t blocked;

	if (has_ended(pidfd, patient_ms < *until_ms ? patient_ms : *until_ms,
		      NULL))
		return true;
	aside_impatient(&blocked);
	while (loop_now_ms() < *until_ms)
		if (has_ended(pidfd, *until_ms, &blocked))
			return true;
	return false;
}

int aside_run(void (*work)(void *arg), void *arg,
	      const _Atomic uint64_t *until_ms, struct err *e)
{
	struct aside a = { .work = work, .arg = arg, .parent = getpid() };
	struct process_end end;
	auto_fd int pidfd = -1;
	char *stack = new_stack(e);

	if (!stack || start(&a, stack, &pidfd, e) < 0)
		return -1;
	if (!has_ended_in_time(pidfd, until_ms)) {
		(void)process_signal(pidfd, SIGKILL, e);
		if (has_ended(pidfd, loop_now_ms() + DEATH_MS, NULL) &&
		    process_wait(pidfd, &end, e) < 0)
			return -1;
		return 1;	/* its stack may be in use */
	}
	(void)munmap(stack, STACK);
	if (process_wait(pidfd, &end, e) < 0)
		return -1;
	if (end.signal)
		return err_kind(e, ERR_BUG, "the process that looks at files "
				"was ended by signal %d", end.signal);
	if (end.status) {
		*e = a.e;
		return -1;
	}
	return 0;
}
