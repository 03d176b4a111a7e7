/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts to get around a filter, and calls that it judges by arguments. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A filter that says `verdict` to unshare(), after n instructions. */
static long add_filter(uint32_t verdict, unsigned flags, unsigned n)
{
	static struct sock_filter code[BPF_MAXINSNS];
	struct sock_fprog prog = { .len = (unsigned short)n, .filter = code };

	for (unsigned i = 0; i < n; i++)
		code[i] = (struct sock_filter)BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr));
	code[n - 3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						   SYS_unshare, 0, 1);
	code[n - 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict);
	code[n - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						   SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

/* Filters that allow everything, on all threads. */
static int allow_all(char **args)
{
	(void)args;
	if (add_filter(SECCOMP_RET_ALLOW, 0, 4) < 0 ||
	    add_filter(SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC, 4) < 0)
		return -errno;
	return probe_result(unshare(CLONE_NEWUSER));
}

/* As many as the kernel takes. */
static int many_filters(char **args)
{
	(void)args;
	for (int i = 0; i < 100; i++)
		if (add_filter(SECCOMP_RET_ALLOW, 0, BPF_MAXINSNS) < 0)
			return probe_result(unshare(CLONE_NEWUSER));
	return -EFBIG;
}

/* A question that nobody answers: it must not be asked. */
static int ask_instead(char **args)
{
	(void)args;
	if (add_filter(SECCOMP_RET_USER_NOTIF, 0, 4) < 0)
		return -errno;
	return probe_result(unshare(CLONE_NEWUSER));
}

/* A tracer that turns the filters of its child off. */
static int suspend_filters(char **args)
{
	pid_t pid = fork();
	long rc;

	(void)args;
	if (pid == 0)
		for (;;)
			(void)pause();
	rc = ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_SUSPEND_SECCOMP);
	rc = probe_result(rc);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return (int)rc;
}

static int urgent_local(char **args)
{
	int pair[2];

	(void)args;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -errno;
	return probe_result(send(pair[0], "x", 1, MSG_OOB));
}

/* ENOENT or ENOTCONN: the option itself is there. */
static int upper_protocol(char **args)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int rc = setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 4);

	(void)args;
	return rc < 0 && errno != ENOENT && errno != ENOTCONN ? -errno : 0;
}

static int set_capability(char **args)
{
	struct vfs_cap_data cap = { 0 };
	int fd = open(args[0], O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

	if (fd < 0)
		return -errno;
	cap.magic_etc = VFS_CAP_REVISION_2;
	cap.data[0].permitted = 1U << CAP_SYS_ADMIN;
	return probe_result(fsetxattr(fd, "security.capability", &cap,
				      XATTR_CAPS_SZ_2, 0));
}

static int readable_is_executable(char **args)
{
	(void)args;
	return probe_result(personality(READ_IMPLIES_EXEC));
}

static int new_namespace(char **args)
{
	return probe_result(unshare((int)probe_number(args[0])));
}

const struct probe_verb probe_calls[] = {
	{ "allow-all-filter", 0, allow_all },
	{ "many-filters", 0, many_filters },
	{ "ask-instead", 0, ask_instead },
	{ "suspend-filters", 0, suspend_filters },
	{ "urgent-local", 0, urgent_local },
	{ "upper-protocol", 0, upper_protocol },
	{ "set-capability", 1, set_capability },
	{ "read-implies-exec", 0, readable_is_executable },
	{ "unshare", 1, new_namespace },
	{ 0 },
};
