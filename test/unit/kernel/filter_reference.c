/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's filter against a second description of it: the tables of
 * docs/kernel.md, written down once more as names and plain C, with nothing
 * of the filter's own tables.  Which number has which name is libseccomp's
 * word, and for younger calls this file's.
 */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "machine.h"
#include "own.h"
#include "tap.h"
#ifdef HAVE_LIBSECCOMP
#include <seccomp.h>
#endif

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

enum { NUMBERS = 601 };
static const uint32_t x32_bit = 0x40000000;

static const char refused[] =
	" mount umount2 pivot_root chroot move_mount open_tree open_tree_attr"
	" fsopen fsconfig fsmount fspick mount_setattr setns quotactl"
	" quotactl_fd swapon swapoff open_by_handle_at fanotify_init"
	" fanotify_mark ptrace process_vm_readv process_vm_writev"
	" process_madvise process_mrelease pidfd_getfd kcmp migrate_pages"
	" move_pages mbind set_mempolicy set_mempolicy_home_node bpf"
	" perf_event_open userfaultfd keyctl add_key request_key vmsplice"
	" memfd_secret remap_file_pages reboot kexec_load kexec_file_load"
	" init_module finit_module delete_module acct syslog vhangup"
	" sethostname setdomainname settimeofday clock_settime clock_adjtime"
	" adjtimex iopl ioperm modify_ldt ";

static const char absent[] =
	" openat2 clone3 io_uring_setup io_uring_enter io_uring_register"
	" statmount listmount listns lsm_get_self_attr lsm_set_self_attr"
	" lsm_list_modules file_getattr file_setattr map_shadow_stack"
	" uretprobe uprobe lookup_dcookie nfsservctl uselib ustat sysfs _sysctl"
	" create_module get_kernel_syms query_module getpmsg putpmsg"
	" afs_syscall tuxcall security set_thread_area get_thread_area"
	" epoll_ctl_old epoll_wait_old vserver ";

/* Younger than libseccomp's table; 467 and above are refused or absent. */
static const struct { int nr; const char *name; } young[] = {
	{ 450, "set_mempolicy_home_node" }, { 451, "cachestat" },
	{ 452, "fchmodat2" }, { 453, "map_shadow_stack" },
	{ 454, "futex_wake" }, { 455, "futex_wait" },
	{ 456, "futex_requeue" }, { 457, "statmount" }, { 458, "listmount" },
	{ 459, "lsm_get_self_attr" }, { 460, "lsm_set_self_attr" },
	{ 461, "lsm_list_modules" }, { 462, "mseal" }, { 463, "setxattrat" },
	{ 464, "getxattrat" }, { 465, "listxattrat" },
	{ 466, "removexattrat" }, { 467, "open_tree_attr" },
	{ 468, "file_getattr" }, { 469, "file_setattr" }, { 470, "listns" },
#ifdef __x86_64__
	{ 335, "uretprobe" }, { 336, "uprobe" },
#endif
};

static char names[NUMBERS][40];
static struct sock_filter code[BPF_LENGTH_MAX];
static struct bpf program = BPF_IN(code);
static struct sock_fprog prog;

static bool is_in(const char *list, const char *name)
{
	char word[48];

	(void)snprintf(word, sizeof word, " %s ", name);
	return strstr(list, word);
}

static uint32_t no(int error)
{
	return SECCOMP_RET_ERRNO | (uint32_t)error;
}

static uint32_t allow_unless(bool bad, int error)
{
	return bad ? no(error) : SECCOMP_RET_ALLOW;
}

static uint32_t expect_socket(uint32_t family, uint32_t type, uint32_t protocol)
{
	uint32_t kind = type & 0xf;

	switch (family) {
	case 1:		/* AF_UNIX: stream, datagram, seqpacket */
		return allow_unless(kind != 1 && kind != 2 && kind != 5, EPERM);
	case 2:		/* AF_INET */
	case 10:	/* AF_INET6 */
		if (kind == 1 && (protocol == 0 || protocol == 6))
			return SECCOMP_RET_ALLOW;
		if (kind == 2 && (protocol == 0 || protocol == 17))
			return SECCOMP_RET_ALLOW;
		return no(protocol == 262 ? EPROTONOSUPPORT : EPERM);
	case 16:	/* AF_NETLINK */
		return allow_unless(protocol != 0, EPROTONOSUPPORT);
	default:
		return no(EAFNOSUPPORT);
	}
}

static bool is_bad_option(uint32_t level, uint32_t option)
{
	static const uint32_t bad[][2] = {
		{ 6, 31 }, { 17, 100 }, { 1, 50 }, { 1, 52 }, { 0, 64 },
		{ 0, 65 }, { 41, 64 }, { 41, 65 },
	};

	for (size_t i = 0; i < countof(bad); i++)
		if (bad[i][0] == level && bad[i][1] == option)
			return true;
	return false;
}

/* cgroup, uts, ipc, user, pid, net, mount */
#define NAMESPACES (0x02000000u | 0x04000000u | 0x08000000u | 0x10000000u | \
		    0x20000000u | 0x40000000u | 0x00020000u)

static uint32_t expect_mode(uint32_t mode, bool may_be_device)
{
	uint32_t kind = mode & 0170000;

	if (may_be_device && (kind == 0020000 || kind == 0060000))
		return no(EPERM);
	return allow_unless(mode & 06000, EPERM);
}

static uint32_t expect_open(uint32_t flags, uint32_t mode)
{
	/* O_CREAT, and O_TMPFILE without the O_DIRECTORY that it contains. */
	bool makes = (flags & 0100) || (flags & 020000000);

	return allow_unless(makes && (mode & 06000), EPERM);
}

static uint32_t expect_file(const char *name, const uint32_t a[6],
			    bool *ret_known)
{
	if (strcmp(name, "chmod") == 0 || strcmp(name, "fchmod") == 0)
		return allow_unless(a[1] & 04000, EPERM);
	if (strcmp(name, "fchmodat") == 0 || strcmp(name, "fchmodat2") == 0)
		return allow_unless(a[2] & 04000, EPERM);
	if (strcmp(name, "open") == 0)
		return expect_open(a[1], a[2]);
	if (strcmp(name, "openat") == 0)
		return expect_open(a[2], a[3]);
	if (strcmp(name, "creat") == 0)
		return expect_mode(a[1], false);
	if (strcmp(name, "mknod") == 0)
		return expect_mode(a[1], true);
	if (strcmp(name, "mknodat") == 0)
		return expect_mode(a[2], true);
	if (strcmp(name, "renameat2") == 0)
		return allow_unless(a[4] & 4, EPERM);
	if (strcmp(name, "fcntl") == 0)
		return allow_unless(a[1] == 1024 || a[1] == 1040, EPERM);
	*ret_known = false;
	return 0;
}

static uint32_t expect_process(const char *name, const uint32_t a[6],
			       bool *ret_known)
{
	if (strcmp(name, "clone") == 0)
		return allow_unless(a[0] & NAMESPACES, EPERM);
	if (strcmp(name, "unshare") == 0)
		return allow_unless(a[0] & (NAMESPACES | 0x80), EPERM);
	if (strcmp(name, "personality") == 0)
		return allow_unless(a[0] != 0xffffffff &&
				    (a[0] & ~(8u | 0x20000u | 0x40000u)),
				    EPERM);
	if (strcmp(name, "prctl") == 0)
		return allow_unless(a[0] == 35 || a[0] == 62 || a[0] == 67 ||
				    a[0] == 33 || a[0] == 57, EPERM);
	if (strcmp(name, "ioctl") == 0)
		return allow_unless(a[1] == 0x5412 || a[1] == 0x541c ||
				    a[1] == 0x5423 || a[1] == 0x541d ||
				    a[1] == 0x4020bc10 ||
				    (a[1] & ~0xffu) == 0x50009400, EPERM);
	/* pid 1 */
	if (strcmp(name, "setpriority") == 0)
		return allow_unless(a[1] == 1, EPERM);
	if (is_in(" prlimit64 sched_setscheduler sched_setattr"
		  " sched_setaffinity ", name))
		return allow_unless(a[0] == 1, EPERM);
	*ret_known = false;
	return 0;
}

static uint32_t expect_network(const char *name, const uint32_t a[6])
{
	if (strcmp(name, "socket") == 0)
		return expect_socket(a[0], a[1], a[2]);
	if (strcmp(name, "socketpair") == 0)
		return allow_unless(a[0] != 1, EAFNOSUPPORT);
	if (strcmp(name, "setsockopt") == 0)
		return allow_unless(is_bad_option(a[1], a[2]), ENOPROTOOPT);
	if (is_in(" sendto recvfrom sendmmsg recvmmsg ", name))
		return allow_unless(a[3] & 1, EOPNOTSUPP);
	if (is_in(" sendmsg recvmsg ", name))
		return allow_unless(a[2] & 1, EOPNOTSUPP);
	return SECCOMP_RET_ALLOW;
}

static uint32_t expect(const struct seccomp_data *d, bool debug)
{
	uint32_t nr = (uint32_t)d->nr, a[6], answer;
	const char *name = nr < NUMBERS ? names[nr] : "";
	bool known = true;

	if (d->arch != NATIVE)
		return SECCOMP_RET_KILL_PROCESS;
	if (!*name || is_in(absent, name))
		return no(ENOSYS);
	if (debug && is_in(" ptrace process_vm_readv process_vm_writev kcmp ",
			   name))
		return SECCOMP_RET_ALLOW;
	if (is_in(refused, name))
		return no(EPERM);
	for (size_t i = 0; i < countof(a); i++)
		a[i] = (uint32_t)d->args[i];
	answer = expect_file(name, a, &known);
	if (known)
		return answer;
	known = true;
	answer = expect_process(name, a, &known);
	return known ? answer : expect_network(name, a);
}

static bool compile(bool debug)
{
	struct err e;

	return seccomp_compile(filter_agent(debug), &program, &e) == 0 &&
	       bpf_program(&program, &prog, &e) == 0;
}

/* Complains about the first few. */
static bool agrees(const struct seccomp_data *d, bool debug)
{
	static unsigned told;
	uint32_t got = machine_run(&prog, d, NULL), want = expect(d, debug);

	if (got == want)
		return true;
	if (told++ < 10)
		printf("# %d %s (%#llx, %#llx, %#llx, %#llx) %x: %#x, not %#x\n",
		       d->nr, d->nr >= 0 && d->nr < NUMBERS ? names[d->nr] : "",
		       d->args[0], d->args[1], d->args[2], d->args[3], d->arch,
		       got, want);
	return false;
}

static void name_numbers(void)
{
#ifdef HAVE_LIBSECCOMP
	for (int nr = 0; nr < NUMBERS; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(
			SCMP_ARCH_NATIVE, nr);

		if (name)
			(void)snprintf(names[nr], sizeof names[nr], "%s", name);
		free(name);
	}
#endif
	for (size_t i = 0; i < countof(young); i++)
		(void)snprintf(names[young[i].nr], sizeof names[0], "%s",
			       young[i].name);
}

/* In one argument after the other, with the others 0 or all ones. */
static unsigned try_values(int nr, uint32_t arch, bool debug)
{
	static const uint64_t values[] = {
		0, 1, 2, 4, 5, 8, 10, 16, 0x80, 0x20000, 0x2000000, 0x10000000,
		0x40000000, 0x5412, 0x5423, 1024, 04755, 02755, 0100, 020000,
		060000, 020200000, 0xffffffff, 0x100000000, 0x100000001,
		0x500005412, 1040, 0x4020bc10, 0x5000940f, UINT64_MAX, 0xffffffff00000000,
	};
	unsigned wrong = 0;

	for (size_t i = 0; i < 2 * countof(values) * 6; i++) {
		struct seccomp_data d = { .nr = nr, .arch = arch };

		if (i % 2)
			memset(d.args, 0xff, sizeof d.args);
		d.args[i / 2 % 6] = values[i / 12];
		wrong += !agrees(&d, debug);
	}
	return wrong;
}

static void check_every_number(bool debug)
{
	static const uint32_t foreign[] = {
		AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64,
		AUDIT_ARCH_AARCH64, AUDIT_ARCH_RISCV64, 0,
	};
	unsigned wrong = 0;

	CHECK(compile(debug));
	for (int nr = -2; nr < NUMBERS; nr++) {
		wrong += try_values(nr, NATIVE, debug);
		wrong += try_values((int)(x32_bit | (uint32_t)nr), NATIVE,
				    debug);
		for (size_t i = 0; i < countof(foreign); i++) {
			struct seccomp_data d = {
				.nr = nr, .arch = foreign[i],
			};

			wrong += !agrees(&d, debug);
		}
	}
	CHECK_INT(wrong, 0);
}

static void test_every_number_three_abis(void)
{
	check_every_number(false);
}

static void test_every_number_with_debug(void)
{
	check_every_number(true);
	CHECK(compile(false));
}

static int number_of(const char *name)
{
	for (int nr = 0; nr < NUMBERS; nr++)
		if (strcmp(names[nr], name) == 0)
			return nr;
	return -1;
}

static const uint64_t garbage[] = { 0, 1ULL << 32, 0xffffffff00000000 };

/* All values of argument a up to `up_to`, and all single bits. */
static void sweep(const char *name, unsigned a, unsigned up_to)
{
	int nr = number_of(name);
	unsigned wrong = 0;

	if (nr < 0)	/* a call of x86 */
		return;
	for (unsigned v = 0; v < up_to + 64; v++)
		for (size_t g = 0; g < countof(garbage); g++) {
			struct seccomp_data d = { .nr = nr, .arch = NATIVE };

			d.args[a] = (v < up_to ? v : 1ULL << (v - up_to)) |
				    garbage[g];
			wrong += !agrees(&d, false);
			d.args[a] |= 17;	/* a thread's exit signal */
			wrong += !agrees(&d, false);
		}
	CHECK_INT(wrong, 0);
}

static void test_flags_and_commands(void)
{
	sweep("clone", 0, 256);
	sweep("unshare", 0, 256);
	sweep("personality", 0, 4096);
	sweep("prctl", 0, 4096);
	sweep("fcntl", 1, 4096);
	sweep("ioctl", 1, 0x8000);
	sweep("renameat2", 4, 64);
	for (unsigned a = 0; a < 6; a++) {
		sweep("sendto", a, 64);
		sweep("recvmsg", a, 64);
		sweep("recvmmsg", a, 64);
	}
}

/* Two arguments at once; the values are those of flags and modes. */
static void cross(const char *name, unsigned flags_at, unsigned mode_at)
{
	int nr = number_of(name);
	unsigned wrong = 0;

	if (nr < 0)
		return;
	for (unsigned bit = 0; bit < 33; bit++)
		for (uint32_t mode = 0; mode < 0200000; mode += 0200) {
			struct seccomp_data d = { .nr = nr, .arch = NATIVE };

			d.args[flags_at] = bit < 32 ? 1U << bit : 0;
			d.args[mode_at] = mode | garbage[mode / 0200 % 3];
			wrong += !agrees(&d, false);
		}
	CHECK_INT(wrong, 0);
}

static void test_modes_of_files(void)
{
	cross("open", 1, 2);
	cross("openat", 2, 3);
	cross("creat", 0, 1);
	cross("mknod", 2, 1);
	cross("mknodat", 3, 2);
	cross("chmod", 0, 1);
	cross("fchmod", 0, 1);
	cross("fchmodat", 0, 2);
	cross("fchmodat2", 3, 2);
}

static void test_sockets(void)
{
	static const uint64_t flags[] = { 0, SOCK_CLOEXEC, SOCK_NONBLOCK,
					  SOCK_CLOEXEC | SOCK_NONBLOCK };
	int nr = number_of("socket"), pair = number_of("socketpair");
	unsigned wrong = 0;

	for (unsigned family = 0; family < 47; family++)
		for (unsigned type = 0; type < 16; type++)
			for (unsigned protocol = 0; protocol < 280; protocol++) {
				struct seccomp_data d = {
					.nr = protocol % 2 ? nr : pair,
					.arch = NATIVE,
					.args = { family | garbage[type % 3],
						  type | flags[protocol % 4],
						  protocol },
				};

				wrong += !agrees(&d, false);
				d.nr = nr;
				wrong += !agrees(&d, false);
			}
	CHECK_INT(wrong, 0);
}

static void test_socket_options(void)
{
	int nr = number_of("setsockopt");
	unsigned wrong = 0;

	for (unsigned level = 0; level < 300; level++)
		for (unsigned option = 0; option < 128; option++)
			for (size_t g = 0; g < countof(garbage); g++) {
				struct seccomp_data d = {
					.nr = nr, .arch = NATIVE,
					.args = { 3, level | garbage[g],
						  option | garbage[2 - g] },
				};

				wrong += !agrees(&d, false);
			}
	CHECK_INT(wrong, 0);
}

/* The same rules make the other architecture's filter: of a rule that is not
 * for x86 alone that architecture must have the call. */
static void test_rules_of_both_architectures(void)
{
#ifdef HAVE_LIBSECCOMP
	const struct seccomp_filter *f = filter_agent(false);
	unsigned here = 0, both = 0;

	for (size_t i = 0; i < f->n; i++) {
		const char *name = f->rules[i].name;
		int there = seccomp_syscall_resolve_name_arch(
			SCMP_ARCH_AARCH64, name);

		here++;
		both += there >= 0;
		/* These are all that aarch64 has not. */
		if (there < 0 && f->rules[i].nr < 450)
			CHECK(is_in(" open creat stat lstat access readlink"
				    " getdents rename mkdir rmdir link unlink"
				    " symlink chmod chown lchown utime utimes"
				    " futimesat mknod poll select pipe dup2"
				    " epoll_create epoll_wait eventfd signalfd"
				    " inotify_init pause alarm fork vfork getpgrp"
				    " time arch_prctl iopl ioperm modify_ldt ",
				    name));
	}
	CHECK(both > 290 && here >= both);
#else
	printf("# without libseccomp\n");
	CHECK(true);
#endif
}

int main(void)
{
#ifndef HAVE_LIBSECCOMP
	printf("1..0 # SKIP names of numbers come from libseccomp\n");
	return 0;
#endif
	name_numbers();
	RUN(test_every_number_three_abis);
	RUN(test_every_number_with_debug);
	RUN(test_flags_and_commands);
	RUN(test_modes_of_files);
	RUN(test_sockets);
	RUN(test_socket_options);
	RUN(test_rules_of_both_architectures);
	return tap_done();
}
