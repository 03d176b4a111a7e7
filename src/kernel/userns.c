/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces: see userns.h. */
#include "userns.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "io.h"
#include "own.h"
#include "process.h"

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

/* The child that holds the namespace until its descriptor is open. */
static _Noreturn void hold(pid_t parent)
{
	struct err e;

	if (process_die_with_parent(SIGKILL, parent, &e) == 0)
		for (;;)
			(void)pause();
	_exit(1);
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
		struct err *e)
{
	struct process_end end;
	struct err ignored;
	auto_fd int pid_fd = -1;
	pid_t self = getpid();
	pid_t pid = process_clone(CLONE_NEWUSER, &pid_fd, e);
	int fd;

	if (pid < 0)
		return err_ctx(e, "user namespace for a mount");
	if (pid == 0)
		hold(self);
	fd = map_and_open(pid, uids, gids, e);
	/* By number: it is not reaped, and nothing may be left waiting. */
	(void)kill(pid, SIGKILL);
	if (process_wait(pid_fd, &end, &ignored) < 0 && fd >= 0) {
		*e = ignored;
		close_fd(&fd);
	}
	return fd;
}
