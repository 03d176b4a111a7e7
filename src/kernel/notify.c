/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for somebody else: see notify.h. */
#include "notify.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "feature.h"
#include "own.h"
#include "seccomp.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP		/* 6.6 */
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#endif

/* A later kernel's structures may be longer; their beginnings stay. */
enum { ROOM = 256 };
union notice {
	struct seccomp_notif it;
	char room[ROOM];
};
union answer {
	struct seccomp_notif_resp it;
	char room[ROOM];
};

static int check_sizes(struct err *e)
{
	struct seccomp_notif_sizes sizes;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return err_feature(e, "seccomp notifications", "5.0",
				   "ask for their size");
	if (sizes.seccomp_notif > ROOM || sizes.seccomp_notif_resp > ROOM ||
	    sizes.seccomp_notif < sizeof(struct seccomp_notif))
		return err_kind(e, ERR_SYS, "seccomp notifications have "
				"another size than expected");
	return 0;
}

int notify_listen(const struct seccomp_filter *filter, struct err *e)
{
	const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER |
				    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	struct sock_filter code[BPF_LENGTH_MAX];
	struct bpf program = BPF_IN(code);
	struct sock_fprog prog;
	long fd;

	if (check_sizes(e) < 0 || seccomp_compile(filter, &program, e) < 0 ||
	    bpf_program(&program, &prog, e) < 0)
		return -1;
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	if (fd < 0 && errno == EBUSY)
		return err_sys(e, "a sandbox around this one listens to system "
			       "calls already, and there can be only one; run "
			       "without `write` grants there");
	if (fd < 0 && errno == EINVAL)
		errno = ENOSYS;
	if (fd < 0)
		return err_feature(e, "seccomp(WAIT_KILLABLE_RECV)", "5.19",
				   "install a filter");
	/* Only faster: the caller's processor is handed over with the call. */
	(void)ioctl((int)fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	return (int)fd;
}

int notify_receive(int listener_fd, struct notify_call *ret, struct err *e)
{
	union notice notice = { .room = { 0 } };

	while (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &notice) < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != EINTR)
			return err_sys(e, "hear of a system call");
	}
	*ret = (struct notify_call){
		.id = notice.it.id, .pid = (pid_t)notice.it.pid,
		.nr = notice.it.data.nr,
	};
	for (int i = 0; i < 6; i++)
		ret->args[i] = notice.it.data.args[i];
	return 1;
}

bool notify_is_waiting(int listener_fd, uint64_t id)
{
	return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int notify_answer(int listener_fd, uint64_t id, int error, struct err *e)
{
	union answer answer = { .it = { .id = id, .error = -error } };

	if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 &&
	    errno != ENOENT)
		return err_sys(e, "answer a system call");
	return 0;
}

int notify_give(int listener_fd, uint64_t id, int fd, bool cloexec,
		struct err *e)
{
	struct seccomp_notif_addfd add = {
		.id = id, .flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};

	while (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0) {
		if (errno == ENOENT || errno == EINPROGRESS)
			return 0;	/* gone, or answered */
		if (errno != EINTR)
			return err_sys(e, "give a descriptor");
	}
	return 0;
}
