/* SPDX-License-Identifier: Apache-2.0 */
/* The caller of a call that waits: see asker.h. */
#include "asker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "io.h"
#include "own.h"

enum { PAGE = 4096, STATUS_MAX = 8192, PTS_MAJOR = 136 };

int asker_open(int listener_fd, const struct notify_call *call,
	       struct asker *ret)
{
	char path[32];

	*ret = (struct asker){ .call = call, .proc_fd = -1 };
	(void)snprintf(path, sizeof path, "/proc/%d", call->pid);
	ret->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* One that is not dumpable is not even there. */
	if (ret->proc_fd < 0)
		return EACCES;
	/* It was the caller's when it was opened, as it still waits. */
	return notify_is_waiting(listener_fd, call->id) ? 0 : ESRCH;
}

void asker_close(struct asker *a)
{
	close_fd(&a->proc_fd);
}

/* By pages: what is behind the string may not be there. */
int asker_string(const struct asker *a, uint64_t address, char ret[PATH_MAX])
{
	auto_fd int fd = openat(a->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	size_t have = 0;

	if (fd < 0)
		return EACCES;	/* it does not want to be looked at */
	while (have < PATH_MAX) {
		size_t want = PAGE - (size_t)(address % PAGE);
		ssize_t n;

		if (want > PATH_MAX - have)
			want = PATH_MAX - have;
		if (address > INT64_MAX - PAGE)
			return EFAULT;
		n = pread(fd, ret + have, want, (off_t)address);
		if (n <= 0)
			return EFAULT;
		if (memchr(ret + have, '\0', (size_t)n))
			return 0;
		have += (size_t)n;
		address += (uint64_t)n;
	}
	return ENAMETOOLONG;
}

int asker_directory(const struct asker *a, int dirfd, int *ret_fd)
{
	char path[32] = "cwd";

	if (dirfd != AT_FDCWD) {
		if (dirfd < 0)
			return EBADF;
		(void)snprintf(path, sizeof path, "fd/%d", dirfd);
	}
	*ret_fd = openat(a->proc_fd, path, O_PATH | O_CLOEXEC);
	if (*ret_fd < 0)
		return errno == ENOENT && dirfd != AT_FDCWD ? EBADF : errno;
	return 0;
}

static int read_proc(const struct asker *a, const char *name,
		     char ret[STATUS_MAX])
{
	auto_fd int fd = openat(a->proc_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, STATUS_MAX - 1);

	if (n <= 0)
		return EACCES;
	ret[n] = '\0';
	return 0;
}

int asker_umask(const struct asker *a, mode_t *ret)
{
	char text[STATUS_MAX];
	const char *at;
	mode_t mask = 0;

	if (read_proc(a, "status", text))
		return EACCES;
	/* The second line; a process's name has its newline escaped. */
	at = strstr(text, "\nUmask:\t");
	if (!at)
		return EACCES;
	for (at += strlen("\nUmask:\t"); *at >= '0' && *at <= '7'; at++)
		mask = mask << 3 | (mode_t)(*at - '0');
	*ret = mask & 0777;
	return 0;
}

int asker_terminal(const struct asker *a, int *ret)
{
	char text[STATUS_MAX];
	const char *at;
	unsigned long device = 0;

	if (read_proc(a, "stat", text))
		return EACCES;
	/* "PID (NAME) STATE PPID PGRP SESSION TTY": the name may have anything
	 * in it but is not long. */
	at = strrchr(text, ')');
	for (int field = 0; at && field < 5; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	for (; at && *at >= '0' && *at <= '9'; at++)
		device = device * 10 + (unsigned long)(*at - '0');
	*ret = -1;
	if (major(device) == PTS_MAJOR)
		*ret = (int)minor(device);
	return 0;
}
