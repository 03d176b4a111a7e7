/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `syscalls strict`: see filter.h.
 *
 * What shells and their tools, compilers, git, Python and Node were seen to
 * need, and what is near to it.  Not there, beside what the agent's filter
 * refuses: memory, semaphores and queues that processes share by name, classic
 * asynchronous I/O, anonymous files, pipes spliced into files and sockets,
 * protection keys, real-time scheduling, groups and capabilities, file handles,
 * unsharing, and the attribute calls of 6.13.
 *
 * All of that is ENOSYS: programs know kernels without it, and have another way.
 */
#include "filter.h"

#include <errno.h>

#include "own.h"
#include "uapi.h"

#define S(call) SYS_##call

static const uint16_t strict_calls[] = {
	S(read), S(write), S(readv), S(writev), S(pread64), S(pwrite64),
	S(preadv), S(pwritev), S(lseek), S(close), S(close_range), S(openat),
	S(dup), S(dup3), S(fcntl), S(flock), S(fsync), S(fdatasync), S(sync),
	S(syncfs), S(sync_file_range), S(truncate), S(ftruncate), S(fallocate),
	S(fadvise64), S(readahead), S(copy_file_range), S(sendfile), S(fstat),
	S(newfstatat), S(statx), S(statfs), S(fstatfs), S(faccessat),
	S(faccessat2), S(readlinkat), S(getdents64), S(getcwd), S(chdir),
	S(fchdir), S(mkdirat), S(unlinkat), S(linkat), S(symlinkat),
	S(renameat), S(renameat2), S(mknodat), S(fchmod), S(fchmodat),
	S(fchmodat2), S(fchown), S(fchownat), S(umask), S(utimensat),
	S(setxattr), S(lsetxattr), S(fsetxattr), S(getxattr), S(lgetxattr),
	S(fgetxattr), S(listxattr), S(llistxattr), S(flistxattr),
	S(removexattr), S(lremovexattr), S(fremovexattr), S(inotify_init1),
	S(inotify_add_watch), S(inotify_rm_watch), S(ioctl), S(pipe2), S(ppoll),
	S(pselect6), S(epoll_create1), S(epoll_ctl), S(epoll_pwait),
	S(epoll_pwait2), S(eventfd2), S(signalfd4), S(timerfd_create),
	S(timerfd_settime), S(timerfd_gettime), S(mmap), S(munmap), S(mremap),
	S(mprotect), S(madvise), S(brk), S(msync), S(mlock), S(mlock2),
	S(munlock), S(mseal), S(membarrier), S(clone), S(execve), S(execveat),
	S(exit), S(exit_group), S(wait4), S(waitid), S(kill), S(tkill),
	S(tgkill), S(pidfd_open), S(pidfd_send_signal), S(getpid), S(getppid),
	S(gettid), S(getpgid), S(setpgid), S(getsid), S(setsid), S(getpriority),
	S(setpriority), S(ioprio_get), S(getrlimit), S(setrlimit), S(prlimit64),
	S(getrusage), S(times), S(getcpu), S(sched_yield), S(sched_getparam),
	S(sched_getscheduler), S(sched_getattr), S(sched_get_priority_max),
	S(sched_get_priority_min), S(sched_getaffinity), S(sched_setaffinity),
	S(set_tid_address), S(set_robust_list), S(futex), S(futex_waitv),
	S(futex_wake), S(futex_wait), S(futex_requeue), S(rseq),
	S(restart_syscall), S(prctl), S(personality), S(rt_sigaction),
	S(rt_sigprocmask), S(rt_sigpending), S(rt_sigtimedwait),
	S(rt_sigqueueinfo), S(rt_sigsuspend), S(rt_sigreturn), S(sigaltstack),
	S(getuid), S(geteuid), S(getgid), S(getegid), S(getgroups),
	S(getresuid), S(getresgid), S(setuid), S(setgid), S(setreuid),
	S(setregid), S(setresuid), S(setresgid), S(capget), S(uname),
	S(sysinfo), S(clock_gettime), S(clock_getres), S(clock_nanosleep),
	S(gettimeofday), S(nanosleep), S(getitimer), S(setitimer),
	S(timer_create), S(timer_settime), S(timer_gettime),
	S(timer_getoverrun), S(timer_delete), S(getrandom), S(socket),
	S(socketpair), S(bind), S(connect), S(listen), S(accept), S(accept4),
	S(getsockname), S(getpeername), S(shutdown), S(getsockopt),
	S(setsockopt), S(sendto), S(recvfrom), S(sendmsg), S(recvmsg),
	S(sendmmsg), S(seccomp), S(landlock_create_ruleset),
	S(landlock_add_rule), S(landlock_restrict_self),
#ifdef __x86_64__
	S(open), S(creat), S(stat), S(lstat), S(access), S(readlink),
	S(getdents), S(rename), S(mkdir), S(rmdir), S(link), S(unlink),
	S(symlink), S(chmod), S(chown), S(lchown), S(utime), S(utimes),
	S(futimesat), S(mknod), S(poll), S(select), S(pipe), S(dup2),
	S(epoll_create), S(epoll_wait), S(eventfd), S(signalfd),
	S(inotify_init), S(pause), S(alarm), S(fork), S(vfork), S(getpgrp),
	S(time), S(arch_prctl),
#endif
};

static bool is_strict(uint32_t nr)
{
	for (size_t i = 0; i < countof(strict_calls); i++)
		if (strict_calls[i] == nr)
			return true;
	return false;
}

static bool is_opened(const struct seccomp_filter *f, uint32_t nr)
{
	for (size_t i = 0; i < f->opened_n; i++)
		if (f->opened[i] == nr)
			return true;
	return false;
}

/* Some check may still allow. */
static bool may_allow(const struct seccomp_rule *r)
{
	if (r->verdict == VERDICT_ALLOW)
		return true;
	for (const struct seccomp_check *k = r->checks; k && k->op; k++)
		if (!k->and && k->verdict == VERDICT_ALLOW)
			return true;
	return false;
}

bool filter_refuses(const struct seccomp_filter *f, uint32_t nr)
{
	if (is_opened(f, nr))
		return false;
	for (size_t i = 0; i < f->n; i++)
		if (f->rules[i].nr == nr)
			return !may_allow(&f->rules[i]);
	return f->fallback != VERDICT_ALLOW;
}

void filter_strict(bool debug, struct seccomp_rule *rules,
		   struct seccomp_filter *ret)
{
	const struct seccomp_filter *agent = filter_agent(debug);
	const uint32_t absent = VERDICT_ERRNO(ENOSYS);

	for (size_t i = 0; i < agent->n; i++) {
		uint32_t nr = agent->rules[i].nr;
		/* Where the agent's filter refuses, its answer stands. */
		bool pass = is_strict(nr) || is_opened(agent, nr) ||
			    filter_refuses(agent, nr);

		rules[i] = (struct seccomp_rule){
			.nr = nr, .name = agent->rules[i].name,
			.verdict = pass ? VERDICT_ALLOW : absent,
		};
	}
	*ret = (struct seccomp_filter){
		.rules = rules, .n = agent->n, .fallback = absent,
		.narrows = true,
	};
}

int filter_narrow(struct sv program, struct err *e)
{
	const struct sock_fprog prog = {
		.len = (unsigned short)(program.n / sizeof *prog.filter),
		/* It is only read; the structure knows no const. */
		.filter = (struct sock_filter *)(uintptr_t)program.p,
	};

	if (program.n == 0 || program.n % sizeof *prog.filter ||
	    program.n / sizeof *prog.filter > BPF_LENGTH_LIMIT)
		return err_kind(e, ERR_BUG, "no program");
	return seccomp_add(&prog, e);
}
