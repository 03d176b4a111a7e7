/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of system calls: see calls.h.
 *
 * A name is stored in its row, not pointed to: pointers would have to be
 * relocated at every start of a program that hardly ever looks here.
 */
#include "calls.h"

#include <string.h>

#include "own.h"
#include "uapi.h"

#define C(call) { SYS_##call, 0, #call }
/* With the arguments, as bits, that the kernel takes as int. */
#define I(call, ints) { SYS_##call, (ints), #call }

static const struct call table[] = {
	I(read, 0x1), I(write, 0x1), I(close, 0x1), I(fstat, 0x1),
	I(lseek, 0x1), C(mmap), C(mprotect), C(munmap), C(brk), C(rt_sigaction),
	C(rt_sigprocmask), C(rt_sigreturn), I(ioctl, 0x3), I(pread64, 0x1),
	I(pwrite64, 0x1), I(readv, 0x1), I(writev, 0x1), C(sched_yield),
	C(mremap), I(msync, 0x4), C(mincore), I(madvise, 0x4), I(shmget, 0x5),
	I(shmat, 0x5), I(shmctl, 0x3), C(dup), C(nanosleep), C(getitimer),
	C(setitimer), C(getpid), I(sendfile, 0x3), I(socket, 0x7),
	I(connect, 0x5), I(accept, 0x1), I(sendto, 0x29), I(recvfrom, 0x9),
	I(sendmsg, 0x5), I(recvmsg, 0x5), I(shutdown, 0x3), I(bind, 0x5),
	I(listen, 0x3), I(getsockname, 0x1), I(getpeername, 0x1),
	I(socketpair, 0x7), I(setsockopt, 0x17), I(getsockopt, 0x7),
	I(clone, 0x1), C(execve), I(exit, 0x1), I(wait4, 0x5), I(kill, 0x3),
	C(uname), C(semget), C(semop), C(semctl), C(shmdt), C(msgget),
	C(msgsnd), C(msgrcv), I(msgctl, 0x3), I(fcntl, 0x3), I(flock, 0x3),
	I(fsync, 0x1), I(fdatasync, 0x1), C(truncate), I(ftruncate, 0x1),
	C(getcwd), C(chdir), I(fchdir, 0x1), I(fchmod, 0x3), I(fchown, 0x7),
	I(umask, 0x1), C(gettimeofday), I(getrlimit, 0x1), I(getrusage, 0x1),
	C(sysinfo), C(times), C(ptrace), C(getuid), C(syslog), C(getgid),
	I(setuid, 0x1), I(setgid, 0x1), C(geteuid), C(getegid), I(setpgid, 0x1),
	C(getppid), C(setsid), I(setreuid, 0x3), I(setregid, 0x3), C(getgroups),
	C(setgroups), I(setresuid, 0x7), C(getresuid), I(setresgid, 0x7),
	C(getresgid), I(getpgid, 0x1), I(setfsuid, 0x1), I(setfsgid, 0x1),
	I(getsid, 0x1), C(capget), C(capset), C(rt_sigpending),
	C(rt_sigtimedwait), C(rt_sigqueueinfo), C(rt_sigsuspend),
	C(sigaltstack), I(personality, 0x1), C(statfs), I(fstatfs, 0x1),
	I(getpriority, 0x3), I(setpriority, 0x7), C(sched_setparam),
	C(sched_getparam), I(sched_setscheduler, 0x3),
	I(sched_getscheduler, 0x1), I(sched_get_priority_max, 0x1),
	I(sched_get_priority_min, 0x1), C(sched_rr_get_interval), C(mlock),
	C(munlock), I(mlockall, 0x1), C(munlockall), C(vhangup), C(pivot_root),
	I(prctl, 0x1), C(adjtimex), I(setrlimit, 0x1), C(chroot), C(sync),
	C(acct), C(settimeofday), C(mount), I(umount2, 0x2), C(swapon),
	C(swapoff), C(reboot), C(sethostname), C(setdomainname), C(init_module),
	C(delete_module), C(quotactl), C(nfsservctl), C(gettid), C(readahead),
	C(setxattr), C(lsetxattr), C(fsetxattr), C(getxattr), C(lgetxattr),
	I(fgetxattr, 0x1), C(listxattr), C(llistxattr), I(flistxattr, 0x1),
	C(removexattr), C(lremovexattr), I(fremovexattr, 0x1), I(tkill, 0x3),
	I(futex, 0x6), C(sched_setaffinity), C(sched_getaffinity),
	I(io_setup, 0x1), C(io_destroy), C(io_getevents), C(io_submit),
	C(io_cancel), C(lookup_dcookie), C(remap_file_pages),
	I(getdents64, 0x1), C(set_tid_address), C(restart_syscall),
	C(semtimedop), C(fadvise64), I(timer_create, 0x1), C(timer_settime),
	C(timer_gettime), C(timer_getoverrun), C(timer_delete),
	I(clock_settime, 0x1), I(clock_gettime, 0x1), I(clock_getres, 0x1),
	I(clock_nanosleep, 0x1), I(exit_group, 0x1), I(epoll_ctl, 0x7),
	I(tgkill, 0x7), C(mbind), C(set_mempolicy), C(get_mempolicy),
	C(mq_open), C(mq_unlink), C(mq_timedsend), C(mq_timedreceive),
	C(mq_notify), C(mq_getsetattr), C(kexec_load), I(waitid, 0xb),
	C(add_key), C(request_key), I(keyctl, 0x1), I(ioprio_set, 0x7),
	I(ioprio_get, 0x3), I(inotify_add_watch, 0x5), I(inotify_rm_watch, 0x3),
	C(migrate_pages), I(openat, 0xd), I(mkdirat, 0x5), I(mknodat, 0xd),
	I(fchownat, 0x1d), I(newfstatat, 0x9), I(unlinkat, 0x5),
	I(renameat, 0x5), I(linkat, 0x15), I(symlinkat, 0x2),
	I(readlinkat, 0x1), I(fchmodat, 0x5), I(faccessat, 0x5), C(pselect6),
	C(ppoll), I(unshare, 0x1), C(set_robust_list), C(get_robust_list),
	I(splice, 0x25), C(tee), C(sync_file_range), C(vmsplice), C(move_pages),
	I(utimensat, 0x1), C(epoll_pwait), I(timerfd_create, 0x3),
	I(fallocate, 0x3), I(timerfd_settime, 0x3), I(timerfd_gettime, 0x1),
	I(accept4, 0x9), I(signalfd4, 0x9), I(eventfd2, 0x3),
	I(epoll_create1, 0x1), I(dup3, 0x7), I(pipe2, 0x2),
	I(inotify_init1, 0x1), I(preadv, 0x1), I(pwritev, 0x1),
	C(rt_tgsigqueueinfo), I(perf_event_open, 0xe), I(recvmmsg, 0xd),
	C(fanotify_init), C(fanotify_mark), I(prlimit64, 0x3),
	I(name_to_handle_at, 0x11), C(open_by_handle_at), I(clock_adjtime, 0x1),
	I(syncfs, 0x1), I(sendmmsg, 0xd), I(setns, 0x3), C(getcpu),
	C(process_vm_readv), C(process_vm_writev), C(kcmp), C(finit_module),
	C(sched_setattr), C(sched_getattr), I(renameat2, 0x15), I(seccomp, 0x3),
	I(getrandom, 0x4), I(memfd_create, 0x2), C(kexec_file_load),
	I(bpf, 0x5), I(execveat, 0x11), C(userfaultfd), I(membarrier, 0x3),
	I(mlock2, 0x4), I(copy_file_range, 0x25), I(preadv2, 0x1),
	I(pwritev2, 0x1), C(pkey_mprotect), C(pkey_alloc), C(pkey_free),
	I(statx, 0xd), C(io_pgetevents), C(rseq), I(pidfd_send_signal, 0xb),
	C(io_uring_setup), C(io_uring_enter), C(io_uring_register),
	C(open_tree), C(move_mount), C(fsopen), C(fsconfig), C(fsmount),
	C(fspick), I(pidfd_open, 0x3), C(clone3), I(close_range, 0x7),
	C(openat2), C(pidfd_getfd), I(faccessat2, 0xd), C(process_madvise),
	C(epoll_pwait2), C(mount_setattr), C(quotactl_fd),
	I(landlock_create_ruleset, 0x4), C(landlock_add_rule),
	C(landlock_restrict_self), C(memfd_secret), C(process_mrelease),
	C(futex_waitv), C(set_mempolicy_home_node), C(cachestat),
	I(fchmodat2, 0xd), C(map_shadow_stack), C(futex_wake), C(futex_wait),
	C(futex_requeue), C(statmount), C(listmount), C(lsm_get_self_attr),
	C(lsm_set_self_attr), C(lsm_list_modules), C(mseal), C(setxattrat),
	C(getxattrat), C(listxattrat), C(removexattrat), C(open_tree_attr),
	C(file_getattr), C(file_setattr), C(listns),
#ifdef __x86_64__
	I(open, 0x6), C(stat), C(lstat), C(poll), I(access, 0x2), C(pipe),
	C(select), I(dup2, 0x3), C(pause), I(alarm, 0x1), C(fork), C(vfork),
	I(getdents, 0x1), C(rename), I(mkdir, 0x2), C(rmdir), I(creat, 0x2),
	C(link), C(unlink), C(symlink), C(readlink), I(chmod, 0x2),
	I(chown, 0x6), I(lchown, 0x6), C(getpgrp), C(utime), I(mknod, 0x6),
	C(uselib), C(ustat), C(sysfs), C(modify_ldt), C(_sysctl),
	I(arch_prctl, 0x1), C(iopl), C(ioperm), C(create_module),
	C(get_kernel_syms), C(query_module), C(getpmsg), C(putpmsg),
	C(afs_syscall), C(tuxcall), C(security), C(time), C(set_thread_area),
	C(get_thread_area), I(epoll_create, 0x1), C(epoll_ctl_old),
	C(epoll_wait_old), C(epoll_wait), C(utimes), C(vserver),
	C(inotify_init), C(futimesat), C(signalfd), I(eventfd, 0x1),
	{ 335, 0, "uretprobe" }, { 336, 0, "uprobe" },	/* 6.11, 6.18 */
#endif
};

/* Of other architectures: profiles name the calls of all of them. */
static const char foreign[] =
	"_llseek\0_newselect\0arm_fadvise64_64\0arm_sync_file_range\0bdflush\0"
	"break\0breakpoint\0cachectl\0cacheflush\0chown32\0clock_adjtime64\0"
	"clock_getres_time64\0clock_gettime64\0clock_nanosleep_time64\0"
	"clock_settime64\0fadvise64_64\0fchown32\0fcntl64\0fstat64\0"
	"fstatat64\0fstatfs64\0ftime\0ftruncate64\0futex_time64\0get_tls\0"
	"getegid32\0geteuid32\0getgid32\0getgroups32\0getresgid32\0"
	"getresuid32\0getuid32\0gtty\0idle\0io_pgetevents_time64\0ipc\0"
	"kern_features\0lchown32\0lock\0lstat64\0memory_ordering\0mmap2\0mpx\0"
	"mq_timedreceive_time64\0mq_timedsend_time64\0multiplexer\0nice\0"
	"oldfstat\0oldlstat\0oldolduname\0oldstat\0olduname\0"
	"pciconfig_iobase\0pciconfig_read\0pciconfig_write\0ppoll_time64\0"
	"prof\0profil\0pselect6_time64\0readdir\0recv\0recvmmsg_time64\0"
	"riscv_flush_icache\0riscv_hwprobe\0rt_sigtimedwait_time64\0rtas\0"
	"s390_guarded_storage\0s390_pci_mmio_read\0s390_pci_mmio_write\0"
	"s390_runtime_instr\0s390_sthyi\0sched_rr_get_interval_time64\0"
	"semtimedop_time64\0send\0sendfile64\0set_tls\0setfsgid32\0"
	"setfsuid32\0setgid32\0setgroups32\0setregid32\0setresgid32\0"
	"setresuid32\0setreuid32\0setuid32\0sgetmask\0sigaction\0signal\0"
	"sigpending\0sigprocmask\0sigreturn\0sigsuspend\0socketcall\0"
	"spu_create\0spu_run\0ssetmask\0stat64\0statfs64\0stime\0stty\0"
	"subpage_prot\0swapcontext\0switch_endian\0sync_file_range2\0"
	"sys_debug_setcontext\0syscall\0sysmips\0timer_gettime64\0"
	"timer_settime64\0timerfd\0timerfd_gettime64\0timerfd_settime64\0"
	"truncate64\0ugetrlimit\0ulimit\0umount\0usr26\0usr32\0"
	"utimensat_time64\0utrap_install\0vm86\0vm86old\0waitpid\0"
#ifndef __x86_64__
	"open\0stat\0lstat\0poll\0access\0pipe\0select\0dup2\0pause\0alarm\0"
	"fork\0vfork\0getdents\0rename\0mkdir\0rmdir\0creat\0link\0unlink\0"
	"symlink\0readlink\0chmod\0chown\0lchown\0getpgrp\0utime\0mknod\0"
	"uselib\0ustat\0sysfs\0modify_ldt\0_sysctl\0arch_prctl\0iopl\0ioperm\0"
	"create_module\0get_kernel_syms\0query_module\0getpmsg\0putpmsg\0"
	"afs_syscall\0tuxcall\0security\0time\0set_thread_area\0"
	"get_thread_area\0epoll_create\0epoll_ctl_old\0epoll_wait_old\0"
	"epoll_wait\0utimes\0vserver\0inotify_init\0futimesat\0signalfd\0"
	"eventfd\0uretprobe\0uprobe\0"
#endif
	;

const struct call *call_at(size_t i)
{
	return i < countof(table) ? &table[i] : NULL;
}

const struct call *call_named(struct sv name)
{
	for (size_t i = 0; i < countof(table); i++)
		if (sv_eq(name, sv_str(table[i].name)))
			return &table[i];
	return NULL;
}

bool call_is_foreign(struct sv name)
{
	for (const char *at = foreign; *at; at += strlen(at) + 1)
		if (sv_eq(name, sv_str(at)))
			return true;
	return false;
}
