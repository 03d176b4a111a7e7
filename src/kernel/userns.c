/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces: see userns.h. */
#include "userns.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "own.h"

enum { HOLDER_STACK = 16384 };

static int write_file(int dirfd, const char *name, struct sv text,
		      struct err *e)
{
	auto_fd int fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open %s", name);
	if (io_write_all(fd, text, e) < 0)
		return err_ctx(e, "%s", name);
	return 0;
}

/* The kernel takes a map in one write only. */
static int write_map(int dirfd, const char *name, const struct userns_map *map,
		     struct err *e)
{
	char text[USERNS_RANGES_MAX * 36];
	size_t n = 0;

	if (map->n == 0 || map->n > USERNS_RANGES_MAX)
		return err_kind(e, ERR_BUG, "%s of %u ranges", name, map->n);
	for (unsigned i = 0; i < map->n; i++) {
		const struct userns_range *r = &map->range[i];

		n += (size_t)snprintf(text + n, sizeof text - n, "%u %u %u\n",
				      r->inside, r->outside, r->count);
	}
	return write_file(dirfd, name, sv_of(text, n), e);
}

int userns_write_maps(int proc_pid_fd, const struct userns_map *uids,
		      const struct userns_map *gids, bool deny_setgroups,
		      struct err *e)
{
	if (write_map(proc_pid_fd, "uid_map", uids, e) < 0)
		return -1;
	if (deny_setgroups &&
	    write_file(proc_pid_fd, "setgroups", SV("deny"), e) < 0)
		return -1;
	return write_map(proc_pid_fd, "gid_map", gids, e);
}

/*
 * The child that holds the namespace until its descriptor is open.  It runs in
 * our memory, so that no page table is copied, on a stack of its own; errno is
 * ours as well, so its calls are such as do not fail.
 */
static int hold(void *arg)
{
	const pid_t *parent = arg;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	    getppid() == *parent)
		for (;;)
			(void)pause();
	return 1;
}

static int map_and_open(pid_t pid, const struct userns_map *uids,
			const struct userns_map *gids, struct err *e)
{
	char path[32];
	auto_fd int proc_fd = -1;
	int fd;

	/* The child is not reaped yet, so the number is still its own. */
	(void)snprintf(path, sizeof path, "/proc/%d", pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return err_sys(e, "open %s", path);
	if (userns_write_maps(proc_fd, uids, gids, false, e) < 0)
		return -1;
	fd = openat(proc_fd, "ns/user", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open the user namespace");
	return fd;
}

int userns_make(const struct userns_map *uids, const struct userns_map *gids,
		pid_t *holder, struct err *e)
{
	static _Alignas(16) char stack[HOLDER_STACK];
	pid_t self = getpid();
	pid_t pid = clone(hold, stack + sizeof stack, CLONE_VM |
			  CLONE_NEWUSER | SIGCHLD, &self);
	int fd;

	*holder = pid > 0 ? pid : 0;
	if (pid < 0)
		return err_sys(e, "user namespace for a mount");
	fd = map_and_open(pid, uids, gids, e);
	/* By number: it is not reaped, and nothing may be left running. */
	(void)kill(pid, SIGKILL);
	return fd;
}

void userns_reap(pid_t holder)
{
	while (holder > 0 && waitpid(holder, NULL, 0) < 0 && errno == EINTR)
		;
}
