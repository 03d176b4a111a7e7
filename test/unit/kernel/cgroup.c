/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding a group is arithmetic on the kernel's texts, and is tested so.  What
 * makes and removes groups is tried on whatever hierarchy this machine lets us
 * divide, and version 2's stepping aside where that has any controller.
 */
#include "cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "own.h"
#include "tap.h"

#define V1_MOUNTS                                                           \
	"20 1 0:1 / / rw - ext4 /dev/vda rw\n"                              \
	"30 20 0:26 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup "   \
	"cgroup rw,memory\n"                                                \
	"31 20 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "       \
	"rw,cpu,cpuacct\n"                                                  \
	"32 20 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static const struct {
	const char *groups, *mounts;
	int version;
	enum cgroup_controller c;
	const char *path;	/* NULL: not found */
} places[] = {
	{ "4:memory:/a/b\n1:cpu,cpuacct:/\n0::/x\n", V1_MOUNTS, 1,
	  CGROUP_MEMORY, "/sys/fs/cgroup/memory/a/b" },
	{ "4:memory:/a/b\n1:cpu,cpuacct:/\n0::/x\n", V1_MOUNTS, 1, CGROUP_CPU,
	  "/sys/fs/cgroup/cpu,cpuacct" },
	{ "4:memory:/a/b\n1:cpu,cpuacct:/\n0::/x\n", V1_MOUNTS, 1, CGROUP_PIDS,
	  NULL },
	{ "4:memory:/a/b\n0::/x/y\n", V1_MOUNTS, 2, CGROUP_MEMORY,
	  "/sys/fs/cgroup/unified/x/y" },
	/* The name of a controller is all of it. */
	{ "2:cpuset:/a\n", "1 1 0:1 / /c rw - cgroup cgroup rw,cpuset\n", 1,
	  CGROUP_CPU, NULL },
	/* A mount that shows a part of the tree. */
	{ "0::/a/b/c\n", "1 1 0:1 /a /c rw - cgroup2 cgroup2 rw\n", 2,
	  CGROUP_PIDS, "/c/b/c" },
	{ "0::/ab/c\n", "1 1 0:1 /a /c rw - cgroup2 cgroup2 rw\n", 2,
	  CGROUP_PIDS, NULL },
	{ "0::/a\n", "1 1 0:1 /a /c rw - cgroup2 cgroup2 rw\n", 2,
	  CGROUP_PIDS, "/c" },
	/* Outside the cgroup namespace. */
	{ "0::/../a\n", "1 1 0:1 / /c rw - cgroup2 cgroup2 rw\n", 2,
	  CGROUP_PIDS, NULL },
	{ "0::/a\n", "1 1 0:1 /.. /c rw - cgroup2 cgroup2 rw\n", 2,
	  CGROUP_PIDS, NULL },
	{ "0::/a\n", "1 1 0:1 / /a\\040c rw - cgroup2 cgroup2 rw\n", 2,
	  CGROUP_PIDS, NULL },
	{ "0::/a\n", "1 1 0:1 / /c rw - tmpfs cgroup2 rw\n", 2, CGROUP_PIDS,
	  NULL },
	{ "", "", 1, CGROUP_PIDS, NULL },
	{ "0::/a\n", "nonsense\n", 2, CGROUP_PIDS, NULL },
	{ "::::\n4\n", V1_MOUNTS, 1, CGROUP_MEMORY, NULL },
};

static void test_where_a_group_is(void)
{
	for (size_t i = 0; i < countof(places); i++) {
		auto_buf struct buf b = buf_new(4096);
		bool found = cgroup_locate(sv_str(places[i].groups),
					   sv_str(places[i].mounts),
					   places[i].version, places[i].c, &b);

		CHECK_INT(found, places[i].path != NULL);
		if (found)
			CHECK_SV(buf_sv(&b), places[i].path);
	}
}

/* Some hierarchy that this user may divide; false where there is none. */
static bool find_any(struct cgroup_place *ret)
{
	struct err e;

	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		if (cgroup_find((enum cgroup_controller)c, ret, &e) == 0)
			return true;
	SKIP("has no control group that it may divide");
	return false;
}

static bool is_there(const struct cgroup_place *at, const char *name)
{
	return faccessat(at->dir_fd, name, F_OK, 0) == 0;
}

static void test_a_held_group_is_not_swept(void)
{
	const char *name = CGROUP_PREFIX "unit-held";
	struct cgroup_place at;
	struct err e = { 0 };
	int fd = -1;

	if (!find_any(&at))
		return;
	CHECK_INT(cgroup_make(at.dir_fd, name, &fd, &e), 0);
	CHECK_INT(cgroup_sweep(at.dir_fd, NULL), 0);
	CHECK(is_there(&at, name));
	CHECK_INT(cgroup_sweep(at.dir_fd, CGROUP_PREFIX "unit-h"), 1);
	CHECK(is_there(&at, name));
	close_fd(&fd);
	CHECK_INT(cgroup_sweep(at.dir_fd, NULL), 0);
	CHECK(!is_there(&at, name));
	close_fd(&at.dir_fd);
}

static void test_a_leftover_that_lives_is_counted(void)
{
	const char *name = CGROUP_PREFIX "unit-lives";
	struct cgroup_place at;
	struct err e = { 0 };
	char text[24];
	int fd = -1;
	pid_t pid;

	if (!find_any(&at))
		return;
	CHECK_INT(cgroup_make(at.dir_fd, name, &fd, &e), 0);
	pid = fork();
	if (pid == 0) {
		close_fd(&fd);
		for (;;)
			(void)pause();
	}
	(void)snprintf(text, sizeof text, "%d", pid);
	CHECK_INT(cgroup_set(fd, "cgroup.procs", text, &e), 0);
	close_fd(&fd);
	(void)usleep(20000);	/* the child has let go of it, too */
	CHECK_INT(cgroup_sweep(at.dir_fd, NULL), 1);
	CHECK(is_there(&at, name));
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK_INT(cgroup_remove(at.dir_fd, name, &fd, &e), 0);
	CHECK(!is_there(&at, name));
	close_fd(&at.dir_fd);
}

static void test_what_cannot_be_read_is_zero(void)
{
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e = { 0 };

	CHECK_INT(cgroup_get(fd, "no-such-file", NULL), 0);
	CHECK(!cgroup_has(fd, "no-such-file"));
	CHECK_INT(cgroup_set(fd, "no-such-file", "1", &e), -1);
	CHECK(strstr(e.msg, "no-such-file") != NULL);
	close_fd(&fd);
}

static void test_numbers_are_found_by_key(void)
{
	char name[] = "/tmp/cgroup-unit-XXXXXX";
	int fd = mkstemp(name);
	const char text[] = "low 1\nmax 22\nmaximum 3\noom_kill 4\nbad x\n";

	CHECK(write(fd, text, sizeof text - 1) == sizeof text - 1);
	CHECK_INT(cgroup_get(AT_FDCWD, name, "max"), 22);
	CHECK_INT(cgroup_get(AT_FDCWD, name, "oom_kill"), 4);
	CHECK_INT(cgroup_get(AT_FDCWD, name, "oom"), 0);
	CHECK_INT(cgroup_get(AT_FDCWD, name, "bad"), 0);
	CHECK_INT(cgroup_get(AT_FDCWD, name, NULL), 0);
	close_fd(&fd);
	(void)unlink(name);
}

/* A group of version 2 with some controller, in which a child then is. */
static int open_v2(char *ret_controller, size_t n)
{
	auto_buf struct buf groups = buf_new(65536), mounts = buf_new(1 << 20);
	auto_buf struct buf path = buf_new(4096), list = buf_new(4096);
	struct err e;
	int fd;

	if (io_read_file(AT_FDCWD, "/proc/self/cgroup", &groups, &e) < 0 ||
	    io_read_file(AT_FDCWD, "/proc/self/mountinfo", &mounts, &e) < 0 ||
	    !cgroup_locate(buf_sv(&groups), buf_sv(&mounts), 2, CGROUP_PIDS,
			   &path) || !buf_cstr(&path))
		return -1;
	fd = open(path.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || io_read_file(fd, "cgroup.controllers", &list, &e) < 0 ||
	    list.n < 2 || faccessat(fd, ".", W_OK, AT_EACCESS) < 0) {
		close_fd(&fd);
		return -1;
	}
	(void)snprintf(ret_controller, n, "+%.*s", SV_FMT(sv_head(
		       buf_sv(&list), sv_find(sv_head(buf_sv(&list),
						      list.n - 1), ' '))));
	return fd;
}

/* In the child, which is alone in `fd`: 0, or the number of what is wrong. */
static int step_aside(int fd, char *controller)
{
	const char *aside = CGROUP_PREFIX "unit" CGROUP_ASIDE;
	struct err e = { 0 };
	int aside_fd = -1;

	if (cgroup_set(fd, "cgroup.procs", "0", &e) < 0)
		return 1;
	if (cgroup_open_up(fd, controller, aside, &aside_fd, &e) < 0)
		return 2;
	if (aside_fd < 0 || cgroup_get(fd, "cgroup.procs", NULL) != 0 ||
	    cgroup_get(aside_fd, "cgroup.procs", NULL) != (uint64_t)getpid())
		return 3;
	close_fd(&aside_fd);
	controller[0] = '-';
	cgroup_close_up(fd, controller, aside);
	if (cgroup_get(fd, "cgroup.procs", NULL) != (uint64_t)getpid() ||
	    cgroup_has(fd, aside))
		return 4;
	/* As the reaper does it, which knows no name. */
	controller[0] = '+';
	if (cgroup_open_up(fd, controller, aside, &aside_fd, &e) < 0)
		return 5;
	close_fd(&aside_fd);
	controller[0] = '-';
	cgroup_close_up_left(fd, controller);
	return cgroup_has(fd, aside) ? 6 : 0;
}

static int run_child(int fd, char *controller)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(step_aside(fd, controller));
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_version_2_steps_aside_and_back(void)
{
	const char *name = "stockade-unit-v2";
	char controller[64];
	struct err e = { 0 };
	int top_fd = open_v2(controller, sizeof controller);
	int fd = -1;

	if (top_fd < 0) {
		SKIP("has no control group that it may divide");
		return;
	}
	/* Only the root of all may have both, processes and controllers. */
	if (cgroup_set(top_fd, "cgroup.subtree_control", controller, &e) < 0) {
		close_fd(&top_fd);
		SKIP("has no control group that it may divide");
		return;
	}
	CHECK_INT(cgroup_make(top_fd, name, &fd, &e), 0);
	CHECK_INT(run_child(fd, controller), 0);
	controller[0] = '+';
	{
		pid_t other = fork();

		if (other == 0) {
			if (cgroup_set(fd, "cgroup.procs", "0", &e) < 0)
				_exit(1);
			for (;;)
				(void)pause();
		}
		while (cgroup_get(fd, "cgroup.procs", NULL) == 0)
			(void)usleep(1000);
		/* A child may be moved along; a sibling may not. */
		CHECK_INT(run_child(fd, controller), 2);
		CHECK(!cgroup_has(fd, CGROUP_PREFIX "unit" CGROUP_ASIDE));
		(void)kill(other, SIGKILL);
		(void)waitpid(other, NULL, 0);
	}
	CHECK_INT(cgroup_remove(top_fd, name, &fd, &e), 0);
	controller[0] = '-';
	CHECK_INT(cgroup_set(top_fd, "cgroup.subtree_control", controller, &e),
		  0);
	close_fd(&top_fd);
}

int main(void)
{
	RUN(test_where_a_group_is);
	RUN(test_a_held_group_is_not_swept);
	RUN(test_a_leftover_that_lives_is_counted);
	RUN(test_what_cannot_be_read_is_zero);
	RUN(test_numbers_are_found_by_key);
	RUN(test_version_2_steps_aside_and_back);
	return tap_done();
}
