/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel has and the headers of Debian 12 (6.1) lack, each with the
 * release that brought it.  Nothing here is used before it was probed for.
 */
#ifndef KERNEL_UAPI_H
#define KERNEL_UAPI_H

#include <linux/types.h>
#include <sched.h>
#include <sys/syscall.h>

/* 5.6.  It shares bits with the exit signal: clone3() and unshare() only. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* Landlock: 6.2 (ABI 3), 6.10 (ABI 5), 6.12 (ABI 6). */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif

/* struct landlock_ruleset_attr as of ABI 6; an older kernel takes the longer
 * structure as long as what it does not know is zero. */
struct uapi_landlock_ruleset {
	__u64 handled_access_fs;
	__u64 handled_access_net;	/* 6.7, ABI 4 */
	__u64 scoped;			/* 6.12, ABI 6 */
};

/* struct clone_args up to the part that 5.5 added: what we use. */
struct uapi_clone_args {
	__u64 flags;
	__u64 pidfd;
	__u64 child_tid;
	__u64 parent_tid;
	__u64 exit_signal;
	__u64 stack;
	__u64 stack_size;
	__u64 tls;
	__u64 set_tid;
	__u64 set_tid_size;
};

/* The same numbers on every architecture that uses the shared table. */
#ifndef SYS_cachestat
#define SYS_cachestat 451		/* 6.5 */
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452		/* 6.6 */
#endif
#ifndef SYS_map_shadow_stack
#define SYS_map_shadow_stack 453	/* 6.6 */
#endif
#ifndef SYS_futex_wake
#define SYS_futex_wake 454		/* 6.7 */
#define SYS_futex_wait 455
#define SYS_futex_requeue 456
#endif
#ifndef SYS_statmount
#define SYS_statmount 457		/* 6.8 */
#define SYS_listmount 458
#define SYS_lsm_get_self_attr 459
#define SYS_lsm_set_self_attr 460
#define SYS_lsm_list_modules 461
#endif
#ifndef SYS_mseal
#define SYS_mseal 462			/* 6.10 */
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463		/* 6.13 */
#define SYS_getxattrat 464
#define SYS_listxattrat 465
#define SYS_removexattrat 466
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467		/* 6.15 */
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468		/* 6.17 */
#define SYS_file_setattr 469
#endif
#ifndef SYS_listns
#define SYS_listns 470			/* 6.19 */
#endif

#endif
