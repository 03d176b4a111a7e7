/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each helper may ask of the kernel: see confine.h.
 *
 * A helper that makes any other call was taken over, and is killed.  The
 * exception is what libraries do in passing, opening and looking at files:
 * that is answered with an error, since nothing in them depends on it.
 * resolve runs name service modules that nobody can list; there an unknown
 * call is an error, and only what an intruder would want kills.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "confine.h"
#include "own.h"
#include "uapi.h"

/* Executable memory never comes into being after the start. */
static const struct seccomp_check protection_checks[] = {
	{ SECCOMP_ANY, 2, false, PROT_EXEC, 0, VERDICT_KILL }, { 0 },
};

#define COMMAND(c) { SECCOMP_EQ, 1, false, 0, (c), VERDICT_ALLOW }
static const struct seccomp_check fcntl_checks[] = {
	COMMAND(F_GETFL), COMMAND(F_SETFL), COMMAND(F_GETFD),
	COMMAND(F_SETFD), COMMAND(F_DUPFD_CLOEXEC), { 0 },
};

#define CONTROL(o) { SECCOMP_EQ, 0, false, 0, (o), VERDICT_ALLOW }
static const struct seccomp_check prctl_checks[] = {
	CONTROL(PR_SET_NAME), CONTROL(PR_GET_NAME), CONTROL(PR_SET_VMA),
	{ 0 },
};

#define LEVEL(l) { SECCOMP_EQ, 1, true, 0, (l), 0 }
#define OPTION(o) { SECCOMP_EQ, 2, false, 0, (o), VERDICT_ALLOW }
#define TCP(o) LEVEL(IPPROTO_TCP), OPTION(o)
#define SOCKET(o) LEVEL(SOL_SOCKET), OPTION(o)
static const struct seccomp_check setsockopt_checks[] = {
	TCP(TCP_NODELAY), TCP(TCP_CORK), TCP(TCP_QUICKACK),
	TCP(TCP_KEEPIDLE), TCP(TCP_KEEPINTVL), TCP(TCP_KEEPCNT),
	TCP(TCP_USER_TIMEOUT), TCP(TCP_NOTSENT_LOWAT),
	SOCKET(SO_KEEPALIVE), SOCKET(SO_LINGER), SOCKET(SO_RCVBUF),
	SOCKET(SO_SNDBUF), SOCKET(SO_RCVTIMEO), SOCKET(SO_SNDTIMEO),
	SOCKET(SO_RCVLOWAT), SOCKET(SO_REUSEADDR), SOCKET(SO_PASSCRED),
	LEVEL(IPPROTO_IP), OPTION(IP_PKTINFO),
	LEVEL(IPPROTO_IP), OPTION(IP_RECVERR),
	LEVEL(IPPROTO_IPV6), OPTION(IPV6_RECVPKTINFO),
	LEVEL(IPPROTO_IPV6), OPTION(IPV6_RECVERR),
	{ 0 },
};

#define A(call) SECCOMP_ROW(call, VERDICT_ALLOW, NULL)
#define E(call, code) SECCOMP_ROW(call, VERDICT_ERRNO(code), NULL)
#define K(call) SECCOMP_ROW(call, VERDICT_KILL, NULL)

/* Memory, time, signals and ends: everyone's. */
#define EVERYONE                                                          \
	A(read), A(write), A(readv), A(writev), A(close), A(lseek),       \
	A(pread64), A(fstat), A(recvmsg), A(sendmsg), A(recvfrom),        \
	A(sendto), A(shutdown), A(getsockname), A(getpeername),           \
	A(getsockopt), A(epoll_ctl), A(epoll_pwait), A(epoll_pwait2),     \
	A(ppoll), A(brk), A(munmap), A(mremap),                           \
	A(madvise), A(mlock), A(mlock2), A(munlock), A(getrandom),        \
	A(clock_gettime), A(clock_nanosleep), A(gettimeofday),            \
	A(nanosleep), A(futex), A(rt_sigaction), A(rt_sigprocmask),       \
	A(rt_sigreturn), A(restart_syscall), A(sched_yield),              \
	A(sched_getaffinity), A(sysinfo), A(getpid), A(gettid), A(getuid), \
	A(geteuid), A(getgid), A(getegid), A(clock_getres), A(exit),      \
	A(exit_group),                                                    \
	SECCOMP_ROW(fcntl, VERDICT_ERRNO(EPERM), fcntl_checks),           \
	SECCOMP_ROW(prctl, VERDICT_ERRNO(EPERM), prctl_checks),           \
	SECCOMP_ROW(setsockopt, VERDICT_ERRNO(EPERM), setsockopt_checks)

/* Looking at files, in those that have none. */
#define NO_FILES                                                        \
	SECCOMP_ROW(mmap, VERDICT_ALLOW, protection_checks),            \
	SECCOMP_ROW(mprotect, VERDICT_ALLOW, protection_checks),        \
	E(openat, EACCES), E(newfstatat, EACCES), E(statx, EACCES),     \
	E(readlinkat, EACCES), E(faccessat, EACCES), E(ioctl, ENOTTY)

#ifdef __x86_64__
#define EVERYONE_HERE , A(epoll_wait), A(poll), A(time)
#define NO_FILES_HERE                                                   \
	, E(open, EACCES), E(stat, EACCES), E(lstat, EACCES),           \
	E(access, EACCES), E(readlink, EACCES)
#else
#define EVERYONE_HERE
#define NO_FILES_HERE
#endif

/* Reports of a sanitizer: its own stack, its own process. */
#ifdef STOCKADE_SANITIZED
#define SANITIZERS                                                     \
	, A(sigaltstack), A(prlimit64), A(getrlimit), A(tgkill), A(kill), \
	A(getppid), A(set_robust_list)
#else
#define SANITIZERS
#endif

#define COMMON EVERYONE EVERYONE_HERE SANITIZERS
#define FILELESS COMMON, NO_FILES NO_FILES_HERE

static const struct seccomp_rule edge_rules[] = {
	FILELESS, A(accept4),
};

static const struct seccomp_rule vault_rules[] = {
	FILELESS,
};

static const struct seccomp_rule dial_rules[] = {
	FILELESS,
};

/* resolve: the agent's kinds of sockets, files to read, threads. */
#define FAMILY(f) { SECCOMP_EQ, 0, true, 0, (f), 0 }
#define TYPE(t) { SECCOMP_EQ, 1, false, 0xf, (t), VERDICT_ALLOW }
static const struct seccomp_check socket_checks[] = {
	FAMILY(AF_UNIX), TYPE(SOCK_STREAM), FAMILY(AF_UNIX), TYPE(SOCK_DGRAM),
	FAMILY(AF_INET), TYPE(SOCK_STREAM), FAMILY(AF_INET), TYPE(SOCK_DGRAM),
	FAMILY(AF_INET6), TYPE(SOCK_STREAM), FAMILY(AF_INET6),
	TYPE(SOCK_DGRAM), FAMILY(AF_NETLINK),
	{ SECCOMP_EQ, 2, false, 0, 0 /* NETLINK_ROUTE */, VERDICT_ALLOW },
	{ 0 },
};

#define WRITING (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)
#ifdef __x86_64__
static const struct seccomp_check open_checks[] = {
	{ SECCOMP_ANY, 1, false, WRITING, 0, VERDICT_ERRNO(EACCES) }, { 0 },
};
#endif
static const struct seccomp_check openat_checks[] = {
	{ SECCOMP_ANY, 2, false, WRITING, 0, VERDICT_ERRNO(EACCES) }, { 0 },
};

/* A module's code comes from a file; memory that was written never runs. */
static const struct seccomp_check mmap_checks[] = {
	{ SECCOMP_ANY, 2, true, PROT_EXEC, 0, 0 },
	{ SECCOMP_ANY, 2, false, PROT_WRITE, 0, VERDICT_KILL },
	{ SECCOMP_ANY, 2, true, PROT_EXEC, 0, 0 },
	{ SECCOMP_ANY, 3, false, MAP_ANONYMOUS, 0, VERDICT_KILL },
	{ 0 },
};

/* Bytes that wait, and the names of interfaces. */
static const struct seccomp_check ioctl_checks[] = {
	COMMAND(FIONREAD), COMMAND(SIOCGIFNAME), COMMAND(SIOCGIFINDEX), { 0 },
};

/* Threads of this process only; clone3 is answered so that libc uses clone. */
static const struct seccomp_check clone_checks[] = {
	{ SECCOMP_ANY, 0, false, CLONE_THREAD, 0, VERDICT_ALLOW }, { 0 },
};

static const struct seccomp_rule resolve_rules[] = {
	COMMON,
	SECCOMP_ROW(socket, VERDICT_ERRNO(EAFNOSUPPORT), socket_checks),
	A(connect), A(bind), A(sendmmsg), A(recvmmsg),
	SECCOMP_ROW(openat, VERDICT_ALLOW, openat_checks),
	A(newfstatat), A(statx), A(readlinkat), A(faccessat), A(faccessat2),
	A(getdents64), A(fstatfs), A(getcwd), A(uname),
	SECCOMP_ROW(ioctl, VERDICT_ERRNO(ENOTTY), ioctl_checks),
	SECCOMP_ROW(mmap, VERDICT_ALLOW, mmap_checks),
	SECCOMP_ROW(mprotect, VERDICT_ALLOW, protection_checks),
	SECCOMP_ROW(clone, VERDICT_KILL, clone_checks), E(clone3, ENOSYS),
	A(set_tid_address), A(rseq), A(membarrier), A(eventfd2), A(pipe2),
#ifndef STOCKADE_SANITIZED
	A(set_robust_list), A(sigaltstack), A(prlimit64), A(getrlimit),
	A(getppid), K(kill), K(tgkill),
#endif
	K(execve), K(execveat), K(ptrace), K(process_vm_readv),
	K(process_vm_writev), K(pidfd_getfd), K(tkill), K(bpf),
	K(io_uring_setup), K(userfaultfd), K(perf_event_open), K(mount),
	K(unshare), K(setns), K(keyctl), K(pkey_mprotect),
	K(memfd_create),
#ifdef __x86_64__
	SECCOMP_ROW(open, VERDICT_ALLOW, open_checks),
	A(stat), A(lstat), A(access), A(readlink), K(fork), K(vfork),
	A(select), A(epoll_create),
#endif
	A(epoll_create1), A(pselect6),
};

/* sentry: it reads directories and mounts.  No file is opened for writing, and
 * there is no call that takes a mount away. */
static const struct seccomp_rule sentry_rules[] = {
	COMMON,
	SECCOMP_ROW(mmap, VERDICT_ALLOW, protection_checks),
	SECCOMP_ROW(mprotect, VERDICT_ALLOW, protection_checks),
	SECCOMP_ROW(openat, VERDICT_ALLOW, openat_checks),
	A(openat2), A(newfstatat), A(statx), A(readlinkat), A(getdents64),
	A(fstatfs), A(fchdir), E(ioctl, ENOTTY), A(inotify_add_watch),
	A(inotify_rm_watch), A(open_tree), A(open_tree_attr), A(move_mount), A(mount_setattr),
	A(fspick), A(fsconfig), A(connect),
};

#define FILTER(of, otherwise)                                        \
	{ .rules = (of), .n = countof(of), .fallback = (otherwise) }

static const struct seccomp_filter filters[CONFINE_ROLES] = {
	[CONFINE_EDGE] = FILTER(edge_rules, VERDICT_KILL),
	[CONFINE_VAULT] = FILTER(vault_rules, VERDICT_KILL),
	[CONFINE_DIAL] = FILTER(dial_rules, VERDICT_KILL),
	[CONFINE_RESOLVE] = FILTER(resolve_rules, VERDICT_ERRNO(EPERM)),
	[CONFINE_SENTRY] = FILTER(sentry_rules, VERDICT_KILL),
};

const struct seccomp_filter *confine_filter(enum confine_role role)
{
	if (role <= CONFINE_NONE || role >= CONFINE_ROLES)
		return NULL;
	return &filters[role];
}
