/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces: see userns.h. */
#include "userns.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "own.h"
#include "process.h"

enum { CHILD_STACK = 16384 };

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
 * The child: it opens the namespace it was made in, and ends.  It runs in our
 * memory, so that no page table is copied, with our descriptors, on a stack of
 * its own, and until it has ended we wait.
 */
static int open_own(void *arg)
{
	int *fd = arg;

	*fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	return 0;
}

static int make_empty(pid_t *pid, struct err *e)
{
	static _Alignas(16) char stack[CHILD_STACK];
	cpu_set_t all, here;
	int fd = -1;

	/* On another processor it would wait for what works there. */
	process_cpus(&all);
	if (process_this_cpu(&here))
		process_keep_on(0, &here);
	*pid = clone(open_own, stack + sizeof stack, CLONE_VM | CLONE_VFORK |
		     CLONE_FILES | CLONE_NEWUSER | SIGCHLD, &fd);
	process_keep_on(0, &all);
	if (*pid < 0)
		return err_sys(e, "user namespace for a mount");
	return fd < 0 ? err_sys(e, "open the user namespace") : fd;
}

int userns_map_child(pid_t pid, const struct userns_map *uids,
		     const struct userns_map *gids, struct err *e)
{
	char path[32];
	auto_fd int proc_fd = -1;

	(void)snprintf(path, sizeof path, "/proc/%d", pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return err_sys(e, "open %s", path);
	return userns_write_maps(proc_fd, uids, gids, false, e);
}

int userns_make(const struct userns_map *uids, const struct userns_map *gids,
		struct err *e)
{
	pid_t pid;
	auto_fd int fd = make_empty(&pid, e);
	/* It has ended, but is not reaped yet. */
	int rc = fd < 0 ? -1 : userns_map_child(pid, uids, gids, e);

	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return rc < 0 ? -1 : steal_fd(&fd);
}
