/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups, from their making to their end: see cgroup.h.
 *
 * A maker locks the group's directory; whoever gets that lock later has found a
 * leftover, and removes it while he holds the lock.  So a maker who finds that
 * his group is gone, or locked, makes another.
 */
#include "cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dir.h"
#include "io.h"
#include "own.h"

enum { TEXT_MAX = 1 << 20, REMOVE_TRIES = 400, MAKE_TRIES = 20 };

/* 1: made and locked; 0: another run has swept it away meanwhile. */
static int try_to_make(int parent_fd, const char *name, int *ret_fd)
{
	auto_fd int fd = -1;

	if (mkdirat(parent_fd, name, 0755) < 0)
		return -1;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		(void)unlinkat(parent_fd, name, AT_REMOVEDIR);
		return errno == EWOULDBLOCK ? 0 : -1;
	}
	if (faccessat(parent_fd, name, F_OK, 0) < 0)
		return 0;
	*ret_fd = steal_fd(&fd);
	return 1;
}

int cgroup_make(int parent_fd, const char *name, int *ret_fd, struct err *e)
{
	int made = 0;

	for (int i = 0; i < MAKE_TRIES && made == 0; i++)
		made = try_to_make(parent_fd, name, ret_fd);
	return made > 0 ? 0 : err_sys(e, "make the control group %s", name);
}

static void moment(void)
{
	const struct timespec five_ms = { .tv_nsec = 5000000 };

	(void)nanosleep(&five_ms, NULL);
}

int cgroup_remove(int parent_fd, const char *name, int *dir_fd, struct err *e)
{
	close_fd(dir_fd);
	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 ||
		    errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		/* What was killed is still on its way out. */
		moment();
	}
	return err_sys(e, "remove the control group %s", name);
}

/* A group of some run that nobody holds, locked; -1: gone, or somebody's. */
static int lock_leftover(int parent_fd, const char *name)
{
	auto_fd int fd = -1;

	if (!sv_starts(sv_str(name), SV(CGROUP_PREFIX)))
		return -1;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -1;
	return steal_fd(&fd);
}

/* 0, or 1 when it is not empty yet: what is dying there must not wait for its
 * share of the processor. */
static int remove_one(int parent_fd, const char *name, int dir_fd)
{
	struct err ignored;

	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
		return 0;
	(void)!cgroup_unthrottle(dir_fd, &ignored);
	return 1;
}

/* Calls act for each leftover, and adds what it says; with `mine`, also one for
 * each that begins so and is held. */
static int for_leftovers(int parent_fd, const char *mine,
			 int (*act)(int parent_fd, const char *name, int fd))
{
	auto_fd int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY |
				O_CLOEXEC);
	auto_dir DIR *d = dir_take(&fd);
	const struct dirent *entry;
	int sum = 0;

	while (d && (entry = dir_next(d)) != NULL) {
		auto_fd int lock_fd = lock_leftover(parent_fd, entry->d_name);

		if (lock_fd >= 0)
			sum += act(parent_fd, entry->d_name, lock_fd);
		else if (mine && sv_starts(sv_str(entry->d_name),
					   sv_str(mine)))
			sum++;
	}
	return sum;
}

int cgroup_sweep(int parent_fd, const char *mine)
{
	return for_leftovers(parent_fd, mine, remove_one);
}

/* The parent of a process, by the text of its status file. */
static pid_t parent_of(uint64_t pid)
{
	auto_buf struct buf b = buf_new(65536);
	struct err ignored;
	uint64_t value = 0;
	char path[48];
	struct sv rest;

	(void)snprintf(path, sizeof path, "/proc/%u/status", (unsigned)pid);
	if (io_read_file(AT_FDCWD, path, &b, &ignored) < 0)
		return 0;
	for (rest = buf_sv(&b); rest.n;) {
		struct sv line = sv_cut(&rest, '\n');

		if (sv_starts(line, SV("PPid:\t")) &&
		    sv_to_u64(sv_from(line, 6), INT32_MAX, &value))
			break;
	}
	return (pid_t)value;
}

static bool is_family(uint64_t pid)
{
	return (pid_t)pid == getpid() || parent_of(pid) == getpid();
}

/* Of all groups only the machine's own may have both, processes and
 * controllers for those below it. */
static bool is_machines(int dir_fd)
{
	return !cgroup_has(dir_fd, "cgroup.type");
}

static bool has_processes(int dir_fd)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);
	struct err ignored;

	return io_read_file(dir_fd, "cgroup.procs", &b, &ignored) < 0 || b.n;
}

bool cgroup_is_ours(int dir_fd)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);
	struct err ignored;
	struct sv rest;

	if (is_machines(dir_fd))
		return true;
	if (io_read_file(dir_fd, "cgroup.procs", &b, &ignored) < 0)
		return false;
	for (rest = buf_sv(&b); rest.n;) {
		uint64_t pid;

		if (!sv_to_u64(sv_cut(&rest, '\n'), INT32_MAX, &pid) ||
		    !is_family(pid))
			return false;
	}
	return true;
}

/* Every process of one group into another; with `family` only this one and its
 * children.  Those that stay are counted. */
static int move_all(int from_fd, int to_fd, bool family)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);
	struct err ignored;
	struct sv rest;
	int stayed = 0;

	if (io_read_file(from_fd, "cgroup.procs", &b, &ignored) < 0)
		return 1;
	for (rest = buf_sv(&b); rest.n;) {
		struct sv line = sv_cut(&rest, '\n');
		char text[24];
		uint64_t pid;

		if (!sv_to_u64(line, INT32_MAX, &pid))
			continue;
		(void)snprintf(text, sizeof text, "%u", (unsigned)pid);
		if ((family && !is_family(pid)) ||
		    cgroup_set(to_fd, "cgroup.procs", text, &ignored) < 0)
			stayed++;
	}
	return stayed;
}

/* Back, from a group that is there for nothing else. */
static void step_back(int dir_fd, const char *name)
{
	auto_fd int aside_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY |
				      O_CLOEXEC);
	struct err ignored;

	if (aside_fd < 0)
		return;
	(void)move_all(aside_fd, dir_fd, false);
	(void)!cgroup_remove(dir_fd, name, &aside_fd, &ignored);
}

int cgroup_open_up(int dir_fd, const char *controllers, const char *name,
		   int *ret_aside_fd, struct err *e)
{
	auto_fd int aside_fd = -1;

	*ret_aside_fd = -1;
	/* The kernel does not insist where only cpu and pids are asked for, but
	 * then lets nobody into the groups below. */
	if (is_machines(dir_fd) || !has_processes(dir_fd))
		return cgroup_set(dir_fd, "cgroup.subtree_control", controllers,
				  e);
	if (cgroup_make(dir_fd, name, &aside_fd, e) < 0)
		return -1;
	if (move_all(dir_fd, aside_fd, true) != 0) {
		step_back(dir_fd, name);
		return err_kind(e, ERR_UNSUPP, "stockade's control group has "
				"other processes");
	}
	if (cgroup_set(dir_fd, "cgroup.subtree_control", controllers, e) < 0) {
		step_back(dir_fd, name);
		return -1;
	}
	*ret_aside_fd = steal_fd(&aside_fd);
	return 0;
}

void cgroup_close_up(int dir_fd, const char *controllers, const char *name)
{
	struct err ignored;

	(void)!cgroup_set(dir_fd, "cgroup.subtree_control", controllers,
			  &ignored);
	step_back(dir_fd, name);
}

static int close_one(int dir_fd, const char *name, int fd)
{
	(void)fd;
	if (sv_ends(sv_str(name), SV(CGROUP_ASIDE)))
		step_back(dir_fd, name);
	return 0;
}

void cgroup_close_up_left(int dir_fd, const char *controllers)
{
	struct err ignored;

	(void)!cgroup_set(dir_fd, "cgroup.subtree_control", controllers,
			  &ignored);
	(void)for_leftovers(dir_fd, NULL, close_one);
}
