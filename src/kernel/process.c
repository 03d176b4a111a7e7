/* SPDX-License-Identifier: Apache-2.0 */
/* Processes by descriptor: see process.h. */
#include "process.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "feature.h"

pid_t process_clone(uint64_t flags, int *pidfd, struct err *e)
{
	int fd = -1;
	struct uapi_clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&fd,
		.exit_signal = SIGCHLD,
	};
	long pid = syscall(SYS_clone3, &args, sizeof args);

	if (pid < 0)
		return err_feature(e, "clone3", "5.3", "make a process");
	if (pid > 0)
		*pidfd = fd;
	return (pid_t)pid;
}

int process_signal(int pidfd, int signal, struct err *e)
{
	if (pidfd_send_signal(pidfd, signal, NULL, 0) < 0)
		return err_feature(e, "pidfd_send_signal", "5.1",
				   "send signal %d", signal);
	return 0;
}

int process_wait(int pidfd, struct process_end *ret, struct err *e)
{
	siginfo_t info = { 0 };
	int rc;

	do {
		rc = waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return err_sys(e, "wait for a process");
	*ret = (struct process_end){ 0 };
	if (info.si_code == CLD_EXITED)
		ret->status = info.si_status;
	else
		ret->signal = info.si_status;
	return 0;
}

/* Both ends included; nothing when the range is empty. */
static int close_between(unsigned first, unsigned last, struct err *e)
{
	if (first <= last && close_range(first, last, 0) < 0)
		return err_feature(e, "close_range", "5.9",
				   "close descriptors");
	return 0;
}

/* The smallest that is not below `from`, or UINT_MAX. */
static unsigned next_kept(const int *keep, size_t n, unsigned from)
{
	unsigned next = UINT_MAX;

	for (size_t i = 0; i < n; i++)
		if (keep[i] >= 0 && (unsigned)keep[i] >= from &&
		    (unsigned)keep[i] < next)
			next = (unsigned)keep[i];
	return next;
}

int process_close_except(const int *keep, size_t n, struct err *e)
{
	unsigned from = 0;

	for (;;) {
		unsigned kept = next_kept(keep, n, from);

		if (kept == UINT_MAX)
			return close_between(from, UINT_MAX, e);
		if (kept > from && close_between(from, kept - 1, e) < 0)
			return -1;
		from = kept + 1;
	}
}

int process_cloexec_from(unsigned first, struct err *e)
{
	if (close_range(first, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0)
		return 0;
	if (errno == EINVAL)
		errno = ENOSYS;
	return err_feature(e, "close_range(CLOEXEC)", "5.11",
			   "mark descriptors close-on-exec");
}

int process_die_with_parent(int signal, pid_t parent_pid, struct err *e)
{
	if (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) < 0)
		return err_sys(e, "ask for a signal at the parent's end");
	/* It may have ended before we asked. */
	if (parent_pid && getppid() != parent_pid) {
		errno = ESRCH;
		return err_sys(e, "find the parent");
	}
	return 0;
}

void process_cpus(cpu_set_t *ret)
{
	if (sched_getaffinity(0, sizeof *ret, ret) < 0)
		CPU_ZERO(ret);
}

bool process_this_cpu(cpu_set_t *ret)
{
	int here = sched_getcpu();

	CPU_ZERO(ret);
	if (here >= 0)
		CPU_SET((size_t)here, ret);
	return here >= 0;
}

bool process_other_cpus(const cpu_set_t *all, cpu_set_t *ret)
{
	cpu_set_t here;

	if (!process_this_cpu(&here))
		return false;
	CPU_AND(&here, &here, all);
	CPU_XOR(ret, all, &here);
	return CPU_COUNT(ret) > 0;
}

void process_keep_on(pid_t pid, const cpu_set_t *cpus)
{
	if (CPU_COUNT(cpus) > 0)
		(void)sched_setaffinity(pid, sizeof *cpus, cpus);
}

void process_give_way(bool on)
{
	const struct sched_param none = { 0 };
	static bool given;	/* a policy of the caller's own stays */

	if (on)
		given = sched_getscheduler(0) == SCHED_OTHER &&
			sched_setscheduler(0, SCHED_BATCH, &none) == 0;
	else if (given)
		(void)sched_setscheduler(0, SCHED_OTHER, &none);
}

bool process_orphans_are_reaped(void)
{
	/* PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h. */
	const ino_t host_pid_namespace = 0xeffffffc;
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 &&
	       st.st_ino == host_pid_namespace;
}

int process_hide(struct err *e)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "become undumpable");
	return 0;
}
