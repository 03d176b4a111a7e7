/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls by name, with arguments that do nothing even where the call is
 * permitted: bad pointers, closed descriptors, commands that do not exist.
 *
 * An attempt counts as allowed when the kernel's own code was reached: when
 * the answer is anything but a refusal (EPERM, EACCES, ENOSYS, EAFNOSUPPORT,
 * EPROTONOSUPPORT).  Outside, that takes root for most of them.
 */
#include "probe.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uapi.h"

#define BAD 1UL			/* a pointer that is none */
#define NONE ((unsigned long)-1)	/* no descriptor, no command */

struct row {
	const char *name;
	long nr;
	unsigned long args[6];
};

#define S(call, ...) { #call, SYS_##call, { __VA_ARGS__ } }

static const struct row rows[] = {
	/* mounts */
	S(mount, BAD, BAD, BAD, 0, 0), S(umount2, BAD, 0),
	S(pivot_root, BAD, BAD), S(chroot, BAD),
	S(move_mount, NONE, BAD, NONE, BAD, 0), S(open_tree, NONE, BAD, 1),
	S(open_tree_attr, NONE, BAD, 1, 0, 0), S(fsopen, BAD, 0),
	S(fsconfig, NONE, 0, 0, 0, 0), S(fsmount, NONE, 0, 0),
	S(fspick, NONE, BAD, 0), S(mount_setattr, NONE, BAD, 0, BAD, 32),
	S(setns, NONE, 0), S(open_by_handle_at, NONE, BAD, 0),
	S(quotactl, NONE, BAD, 0, 0), S(swapon, BAD, 0), S(swapoff, BAD),
	S(fanotify_init, NONE, 0),
	/* processes */
	S(process_vm_readv, 0, 0, 0, 0, 0, NONE),
	S(process_vm_writev, 0, 0, 0, 0, 0, NONE),
	S(process_madvise, NONE, 0, 0, 0, 0), S(pidfd_getfd, NONE, 0, 0),
	S(kcmp, 0, 0, 0, 0, 0), S(migrate_pages, NONE, 0, 0, 0),
	S(move_pages, NONE, 0, 0, 0, 0, NONE),
	S(mbind, BAD, 0, NONE, 0, 0, NONE), S(set_mempolicy, NONE, 0, 0),
	/* subsystems */
	S(bpf, NONE, 0, 0), S(perf_event_open, BAD, 0, NONE, NONE, 0),
	S(userfaultfd, 1), S(keyctl, KEYCTL_GET_KEYRING_ID, NONE, 0, 0, 0),
	S(add_key, BAD, BAD, 0, 0, 0), S(request_key, BAD, BAD, 0, 0),
	S(io_uring_setup, 0, BAD), S(io_uring_enter, NONE, 0, 0, 0, 0, 0),
	S(io_uring_register, NONE, 0, 0, 0), S(clone3, BAD, 0),
	S(memfd_secret, NONE), S(vmsplice, NONE, 0, 0, 0),
	S(statmount, BAD, 0, 0, 0), S(listmount, BAD, 0, 0, 0),
	S(map_shadow_stack, BAD, 0, NONE), S(lsm_get_self_attr, NONE, 0, 0, 0),
	/* the machine */
	S(reboot, 0, 0, 0, 0), S(kexec_load, 0, 0, 0, 0xffff),
	S(kexec_file_load, NONE, NONE, 0, 0, NONE),
	S(init_module, BAD, 0, BAD), S(finit_module, NONE, BAD, NONE),
	S(delete_module, BAD, 0), S(acct, BAD), S(syslog, NONE, 0, 0),
	S(sethostname, BAD, NONE), S(setdomainname, BAD, NONE),
	S(settimeofday, BAD, 0), S(clock_settime, NONE, BAD),
	S(clock_adjtime, NONE, BAD), S(adjtimex, BAD),
#ifdef __x86_64__
	S(iopl, 0), S(ioperm, 0, 0, 0), S(modify_ldt, NONE, 0, 0),
	S(uselib, BAD),
#endif
	/* what must stay allowed */
	S(openat2, NONE, BAD, BAD, 24), S(memfd_create, BAD, 0),
	S(inotify_init1, NONE), S(epoll_pwait2, NONE, BAD, 1, 0, 0, 0),
	S(pidfd_open, 1, 0), S(close_range, 1000, 1001, 0),
	S(copy_file_range, NONE, 0, NONE, 0, 0, 0), S(statx, NONE, BAD, 0, 0, 0),
	S(rseq, 0, 0, NONE, 0), S(pkey_alloc, 0, 0),
	S(landlock_create_ruleset, 0, 0, 1), S(seccomp, NONE, 0, 0),
};

static int call(char **args)
{
	const unsigned long *a = (const unsigned long *)(void *)args[1];
	long rc = syscall((long)(intptr_t)args[0], a[0], a[1], a[2], a[3],
			  a[4], a[5]);

	if (rc >= 0)
		return 0;
	switch (errno) {
	case EPERM:
	case EACCES:
	case ENOSYS:
	case EAFNOSUPPORT:
	case EPROTONOSUPPORT:
		return -errno;
	default:
		return 0;
	}
}

static void report(const struct row *r)
{
	unsigned long copy[6];
	char *args[2] = { (char *)(intptr_t)r->nr, (char *)copy };

	memcpy(copy, r->args, sizeof copy);
	probe_report("syscall", r->name, call, args);
}

int probe_syscalls(int argc, char **argv)
{
	const size_t n = sizeof rows / sizeof rows[0];

	for (size_t i = 0; argc == 0 && i < n; i++)
		report(&rows[i]);
	for (int arg = 0; arg < argc; arg++) {
		size_t i = 0;

		while (i < n && strcmp(rows[i].name, argv[arg]) != 0)
			i++;
		if (i == n) {
			(void)fprintf(stderr, "probe: no arguments known for "
				      "%s\n", argv[arg]);
			return 2;
		}
		report(&rows[i]);
	}
	return 0;
}
