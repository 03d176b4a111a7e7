/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts at other processes, terminals, namespaces and foreign calls. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t number(const char *text)
{
	return (pid_t)probe_number(text);
}

static int trace(char **args)
{
	return probe_result(ptrace(PTRACE_SEIZE, number(args[0]), NULL, NULL));
}

/* A child that waits, and the same byte in its memory as here. */
static char shared_byte = 'a';

static pid_t make_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)pause();
	return pid;
}

static int end_child(pid_t pid, long rc)
{
	int result = probe_result(rc);

	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return result;
}

static int trace_own(char **args)
{
	pid_t pid = make_child();
	long rc = ptrace(PTRACE_ATTACH, pid, NULL, NULL);

	(void)args;
	if (rc == 0) {
		(void)waitpid(pid, NULL, 0);
		errno = 0;
		rc = ptrace(PTRACE_PEEKDATA, pid, &shared_byte, NULL);
		rc = errno ? -1 : 0;
	}
	return end_child(pid, rc);
}

static int move_own(long call)
{
	char byte = 'b';
	struct iovec here = { &byte, 1 }, there = { &shared_byte, 1 };
	pid_t pid = make_child();
	long rc = syscall(call, pid, &here, 1, &there, 1, 0);

	return end_child(pid, rc == 1 ? 0 : -1);
}

static int read_own(char **args)
{
	(void)args;
	return move_own(SYS_process_vm_readv);
}

static int write_own(char **args)
{
	(void)args;
	return move_own(SYS_process_vm_writev);
}

static int compare_own(char **args)
{
	pid_t pid = make_child();

	(void)args;
	return end_child(pid, syscall(SYS_kcmp, getpid(), pid, 1 /* VM */, 0,
				      0) >= 0 ? 0 : -1);
}

#ifdef __x86_64__
/* getpid() of a child, made to be unshare(CLONE_NEWUSER) when the kernel has
 * it in hand already. */
static int change_call(char **args)
{
	struct user_regs_struct regs;
	pid_t pid = fork();
	long rc;

	(void)args;
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(errno);
		(void)raise(SIGSTOP);
		(void)syscall(SYS_getpid);
		_exit(0);
	}
	do {	/* up to the entry of that call */
		int status;

		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return -EPERM;
		rc = ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	} while (rc == 0 && regs.orig_rax != SYS_getpid &&
		 ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0);
	regs.orig_rax = SYS_unshare;
	regs.rdi = CLONE_NEWUSER;
	if (rc < 0 || ptrace(PTRACE_SETREGS, pid, NULL, &regs) < 0 ||
	    ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 ||
	    waitpid(pid, NULL, 0) != pid ||
	    ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return end_child(pid, -1);
	(void)end_child(pid, 0);
	return (int)(long)regs.rax;
}
#endif

static int signal_it(char **args)
{
	return probe_result(kill(number(args[0]), 0));
}

static int read_memory(char **args)
{
	char byte;
	struct iovec here = { &byte, 1 };
	/* An address that is not there: EFAULT says that we may. */
	struct iovec there = { NULL, 1 };
	long rc = syscall(SYS_process_vm_readv, number(args[0]), &here, 1,
			  &there, 1, 0);

	return rc < 0 && errno != EFAULT ? -errno : 0;
}

static int take_descriptor(char **args)
{
	int fd = (int)syscall(SYS_pidfd_open, number(args[0]), 0);

	if (fd < 0)
		return -errno;
	return probe_result(syscall(SYS_pidfd_getfd, fd, 0, 0));
}

static int type_into_terminal(char **args)
{
	char byte = '\n';
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	(void)args;
	if (fd < 0)
		return -errno;
	return probe_result(ioctl(fd, TIOCSTI, &byte));
}

/* The kernel looks at 32 bits of the request, a filter should too. */
static int type_with_garbage(char **args)
{
	char byte = '\n';
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	(void)args;
	if (fd < 0)
		return -errno;
	return probe_result(syscall(SYS_ioctl, fd, TIOCSTI | 1UL << 32, &byte));
}

static int new_user(char **args)
{
	(void)args;
	return probe_result(unshare(CLONE_NEWUSER));
}

static int new_user_by_clone(char **args)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	(void)args;
	if (pid == 0)
		_exit(0);
	return probe_result(pid);
}

static int new_user_by_clone3(char **args)
{
	uint64_t clone_args[11] = { [0] = CLONE_NEWUSER, [4] = SIGCHLD };
	long pid = syscall(SYS_clone3, clone_args, sizeof clone_args);

	(void)args;
	if (pid == 0)
		_exit(0);
	return probe_result(pid);
}

static int user_then_mount(char **args)
{
	(void)args;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	return probe_result(mount("none", "/", "tmpfs", 0, NULL));
}

static int remount(char **args)
{
	return probe_result(mount(NULL, args[0], NULL,
				  MS_REMOUNT | MS_BIND, NULL));
}

static int unmount(char **args)
{
	return probe_result(umount2(args[0], MNT_DETACH));
}

static int enter_init(char **args)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof path, "/proc/1/ns/%.16s", args[0]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return probe_result(setns(fd, 0));
}

#ifdef __x86_64__
/* getpid by the 32-bit gate: another table of numbers. */
static int gate_32(char **args)
{
	long rc;

	(void)args;
	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(20L) : "memory");
	errno = rc < 0 ? (int)-rc : 0;
	return rc < 0 ? -errno : 0;
}

static int x32(char **args)
{
	(void)args;
	return probe_result(syscall(0x40000000 | SYS_getpid));
}
#endif

/* Permitted: which program runs is not a boundary. */
static int run_memory(char **args)
{
	static char buffer[65536];
	char *const argv[] = { args[0], NULL };
	char *const envp[] = { NULL };
	int from = open(args[0], O_RDONLY | O_CLOEXEC);
	int to = memfd_create("probe", MFD_CLOEXEC);
	ssize_t n;

	if (from < 0 || to < 0)
		return -errno;
	while ((n = read(from, buffer, sizeof buffer)) > 0)
		if (write(to, buffer, (size_t)n) != n)
			return -errno;
	(void)fexecve(to, argv, envp);
	return -errno;
}

static int writable_code(char **args)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)args;
	return p == MAP_FAILED ? -errno : 0;
}

static int many_processes(char **args)
{
	long want = probe_number(args[0]), made = 0;
	int error = 0;

	for (; made < want && !error; made++) {
		pid_t pid = fork();

		if (pid == 0)
			for (;;)
				(void)pause();
		error = pid < 0 ? errno : 0;
	}
	(void)signal(SIGTERM, SIG_IGN);
	/* Our own process group only: set by the caller's fork. */
	(void)kill(0, SIGTERM);
	return -error;
}

static int own_group(char **args)
{
	(void)setpgid(0, 0);
	return many_processes(args);
}

const struct probe_verb probe_kernel[] = {
	{ "ptrace", 1, trace },
	{ "trace-own", 0, trace_own },
	{ "read-own", 0, read_own },
	{ "write-own", 0, write_own },
	{ "compare-own", 0, compare_own },
#ifdef __x86_64__
	{ "trace-change", 0, change_call },
#endif
	{ "kill", 1, signal_it },
	{ "read-memory", 1, read_memory },
	{ "take-descriptor", 1, take_descriptor },
	{ "ioctl-tiocsti", 0, type_into_terminal },
	{ "ioctl-tiocsti-high", 0, type_with_garbage },
	{ "unshare-user", 0, new_user },
	{ "clone-user", 0, new_user_by_clone },
	{ "clone3-user", 0, new_user_by_clone3 },
	{ "user-then-mount", 0, user_then_mount },
	{ "remount-rw", 1, remount },
	{ "umount", 1, unmount },
	{ "setns-init", 1, enter_init },
#ifdef __x86_64__
	{ "int80", 0, gate_32 },
	{ "x32", 0, x32 },
#endif
	{ "memfd-exec", 1, run_memory },
	{ "writable-code", 0, writable_code },
	{ "processes", 1, own_group },
	{ 0 },
};
