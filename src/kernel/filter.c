/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's filter: see filter.h.  The tables are the documentation; each
 * refusal has its reason beside it.
 *
 * What is not listed does not exist (ENOSYS): numbers that are newer than this
 * list, and calls that were removed or never used.
 */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "caps.h"
#include "own.h"
#include "uapi.h"

#define REFUSED VERDICT_ERRNO(EPERM)
#define ABSENT VERDICT_ERRNO(ENOSYS)

/* For clone(), where the low byte is a signal, and for unshare(). */
#define NEW_NAMESPACES                                                \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

static const struct seccomp_check clone_checks[] = {
	{ SECCOMP_ANY, 0, false, NEW_NAMESPACES, 0, REFUSED }, { 0 },
};
static const struct seccomp_check unshare_checks[] = {
	{ SECCOMP_ANY, 0, false, NEW_NAMESPACES | CLONE_NEWTIME, 0, REFUSED },
	{ 0 },
};

/*
 * Sockets: streams and datagrams of the internet, local ones, and the routing
 * netlink that getaddrinfo() asks for addresses.  The type argument carries
 * flags above its low four bits.  SOCK_PACKET (10) of AF_INET would be a
 * packet socket: it is not among the types.  Another family does not exist.
 */
#define TYPE_MASK 0xf
#define FAMILY(f) { SECCOMP_EQ, 0, true, 0, (f), 0 }
#define TYPE(t) { SECCOMP_EQ, 1, true, TYPE_MASK, (t), 0 }
#define PROTOCOL(p, v) { SECCOMP_EQ, 2, false, 0, (p), (v) }
#define INTERNET(f)                                                     \
	FAMILY(f), TYPE(SOCK_STREAM), PROTOCOL(0, VERDICT_ALLOW),       \
	FAMILY(f), TYPE(SOCK_STREAM), PROTOCOL(IPPROTO_TCP, VERDICT_ALLOW), \
	FAMILY(f), TYPE(SOCK_DGRAM), PROTOCOL(0, VERDICT_ALLOW),        \
	FAMILY(f), TYPE(SOCK_DGRAM), PROTOCOL(IPPROTO_UDP, VERDICT_ALLOW), \
	/* Programs that try multipath TCP fall back on this. */       \
	FAMILY(f), PROTOCOL(IPPROTO_MPTCP, VERDICT_ERRNO(EPROTONOSUPPORT)), \
	{ SECCOMP_EQ, 0, false, 0, (f), REFUSED }

static const struct seccomp_check socket_checks[] = {
	FAMILY(AF_UNIX), { SECCOMP_EQ, 1, false, TYPE_MASK, SOCK_STREAM,
			   VERDICT_ALLOW },
	FAMILY(AF_UNIX), { SECCOMP_EQ, 1, false, TYPE_MASK, SOCK_DGRAM,
			   VERDICT_ALLOW },
	FAMILY(AF_UNIX), { SECCOMP_EQ, 1, false, TYPE_MASK, SOCK_SEQPACKET,
			   VERDICT_ALLOW },
	{ SECCOMP_EQ, 0, false, 0, AF_UNIX, REFUSED },
	INTERNET(AF_INET),
	INTERNET(AF_INET6),
	FAMILY(AF_NETLINK), PROTOCOL(0 /* NETLINK_ROUTE */, VERDICT_ALLOW),
	{ SECCOMP_EQ, 0, false, 0, AF_NETLINK,
	  VERDICT_ERRNO(EPROTONOSUPPORT) },
	{ 0 },
};
static const struct seccomp_check socketpair_checks[] = {
	{ SECCOMP_EQ, 0, false, 0, AF_UNIX, VERDICT_ALLOW }, { 0 },
};

/* Options that load code or another protocol into a socket. */
#define LEVEL(l) { SECCOMP_EQ, 1, true, 0, (l), 0 }
#define OPTION(o) { SECCOMP_EQ, 2, false, 0, (o), VERDICT_ERRNO(ENOPROTOOPT) }
enum { TABLE_REPLACE = 64, TABLE_COUNTERS = 65 };	/* IP(6)T_SO_SET_* */

static const struct seccomp_check setsockopt_checks[] = {
	LEVEL(IPPROTO_TCP), OPTION(TCP_ULP),
	LEVEL(IPPROTO_UDP), OPTION(UDP_ENCAP),
	LEVEL(SOL_SOCKET), OPTION(SO_ATTACH_BPF),
	LEVEL(SOL_SOCKET), OPTION(SO_ATTACH_REUSEPORT_EBPF),
	LEVEL(IPPROTO_IP), OPTION(TABLE_REPLACE),
	LEVEL(IPPROTO_IP), OPTION(TABLE_COUNTERS),
	LEVEL(IPPROTO_IPV6), OPTION(TABLE_REPLACE),
	LEVEL(IPPROTO_IPV6), OPTION(TABLE_COUNTERS),
	{ 0 },
};

/* Urgent data of local sockets is little used and was a way into the kernel;
 * a filter cannot tell the family. */
static const struct seccomp_check flags2_checks[] = {
	{ SECCOMP_ANY, 2, false, MSG_OOB, 0, VERDICT_ERRNO(EOPNOTSUPP) },
	{ 0 },
};
static const struct seccomp_check flags3_checks[] = {
	{ SECCOMP_ANY, 3, false, MSG_OOB, 0, VERDICT_ERRNO(EOPNOTSUPP) },
	{ 0 },
};

/* Typing into a terminal, taking the console, changing line disciplines.  And
 * snapshots and subvolumes, which are names and second names that no other call
 * makes: what is masked would be seen in them, and what is guarded made. */
#define COMMAND(c) { SECCOMP_EQ, 1, false, 0, (c), REFUSED }
#define BTRFS_VOLUMES _IOW(BTRFS_IOCTL_MAGIC, 0, struct btrfs_ioctl_vol_args)
#define BCACHEFS_SUBVOLUME _IOW(0xbc, 16, char[32])
static const struct seccomp_check ioctl_checks[] = {
	COMMAND(TIOCSTI), COMMAND(TIOCLINUX), COMMAND(TIOCSETD),
	COMMAND(TIOCCONS), COMMAND(BCACHEFS_SUBVOLUME),
	{ SECCOMP_EQ, 1, false, ~(uint32_t)0xff, BTRFS_VOLUMES, REFUSED },
	{ 0 },
};

/* With a lease on a file, whoever else opens it waits for the agent: the user
 * in a grant, the user's other sandboxes in the /etc that they share.  With a
 * delegation of a directory, whoever makes a name in it. */
enum { SET_DELEGATION = 1040 };		/* F_SETDELEG, 6.19 */
static const struct seccomp_check fcntl_checks[] = {
	{ SECCOMP_EQ, 1, false, 0, F_SETLEASE, REFUSED },
	{ SECCOMP_EQ, 1, false, 0, SET_DELEGATION, REFUSED }, { 0 },
};

/* pid 1 has the agent's uid, which is all that these ask for; it is to have
 * descriptors and a processor when it is needed. */
static const struct seccomp_check others_checks[] = {
	{ SECCOMP_EQ, 0, false, 0, 1, REFUSED }, { 0 },
};
static const struct seccomp_check setpriority_checks[] = {
	{ SECCOMP_EQ, 1, false, 0, 1, REFUSED }, { 0 },
};

/*
 * A program that runs as its owner for whoever starts it.  In a write grant it
 * would be one on the host, where `nosuid` does not hold: of the caller, and
 * started by root, whose grants are mapped, of root itself.  Files are not made
 * with the group's bit either; a directory is given it later, which is harmless
 * and common.  open()'s mode means something only where it makes a file;
 * openat2()'s is in memory, so that it is absent, as on older kernels.
 */
enum { MAKES_FILE = O_CREAT | (O_TMPFILE & ~O_DIRECTORY) };
#define NO_SETUID(argument) \
	{ SECCOMP_ANY, (argument), false, S_ISUID, 0, REFUSED }
#define NO_SETID(argument) \
	{ SECCOMP_ANY, (argument), false, S_ISUID | S_ISGID, 0, REFUSED }
#define MAKING(flags) { SECCOMP_ANY, (flags), true, MAKES_FILE, 0, 0 }

#ifdef __x86_64__
static const struct seccomp_check chmod_checks[] = { NO_SETUID(1), { 0 } };
static const struct seccomp_check creat_checks[] = { NO_SETID(1), { 0 } };
static const struct seccomp_check open_checks[] = {
	MAKING(1), NO_SETID(2), { 0 },
};
#endif
static const struct seccomp_check fchmod_checks[] = { NO_SETUID(1), { 0 } };
static const struct seccomp_check fchmodat_checks[] = { NO_SETUID(2), { 0 } };
static const struct seccomp_check openat_checks[] = {
	MAKING(2), NO_SETID(3), { 0 },
};

#define NODE(argument)                                                 \
	{ SECCOMP_EQ, (argument), false, S_IFMT, S_IFCHR, REFUSED },    \
	{ SECCOMP_EQ, (argument), false, S_IFMT, S_IFBLK, REFUSED },    \
	NO_SETID(argument), { 0 }
#ifdef __x86_64__
static const struct seccomp_check mknod_checks[] = { NODE(1) };
#endif
static const struct seccomp_check mknodat_checks[] = { NODE(2) };

enum { WHITEOUT = 4 };			/* RENAME_WHITEOUT makes a device */
static const struct seccomp_check renameat2_checks[] = {
	{ SECCOMP_ANY, 4, false, WHITEOUT, 0, REFUSED }, { 0 },
};

/* Asking, and the harmless ones: not READ_IMPLIES_EXEC, not other systems. */
static const struct seccomp_check personality_checks[] = {
	{ SECCOMP_EQ, 0, false, 0, 0xffffffff, VERDICT_ALLOW },
	{ SECCOMP_EQ, 0, false,
	  ~(uint32_t)(PER_LINUX32 | UNAME26 | ADDR_NO_RANDOMIZE), 0,
	  VERDICT_ALLOW },
	{ 0 },
};

/* Own memory layout, core scheduling against siblings, merging pages with
 * others (a side channel), hardware error policy, storage priority. */
#define CONTROL(o) { SECCOMP_EQ, 0, false, 0, (o), REFUSED }
enum { MEMORY_MERGE = 67 };		/* PR_SET_MEMORY_MERGE, 6.4 */
static const struct seccomp_check prctl_checks[] = {
	CONTROL(PR_SET_MM), CONTROL(PR_SCHED_CORE), CONTROL(MEMORY_MERGE),
	CONTROL(PR_MCE_KILL), CONTROL(PR_SET_IO_FLUSHER), { 0 },
};

#define A(call) SECCOMP_ROW(call, VERDICT_ALLOW, NULL)
#define R(call) SECCOMP_ROW(call, REFUSED, NULL)
#define N(call) SECCOMP_ROW(call, ABSENT, NULL)
/* Allowed but for what the checks refuse. */
#define C(call, checks) SECCOMP_ROW(call, VERDICT_ALLOW, checks)

static const struct seccomp_rule agent_rules[] = {
	/* files */
	A(read), A(write), A(readv), A(writev), A(pread64), A(pwrite64),
	A(preadv), A(pwritev), A(preadv2), A(pwritev2), A(lseek), A(close),
	A(close_range), C(openat, openat_checks), A(dup), A(dup3),
	C(fcntl, fcntl_checks),
	A(flock), A(fsync), A(fdatasync), A(sync), A(syncfs),
	A(sync_file_range), A(truncate), A(ftruncate), A(fallocate),
	A(fadvise64), A(readahead), A(copy_file_range), A(sendfile),
	A(splice), A(tee), A(fstat), A(newfstatat), A(statx), A(statfs),
	A(fstatfs), A(faccessat), A(faccessat2), A(readlinkat), A(getdents64),
	A(getcwd), A(chdir), A(fchdir), A(mkdirat), A(unlinkat), A(linkat),
	A(symlinkat), A(renameat), C(renameat2, renameat2_checks),
	C(mknodat, mknodat_checks), C(fchmod, fchmod_checks),
	C(fchmodat, fchmodat_checks), C(fchmodat2, fchmodat_checks),
	A(fchown), A(fchownat), A(umask), A(utimensat), A(setxattr),
	A(lsetxattr), A(fsetxattr), A(getxattr), A(lgetxattr), A(fgetxattr),
	A(listxattr), A(llistxattr), A(flistxattr), A(removexattr),
	A(lremovexattr), A(fremovexattr), A(setxattrat), A(getxattrat),
	A(listxattrat), A(removexattrat), A(name_to_handle_at),
	A(inotify_init1), A(inotify_add_watch), A(inotify_rm_watch),
	A(memfd_create), A(cachestat), C(ioctl, ioctl_checks),
	A(io_setup), A(io_destroy), A(io_submit), A(io_cancel),
	A(io_getevents), A(io_pgetevents), A(pipe2),

	/* waiting */
	A(ppoll), A(pselect6), A(epoll_create1), A(epoll_ctl), A(epoll_pwait),
	A(epoll_pwait2), A(eventfd2), A(signalfd4), A(timerfd_create),
	A(timerfd_settime), A(timerfd_gettime),

	/* memory */
	A(mmap), A(munmap), A(mremap), A(mprotect), A(madvise), A(brk),
	A(msync), A(mincore), A(mlock), A(mlock2), A(munlock), A(mlockall),
	A(munlockall), A(mseal), A(membarrier), A(pkey_alloc), A(pkey_free),
	A(pkey_mprotect), A(get_mempolicy), A(shmget), A(shmat), A(shmdt),
	A(shmctl), A(semget), A(semop), A(semtimedop), A(semctl), A(msgget),
	A(msgsnd), A(msgrcv), A(msgctl), A(mq_open), A(mq_unlink),
	A(mq_timedsend), A(mq_timedreceive), A(mq_notify), A(mq_getsetattr),

	/* processes */
	C(clone, clone_checks), A(execve), A(execveat), A(exit),
	A(exit_group), A(wait4), A(waitid), A(kill), A(tkill), A(tgkill),
	A(pidfd_open), A(pidfd_send_signal), A(getpid), A(getppid), A(gettid),
	A(getpgid), A(setpgid), A(getsid), A(setsid), A(getpriority),
	C(setpriority, setpriority_checks), A(ioprio_get),
	A(ioprio_set), A(getrlimit), A(setrlimit),
	C(prlimit64, others_checks), A(getrusage), A(times), A(getcpu),
	A(sched_yield), A(sched_getparam), A(sched_setparam),
	A(sched_getscheduler), C(sched_setscheduler, others_checks),
	A(sched_getattr), C(sched_setattr, others_checks),
	A(sched_get_priority_max), A(sched_get_priority_min),
	A(sched_rr_get_interval), C(sched_setaffinity, others_checks),
	A(sched_getaffinity), A(set_tid_address),
	A(set_robust_list), A(get_robust_list), A(futex), A(futex_waitv),
	A(futex_wake), A(futex_wait), A(futex_requeue), A(rseq),
	A(restart_syscall), C(unshare, unshare_checks),
	C(prctl, prctl_checks),
	SECCOMP_ROW(personality, REFUSED, personality_checks),

	/* signals */
	A(rt_sigaction), A(rt_sigprocmask), A(rt_sigpending),
	A(rt_sigtimedwait), A(rt_sigqueueinfo), A(rt_tgsigqueueinfo),
	A(rt_sigsuspend), A(rt_sigreturn), A(sigaltstack),

	/* identity: it can only become what it is */
	A(getuid), A(geteuid), A(getgid), A(getegid), A(getgroups),
	A(getresuid), A(getresgid), A(setuid), A(setgid), A(setreuid),
	A(setregid), A(setresuid), A(setresgid), A(setfsuid), A(setfsgid),
	A(setgroups), A(capget), A(capset), A(uname), A(sysinfo),

	/* time */
	A(clock_gettime), A(clock_getres), A(clock_nanosleep),
	A(gettimeofday), A(nanosleep), A(getitimer), A(setitimer),
	A(timer_create), A(timer_settime), A(timer_gettime),
	A(timer_getoverrun), A(timer_delete), A(getrandom),

	/* sockets */
	SECCOMP_ROW(socket, VERDICT_ERRNO(EAFNOSUPPORT), socket_checks),
	SECCOMP_ROW(socketpair, VERDICT_ERRNO(EAFNOSUPPORT),
		    socketpair_checks),
	A(bind), A(connect), A(listen), A(accept), A(accept4),
	A(getsockname), A(getpeername), A(shutdown), A(getsockopt),
	C(setsockopt, setsockopt_checks), C(sendto, flags3_checks),
	C(recvfrom, flags3_checks), C(sendmsg, flags2_checks),
	C(recvmsg, flags2_checks), C(sendmmsg, flags3_checks),
	C(recvmmsg, flags3_checks),

	/* more walls, which a program may build inside this one */
	A(seccomp), A(landlock_create_ruleset), A(landlock_add_rule),
	A(landlock_restrict_self),

	/* The arguments are in memory, where a filter cannot see flags, or
	 * it is a second way to make every other call: fall back. */
	N(openat2), N(clone3), N(io_uring_setup), N(io_uring_enter),
	N(io_uring_register),

	/* mounts, old and new, and other roots */
	R(mount), R(umount2), R(pivot_root), R(chroot), R(move_mount),
	R(open_tree), R(open_tree_attr), R(fsopen), R(fsconfig), R(fsmount),
	R(fspick), R(mount_setattr), R(setns), R(quotactl), R(quotactl_fd),
	R(swapon), R(swapoff), R(open_by_handle_at), R(fanotify_init),
	R(fanotify_mark),

	/* other processes' memory, descriptors and pages */
	R(ptrace), R(process_vm_readv), R(process_vm_writev),
	R(process_madvise), R(process_mrelease), R(pidfd_getfd), R(kcmp),
	R(migrate_pages), R(move_pages), R(mbind), R(set_mempolicy),
	R(set_mempolicy_home_node),

	/* large and young parts of the kernel that no agent needs */
	R(bpf), R(perf_event_open), R(userfaultfd), R(keyctl), R(add_key),
	R(request_key), R(vmsplice), R(memfd_secret), R(remap_file_pages),

	/* the machine */
	R(reboot), R(kexec_load), R(kexec_file_load), R(init_module),
	R(finit_module), R(delete_module), R(acct), R(syslog), R(vhangup),
	R(sethostname), R(setdomainname), R(settimeofday), R(clock_settime),
	R(clock_adjtime), R(adjtimex),

#ifdef __x86_64__
	C(open, open_checks), C(creat, creat_checks), A(stat), A(lstat),
	A(access), A(readlink), A(getdents), A(rename), A(mkdir), A(rmdir),
	A(link), A(unlink), A(symlink), C(chmod, chmod_checks), A(chown),
	A(lchown), A(utime), A(utimes), A(futimesat),
	C(mknod, mknod_checks), A(poll), A(select), A(pipe),
	A(dup2), A(epoll_create), A(epoll_wait), A(eventfd), A(signalfd),
	A(inotify_init), A(pause), A(alarm), A(fork), A(vfork), A(getpgrp),
	A(time), A(arch_prctl),
	R(iopl), R(ioperm), R(modify_ldt),
#endif
};

#define AGENT \
	.rules = agent_rules, .n = countof(agent_rules), .fallback = ABSENT

static const uint16_t debug_calls[] = {
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
};
static const struct seccomp_filter agent = { AGENT }, agent_debug = {
	AGENT, .opened = debug_calls, .opened_n = countof(debug_calls),
};

const struct seccomp_filter *filter_agent(bool debug)
{
	return debug ? &agent_debug : &agent;
}

int filter_apply(bool debug, struct err *e)
{
	/* Not for a thread that still builds the root. */
	if (caps_no_new_privs(e) < 0 ||
	    seccomp_install(filter_agent(debug), false, e) < 0)
		return err_ctx(e, "the agent's filter");
	return 0;
}
