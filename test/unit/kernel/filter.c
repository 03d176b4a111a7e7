/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's filter: what it says, call by call and argument by argument. */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "confine.h"
#include "machine.h"
#include "own.h"
#include "tap.h"
#include "uapi.h"
#ifdef HAVE_LIBSECCOMP
/* The system's <seccomp.h>; ours is found first by "seccomp.h" only. */
#include <seccomp.h>
#endif

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

static struct sock_filter code[BPF_LENGTH_MAX];
static struct bpf program = BPF_IN(code);
static struct sock_fprog prog;

static uint32_t ask(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct seccomp_data data = {
		.nr = (int)nr, .arch = NATIVE, .args = { a, b, c, d },
	};

	return machine_run(&prog, &data, NULL);
}

static bool compile(const struct seccomp_filter *f)
{
	struct err e;

	return seccomp_compile(f, &program, &e) == 0 &&
	       bpf_program(&program, &prog, &e) == 0;
}

#define ALLOWS(call, ...) \
	CHECK_INT(ask(SYS_##call, __VA_ARGS__), VERDICT_ALLOW)
#define FAILS(code, call, ...) \
	CHECK_INT(ask(SYS_##call, __VA_ARGS__), VERDICT_ERRNO(code))

static void test_agent_ordinary_calls_allowed(void)
{
	static const int needed[] = {
		SYS_read, SYS_openat, SYS_execve, SYS_pidfd_open,
		SYS_close_range, SYS_epoll_pwait2, SYS_rseq, SYS_faccessat2,
		SYS_statx, SYS_copy_file_range, SYS_inotify_add_watch,
		SYS_timerfd_create, SYS_pkey_alloc, SYS_sched_setscheduler,
		SYS_tgkill, SYS_rt_sigsuspend, SYS_memfd_create, SYS_futex,
		SYS_landlock_create_ruleset, SYS_getrandom, SYS_mprotect,
		SYS_membarrier, SYS_linkat, SYS_symlinkat, SYS_flock,
#ifdef __x86_64__
		SYS_vfork, SYS_fork, SYS_open, SYS_stat, SYS_poll,
#endif
	};

	for (size_t i = 0; i < countof(needed); i++)
		CHECK_INT(ask(needed[i], 0, 0, 0, 0), VERDICT_ALLOW);
}

static void test_agent_dangerous_calls_refused(void)
{
	static const int dangerous[] = {
		SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
		SYS_move_mount, SYS_open_tree, SYS_open_tree_attr, SYS_fsopen,
		SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr,
		SYS_setns, SYS_ptrace, SYS_process_vm_readv,
		SYS_process_vm_writev, SYS_process_madvise, SYS_pidfd_getfd,
		SYS_kcmp, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
		SYS_keyctl, SYS_add_key, SYS_request_key, SYS_kexec_load,
		SYS_init_module, SYS_finit_module, SYS_delete_module,
		SYS_reboot, SYS_swapon, SYS_settimeofday, SYS_clock_settime,
		SYS_adjtimex, SYS_acct, SYS_quotactl, SYS_open_by_handle_at,
		SYS_fanotify_init, SYS_vmsplice, SYS_syslog, SYS_sethostname,
		SYS_mbind, SYS_move_pages, SYS_migrate_pages,
#ifdef __x86_64__
		SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
	};

	for (size_t i = 0; i < countof(dangerous); i++)
		CHECK_INT(ask(dangerous[i], 0, 0, 0, 0), VERDICT_ERRNO(EPERM));
}

static void test_agent_absent_calls_fall_back(void)
{
	FAILS(ENOSYS, clone3, 0, 0, 0, 0);
	FAILS(ENOSYS, io_uring_setup, 0, 0, 0, 0);
	FAILS(ENOSYS, io_uring_enter, 0, 0, 0, 0);
	FAILS(ENOSYS, io_uring_register, 0, 0, 0, 0);
	FAILS(ENOSYS, listns, 0, 0, 0, 0);
	FAILS(ENOSYS, statmount, 0, 0, 0, 0);
	for (int nr = 471; nr < 700; nr++)
		if (ask(nr, 0, 0, 0, 0) != VERDICT_ERRNO(ENOSYS))
			CHECK_INT(nr, -1);
	CHECK_INT(ask(0x40000000L | SYS_getpid, 0, 0, 0, 0),
		  VERDICT_ERRNO(ENOSYS));
}

static void test_agent_clone_threads_but_no_namespace(void)
{
	const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES |
				CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
				CLONE_SETTLS | CLONE_PARENT_SETTID |
				CLONE_CHILD_CLEARTID;
	unsigned wrong = 0;

	ALLOWS(clone, thread, 0, 0, 0);
	ALLOWS(clone, 17 /* SIGCHLD */, 0, 0, 0);
	ALLOWS(unshare, CLONE_FILES | CLONE_FS, 0, 0, 0);
	FAILS(EPERM, unshare, CLONE_NEWTIME, 0, 0, 0);
	for (int bit = 0; bit < 32; bit++) {
		uint32_t flag = 1U << bit;
		bool new = flag & (CLONE_NEWNS | CLONE_NEWCGROUP |
				   CLONE_NEWUTS | CLONE_NEWIPC |
				   CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET);
		uint32_t want = new ? VERDICT_ERRNO(EPERM) : VERDICT_ALLOW;

		wrong += ask(SYS_clone, flag | 17, 0, 0, 0) != want;
		wrong += ask(SYS_clone, flag | (0xabcULL << 32), 0, 0, 0) !=
			 want;
	}
	CHECK_INT(wrong, 0);
}

static void test_agent_socket_families(void)
{
	unsigned open = 0;

	for (uint64_t family = 0; family < 64; family++)
		for (uint64_t type = 0; type < 16; type++)
			for (uint64_t protocol = 0; protocol < 300; protocol++)
				open += ask(SYS_socket, family, type, protocol,
					    0) == VERDICT_ALLOW;
	/* AF_UNIX 3 types, inet 2 x (2 + 2), netlink 16 types. */
	CHECK_INT(open, 3 * 300 + 2 * 4 + 16);
	ALLOWS(socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0);
	ALLOWS(socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, 0);
	ALLOWS(socket, AF_INET6, SOCK_DGRAM, 17, 0);
	ALLOWS(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0, 0);
	FAILS(EPROTONOSUPPORT, socket, AF_NETLINK, SOCK_RAW, 12, 0);
	FAILS(EPROTONOSUPPORT, socket, AF_INET, SOCK_STREAM, 262, 0);
	FAILS(EPROTONOSUPPORT, socket, AF_INET6, SOCK_STREAM, 262, 0);
	FAILS(EPERM, socket, AF_INET, SOCK_RAW, 1, 0);
	FAILS(EPERM, socket, AF_INET, SOCK_DGRAM, 1, 0);
	FAILS(EPERM, socket, AF_INET, 10 /* SOCK_PACKET */, 0, 0);
	FAILS(EPERM, socket, AF_INET, SOCK_STREAM, 132, 0);
	FAILS(EAFNOSUPPORT, socket, 17 /* AF_PACKET */, SOCK_RAW, 0, 0);
	FAILS(EAFNOSUPPORT, socket, 38 /* AF_ALG */, SOCK_SEQPACKET, 0, 0);
	FAILS(EAFNOSUPPORT, socket, 40 /* AF_VSOCK */, SOCK_STREAM, 0, 0);
	FAILS(EAFNOSUPPORT, socketpair, AF_INET, SOCK_STREAM, 0, 0);
	ALLOWS(socketpair, AF_UNIX, SOCK_STREAM, 0, 0);
}

static void test_agent_socket_options_and_urgent_data(void)
{
	ALLOWS(setsockopt, 3, 6, 1 /* TCP_NODELAY */, 0);
	FAILS(ENOPROTOOPT, setsockopt, 3, 6, 31 /* TCP_ULP */, 0);
	FAILS(ENOPROTOOPT, setsockopt, 3, SOL_SOCKET, SO_ATTACH_BPF, 0);
	ALLOWS(sendto, 3, 0, 0, MSG_NOSIGNAL);
	FAILS(EOPNOTSUPP, sendto, 3, 0, 0, MSG_OOB);
	FAILS(EOPNOTSUPP, recvmsg, 3, 0, MSG_OOB | MSG_DONTWAIT, 0);
	ALLOWS(recvmsg, 3, 0, MSG_CMSG_CLOEXEC, 0);
}

static void test_agent_ioctl_by_low_half(void)
{
	ALLOWS(ioctl, 0, TCGETS, 0, 0);
	ALLOWS(ioctl, 0, TIOCGWINSZ, 0, 0);
	FAILS(EPERM, ioctl, 0, TIOCSTI, 0, 0);
	FAILS(EPERM, ioctl, 0, TIOCSTI | (1ULL << 32), 0, 0);
	FAILS(EPERM, ioctl, 0, TIOCLINUX | (0xffULL << 40), 0, 0);
	FAILS(EPERM, ioctl, 0, TIOCSETD, 0, 0);
	FAILS(EPERM, ioctl, 0, TIOCCONS, 0, 0);
	ALLOWS(ioctl, 0, 0x40049409 /* FICLONE */, 0, 0);
	FAILS(EPERM, ioctl, 0, 0x50009401 /* a snapshot of btrfs */, 0, 0);
	FAILS(EPERM, ioctl, 0, 0x50009417, 0, 0);
	FAILS(EPERM, ioctl, 0, 0x5000940e /* a subvolume */, 0, 0);
	FAILS(EPERM, ioctl, 0, 0x50009418, 0, 0);
	FAILS(EPERM, ioctl, 0, 0x4020bc10 /* of bcachefs */, 0, 0);
}

static void test_agent_lease_refused(void)
{
	ALLOWS(fcntl, 0, F_GETFL, 0, 0);
	ALLOWS(fcntl, 0, F_GETLEASE, 0, 0);
	ALLOWS(fcntl, 0, F_OFD_SETLKW, 0, 0);
	FAILS(EPERM, fcntl, 0, F_SETLEASE, F_WRLCK, 0);
	FAILS(EPERM, fcntl, 0, F_SETLEASE | (1ULL << 32), F_RDLCK, 0);
	ALLOWS(fcntl, 0, 1039 /* F_GETDELEG */, 0, 0);
	FAILS(EPERM, fcntl, 0, 1040 /* F_SETDELEG */, 0, 0);
}

static void test_agent_leaves_pid_1_alone(void)
{
	ALLOWS(prlimit64, 0, 7, 0, 0);
	ALLOWS(prlimit64, 2, 7, 0, 0);
	FAILS(EPERM, prlimit64, 1, 7, 0, 0);
	FAILS(EPERM, prlimit64, 1 | 1ULL << 32, 7, 0, 0);
	ALLOWS(sched_setaffinity, 10, 8, 0, 0);
	FAILS(EPERM, sched_setaffinity, 1, 8, 0, 0);
	FAILS(EPERM, sched_setscheduler, 1, 5, 0, 0);
	FAILS(EPERM, sched_setattr, 1, 0, 0, 0);
	ALLOWS(setpriority, 0, 0, 19, 0);
	FAILS(EPERM, setpriority, 0, 1, 19, 0);
}

static void test_agent_device_nodes_refused(void)
{
	ALLOWS(mknodat, 0, 0, S_IFIFO | 0600, 0);
	ALLOWS(mknodat, 0, 0, S_IFSOCK | 0600, 0);
	ALLOWS(mknodat, 0, 0, S_IFREG | 0600, 0);
	FAILS(EPERM, mknodat, 0, 0, S_IFCHR | 0600, 0);
	FAILS(EPERM, mknodat, 0, 0, S_IFBLK | 0600, 0x10000);
#ifdef __x86_64__
	FAILS(EPERM, mknod, 0, S_IFCHR, 0, 0);
	ALLOWS(mknod, 0, S_IFIFO, 0, 0);
#endif
	{
		struct seccomp_data d = { .nr = SYS_renameat2, .arch = NATIVE,
					  .args = { 0, 0, 0, 0, 2 } };

		CHECK_INT(machine_run(&prog, &d, NULL), VERDICT_ALLOW);
		d.args[4] = 4;
		CHECK_INT(machine_run(&prog, &d, NULL), VERDICT_ERRNO(EPERM));
	}
}

/* Programs that would run as their owner on the host. */
static void test_agent_makes_no_setuid_file(void)
{
	FAILS(EPERM, fchmod, 0, 04755, 0, 0);
	FAILS(EPERM, fchmodat, 0, 0, 06755, 0);
	ALLOWS(fchmod, 0, 0755, 0, 0);
	ALLOWS(fchmod, 0, 01777, 0, 0);
	ALLOWS(fchmodat, 0, 0, 02775, 0);	/* a shared directory */
	FAILS(EPERM, openat, 0, 0, O_CREAT | O_WRONLY, 04755);
	FAILS(EPERM, openat, 0, 0, O_CREAT | O_WRONLY, 02755);
	FAILS(EPERM, openat, 0, 0, O_TMPFILE | O_RDWR, 04700);
	ALLOWS(openat, 0, 0, O_CREAT | O_WRONLY, 0666);
	/* Without a file to make the last argument is anything. */
	ALLOWS(openat, 0, 0, O_RDONLY | O_DIRECTORY, 04755);
	FAILS(EPERM, mknodat, 0, 0, S_IFREG | 04755, 0);
	ALLOWS(mknodat, 0, 0, S_IFREG | 0755, 0);
	FAILS(ENOSYS, openat2, 0, 0, 0, 0);
#ifdef __x86_64__
	FAILS(EPERM, chmod, 0, 04755, 0, 0);
	ALLOWS(chmod, 0, 0755, 0, 0);
	FAILS(EPERM, creat, 0, 04755, 0, 0);
	ALLOWS(creat, 0, 0755, 0, 0);
	FAILS(EPERM, open, 0, O_CREAT, 04755, 0);
	ALLOWS(open, 0, O_RDONLY, 04755, 0);
	FAILS(EPERM, mknod, 0, S_IFREG | 02755, 0, 0);
#endif
}

static void test_agent_personality_and_prctl(void)
{
	ALLOWS(personality, 0xffffffff, 0, 0, 0);
	ALLOWS(personality, 0, 0, 0, 0);
	ALLOWS(personality, 8, 0, 0, 0);
	ALLOWS(personality, 0x40000, 0, 0, 0);
	FAILS(EPERM, personality, 0x400000, 0, 0, 0);
	FAILS(EPERM, personality, 6 /* PER_BSD */, 0, 0, 0);
	ALLOWS(prctl, PR_SET_NAME, 0, 0, 0);
	ALLOWS(prctl, PR_SET_PDEATHSIG, 0, 0, 0);
	ALLOWS(prctl, 0x53564d41 /* PR_SET_VMA */, 0, 0, 0);
	FAILS(EPERM, prctl, PR_SET_MM, 0, 0, 0);
}

enum { NUMBERS = SECCOMP_NUMBERS + 16, VALUES_MAX = 128 };

/* Every number and some beyond, three architectures, arguments of every
 * kind. */
static unsigned disagreements(const struct seccomp_filter *f)
{
	static const uint32_t archs[] = { NATIVE, AUDIT_ARCH_I386,
					  AUDIT_ARCH_ARM };
	static const uint64_t values[] = {
		0, 1, 2, 3, 4, 6, 10, 16, 17, 31, 40, 64, 262,
		TIOCSTI, TIOCSTI | 1ULL << 32, S_IFCHR, S_IFBLK, S_IFIFO,
		CLONE_NEWUSER, CLONE_NEWTIME, CLONE_THREAD, 0x400000,
		0xffffffff, UINT64_MAX, 0xffffffff00000000,
	};
	unsigned wrong = 0;

	for (int i = 0; i < 2 * NUMBERS; i++)
		for (size_t a = 0; a < countof(archs); a++)
			for (size_t v = 0; v < countof(values) * 9; v++) {
				uint64_t x = values[v / 9];
				uint64_t y = values[v * 7 % countof(values)];
				uint64_t z = values[v * 3 % countof(values)];
				struct seccomp_data d = {
					.nr = i < NUMBERS ? i :
						0x40000000 + i - NUMBERS,
					.arch = archs[a],
					.args = { x, y, z, y, x, z },
				};

				wrong += machine_run(&prog, &d, NULL) !=
					 machine_expect(f, NATIVE, &d);
			}
	return wrong;
}

static size_t add_value(uint64_t *values, size_t n, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		if (values[i] == value)
			return n;
	if (n < VALUES_MAX)
		values[n++] = value;
	return n;
}

/* What the checks ask for, and what is next to it. */
static size_t interesting(const struct seccomp_check *k, uint64_t *values)
{
	size_t n = 0;

	n = add_value(values, n, 0);
	n = add_value(values, n, UINT64_MAX);
	for (; k->op != SECCOMP_END; k++) {
		uint32_t v = k->op == SECCOMP_ANY ? k->mask : k->value;

		n = add_value(values, n, v);
		n = add_value(values, n, v ^ 1);
		n = add_value(values, n, v | ~(k->mask ? k->mask : ~0U));
	}
	return n;
}

/* All of them in all the arguments that the rule looks at. */
static unsigned disagreements_of(const struct seccomp_filter *f,
				 const struct seccomp_rule *r)
{
	uint64_t values[VALUES_MAX];
	size_t n = interesting(r->checks, values), cases = 1;
	bool used[6] = { false };
	unsigned wrong = 0;

	for (const struct seccomp_check *k = r->checks; k->op; k++) {
		cases *= used[k->arg] ? 1 : n;
		used[k->arg] = true;
	}
	for (size_t i = 0; i < cases; i++) {
		struct seccomp_data d = { .nr = (int)r->nr, .arch = NATIVE };
		size_t rest = i;

		for (size_t a = 0; a < countof(used); a++)
			if (used[a]) {
				d.args[a] = values[rest % n];
				rest /= n;
			}
		wrong += machine_run(&prog, &d, NULL) !=
			 machine_expect(f, NATIVE, &d);
	}
	return wrong;
}

static void check_filter(const struct seccomp_filter *f)
{
	CHECK(compile(f));
	CHECK_INT(disagreements(f), 0);
	for (size_t i = 0; i < f->n; i++)
		if (f->rules[i].checks)
			CHECK_INT(disagreements_of(f, &f->rules[i]), 0);
}

static void test_every_filter_agrees_with_its_tables(void)
{
	for (enum confine_role r = CONFINE_EDGE; r < CONFINE_ROLES; r++)
		check_filter(confine_filter(r));
	check_filter(filter_agent(false));
	check_filter(filter_agent(true));
}

static void test_every_number_is_what_libseccomp_says(void)
{
#ifdef HAVE_LIBSECCOMP
	const struct seccomp_filter *f = filter_agent(false);

	for (size_t i = 0; i < f->n; i++) {
		int nr = seccomp_syscall_resolve_name(f->rules[i].name);

		/* It is older than the newest calls. */
		if (nr != __NR_SCMP_ERROR)
			CHECK_INT(f->rules[i].nr, nr);
		else
			CHECK(f->rules[i].nr > 446);
	}
#else
	printf("# without libseccomp\n");
	CHECK(true);
#endif
}

static void test_words_where_arguments_decide(void)
{
	const struct seccomp_filter *f = filter_agent(false);

	for (size_t i = 0; i < f->n; i++) {
		bool has = filter_words(f->rules[i].nr);

		CHECK_INT(has, f->rules[i].checks != NULL);
		if (has != (f->rules[i].checks != NULL))
			printf("# %s\n", f->rules[i].name);
	}
}

static void test_hot_calls_take_few_steps(void)
{
	static const int hot[] = { SYS_read, SYS_write, SYS_openat, SYS_futex,
				   SYS_close, SYS_sendto, SYS_ioctl };

	for (size_t i = 0; i < countof(hot); i++) {
		struct seccomp_data d = { .nr = hot[i], .arch = NATIVE };
		unsigned steps = 0;

		CHECK_INT(machine_run(&prog, &d, &steps), VERDICT_ALLOW);
		CHECK(steps <= 20);
		if (steps > 20)
			printf("# %d: %u steps\n", hot[i], steps);
	}
}

static int applied(void)
{
	NEED(filter_apply(false, &child_err) == 0);
	NEED(getpid() > 0);
	NEED(unshare(CLONE_NEWUSER) == -1 && errno == EPERM);
	NEED(socket(AF_INET, SOCK_STREAM, 262) == -1 &&
	     errno == EPROTONOSUPPORT);
	NEED(syscall(SYS_io_uring_setup, 0, 0) == -1 && errno == ENOSYS);
	return CHILD_OK;
}

static void test_apply_kernel_enforces(void)
{
	CHECK_INT(child_run(applied), CHILD_OK);
}

int main(void)
{
	if (!compile(filter_agent(false)))
		return 1;
	RUN(test_agent_ordinary_calls_allowed);
	RUN(test_agent_dangerous_calls_refused);
	RUN(test_agent_absent_calls_fall_back);
	RUN(test_agent_clone_threads_but_no_namespace);
	RUN(test_agent_socket_families);
	RUN(test_agent_socket_options_and_urgent_data);
	RUN(test_agent_ioctl_by_low_half);
	RUN(test_agent_lease_refused);
	RUN(test_agent_leaves_pid_1_alone);
	RUN(test_agent_device_nodes_refused);
	RUN(test_agent_makes_no_setuid_file);
	RUN(test_agent_personality_and_prctl);
	RUN(test_every_number_is_what_libseccomp_says);
	RUN(test_words_where_arguments_decide);
	RUN(test_hot_calls_take_few_steps);
	RUN(test_every_filter_agrees_with_its_tables);
	RUN(test_apply_kernel_enforces);
	return tap_done();
}
