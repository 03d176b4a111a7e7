/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups, where they are and what they say: see cgroup.h. */
#include "cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "io.h"
#include "own.h"

enum { PATH_TEXT_MAX = 4096, TEXT_MAX = 1 << 20 };

static const char *const names[CGROUP_CONTROLLERS] = {
	[CGROUP_MEMORY] = "memory", [CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpu", [CGROUP_IO] = "io",
};

const char *cgroup_controller_name(enum cgroup_controller c)
{
	return names[c];
}

static bool list_has(struct sv list, char separator, struct sv name)
{
	while (list.n)
		if (sv_eq(sv_cut(&list, separator), name))
			return true;
	return false;
}

/* ID:CONTROLLERS:PATH, a line for each hierarchy; 0 has version 2. */
static bool own_path(struct sv groups, int version, struct sv controller,
		     struct sv *ret)
{
	while (groups.n) {
		struct sv line = sv_cut(&groups, '\n');
		struct sv id = sv_cut(&line, ':');
		struct sv list = sv_cut(&line, ':');

		if (version == 2 ? !sv_eq(id, SV("0")) :
				   !list_has(list, ',', controller))
			continue;
		*ret = line;
		return true;
	}
	return false;
}

struct mount_line {
	struct sv root, point;
};

/* ID PARENT DEV ROOT POINT OPTIONS... - TYPE SOURCE SUPER-OPTIONS */
static bool is_mount_of(struct sv line, int version, struct sv controller,
			struct mount_line *ret)
{
	struct sv mark = SV(" - "), rest;
	size_t at = sv_find_sv(line, mark);

	if (at == line.n)
		return false;
	rest = sv_from(line, at + mark.n);
	if (!sv_eq(sv_cut(&rest, ' '), version == 2 ? SV("cgroup2") :
						   SV("cgroup")))
		return false;
	(void)sv_cut(&rest, ' ');
	if (version == 1 && !list_has(rest, ',', controller))
		return false;
	for (int i = 0; i < 3; i++)
		(void)sv_cut(&line, ' ');
	ret->root = sv_cut(&line, ' ');
	ret->point = sv_cut(&line, ' ');
	/* An escaped blank: nobody mounts this there. */
	return sv_find(ret->root, '\\') == ret->root.n &&
	       sv_find(ret->point, '\\') == ret->point.n;
}

/* The group's path below a mount that shows the tree from `root` on. */
static bool below(struct sv path, struct sv root, struct sv *ret)
{
	if (sv_find_sv(path, SV("/..")) < path.n ||
	    sv_find_sv(root, SV("/..")) < root.n)
		return false;	/* outside this cgroup namespace */
	if (sv_eq(root, SV("/")))
		root.n = 0;
	if (!sv_starts(path, root))
		return false;
	*ret = sv_from(path, root.n);
	return ret->n == 0 || ret->p[0] == '/';
}

bool cgroup_locate(struct sv groups, struct sv mounts, int version,
		   enum cgroup_controller c, struct buf *ret)
{
	struct sv controller = sv_str(names[c]), path, tail;
	struct mount_line m;

	if (!own_path(groups, version, controller, &path))
		return false;
	while (mounts.n) {
		if (!is_mount_of(sv_cut(&mounts, '\n'), version, controller, &m) ||
		    !below(path, m.root, &tail))
			continue;
		buf_put(ret, m.point);
		if (!sv_eq(tail, SV("/")))
			buf_put(ret, tail);
		return !ret->full;
	}
	return false;
}

static bool is_cgroup(int fd, int version)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (uint64_t)fs.f_type == (version == 2 ? CGROUP2_SUPER_MAGIC :
						      CGROUP_SUPER_MAGIC);
}

bool cgroup_offers(int dir_fd, enum cgroup_controller c)
{
	auto_buf struct buf b = buf_new(4096);
	struct err ignored;
	struct sv list;

	if (io_read_file(dir_fd, "cgroup.controllers", &b, &ignored) < 0)
		return false;
	list = buf_sv(&b);
	return list_has(sv_cut(&list, '\n'), ' ', sv_str(names[c]));
}

/* Its descriptor, or -1 without a word. */
static int open_own(struct sv groups, struct sv mounts, int version,
		    enum cgroup_controller c, struct buf *path)
{
	auto_fd int fd = -1;

	buf_reset(path);
	if (!cgroup_locate(groups, mounts, version, c, path) ||
	    !buf_cstr(path))
		return -1;
	fd = open(path->p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !is_cgroup(fd, version) ||
	    (version == 2 && !cgroup_offers(fd, c)))
		return -1;
	return steal_fd(&fd);
}

/* May groups be made there, and this process be put into them? */
static int check_writable(const struct cgroup_place *at, struct err *e)
{
	if (faccessat(at->dir_fd, ".", W_OK, AT_EACCESS) == 0 &&
	    faccessat(at->dir_fd, "cgroup.procs", W_OK, AT_EACCESS) == 0 &&
	    (at->version == 1 || faccessat(at->dir_fd, "cgroup.subtree_control",
					   W_OK, AT_EACCESS) == 0))
		return 0;
	if (errno == EACCES || errno == EPERM)
		return err_kind(e, ERR_UNSUPP, "the control group %s is not "
				"this user's to divide", at->path);
	return err_sys(e, "the control group %s", at->path);
}

/* Version 1 can throttle disks (blkio), and does so for reading and for direct
 * and synchronous writing; what is written by way of the page cache passes. */
static int none_has(struct sv groups, enum cgroup_controller c, struct err *e)
{
	struct sv path;

	if (c == CGROUP_IO && own_path(groups, 1, SV("blkio"), &path))
		return err_kind(e, ERR_UNSUPP, "disks are limited by control "
				"groups of version 1 here, past which "
				"everything goes that is written by way of "
				"the page cache; only version 2 holds that");
	return err_kind(e, ERR_UNSUPP, "this machine shows no control "
			"group with the %s controller", names[c]);
}

bool cgroup_is_unified(void)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);
	struct err ignored;

	return io_read_file(AT_FDCWD, "/proc/self/cgroup", &b, &ignored) == 0 &&
	       sv_starts(buf_sv(&b), SV("0::")) &&
	       sv_find(buf_sv(&b), '\n') + 1 == b.n;
}

int cgroup_find(enum cgroup_controller c, struct cgroup_place *ret,
		struct err *e)
{
	auto_buf struct buf groups = buf_new(TEXT_MAX);
	auto_buf struct buf mounts = buf_new(TEXT_MAX);
	auto_buf struct buf path = buf_new(PATH_TEXT_MAX);
	struct cgroup_place at = { .version = 2, .dir_fd = -1 };

	if (io_read_file(AT_FDCWD, "/proc/self/cgroup", &groups, e) < 0 ||
	    io_read_file(AT_FDCWD, "/proc/self/mountinfo", &mounts, e) < 0)
		return -1;
	at.dir_fd = open_own(buf_sv(&groups), buf_sv(&mounts), 2, c, &path);
	if (at.dir_fd < 0) {
		at.version = 1;
		at.dir_fd = open_own(buf_sv(&groups), buf_sv(&mounts), 1, c,
				     &path);
	}
	if (at.dir_fd < 0)
		return none_has(buf_sv(&groups), c, e);
	(void)snprintf(at.path, sizeof at.path, "%.*s", SV_FMT(buf_sv(&path)));
	if (check_writable(&at, e) < 0) {
		close_fd(&at.dir_fd);
		return -1;
	}
	*ret = at;
	return 0;
}

int cgroup_set(int dir_fd, const char *file, const char *value, struct err *e)
{
	auto_fd int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC);

	/* One write: the kernel takes each as a whole. */
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		return err_sys(e, "write %s to %s", value, file);
	return 0;
}

bool cgroup_has(int dir_fd, const char *file)
{
	return faccessat(dir_fd, file, F_OK, 0) == 0;
}

uint64_t cgroup_get(int dir_fd, const char *file, const char *key)
{
	auto_buf struct buf b = buf_new(65536);
	struct err ignored;
	uint64_t value;
	struct sv rest;

	if (io_read_file(dir_fd, file, &b, &ignored) < 0)
		return 0;
	rest = buf_sv(&b);
	while (rest.n) {
		struct sv line = sv_cut(&rest, '\n');

		if (key && !sv_eq(sv_cut(&line, ' '), sv_str(key)))
			continue;
		return sv_to_u64(line, UINT64_MAX, &value) ? value : 0;
	}
	return 0;
}

int cgroup_watch_memory(int dir_fd, struct err *e)
{
	auto_fd int event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	auto_fd int control_fd = openat(dir_fd, "memory.oom_control",
					O_RDONLY | O_CLOEXEC);
	char text[32];

	if (event_fd < 0 || control_fd < 0)
		return err_sys(e, "watch memory.oom_control");
	(void)snprintf(text, sizeof text, "%d %d", event_fd, control_fd);
	if (cgroup_set(dir_fd, "cgroup.event_control", text, e) < 0)
		return -1;
	return steal_fd(&event_fd);
}

/* A line for each disk: MAJOR:MINOR KEY=VALUE... */
static int free_disks(int dir_fd, struct err *e)
{
	auto_buf struct buf b = buf_new(65536);
	struct sv rest;
	int rc = 0;

	if (io_read_file(dir_fd, "io.max", &b, e) < 0)
		return -1;
	for (rest = buf_sv(&b); rest.n;) {
		struct sv line = sv_cut(&rest, '\n');
		struct sv disk = sv_head(sv_cut(&line, ' '), 40);
		char text[80];

		(void)snprintf(text, sizeof text, "%.*s rbps=max wbps=max",
			       SV_FMT(disk));
		if (cgroup_set(dir_fd, "io.max", text, e) < 0)
			rc = -1;
	}
	return rc;
}

int cgroup_unthrottle(int dir_fd, struct err *e)
{
	int rc = 0;

	if (cgroup_has(dir_fd, "io.max"))
		rc = free_disks(dir_fd, e);
	if (cgroup_has(dir_fd, "cpu.cfs_quota_us") &&
	    cgroup_set(dir_fd, "cpu.cfs_quota_us", "-1", e) < 0)
		rc = -1;
	if (cgroup_has(dir_fd, "cpu.max") &&
	    cgroup_set(dir_fd, "cpu.max", "max", e) < 0)
		rc = -1;
	return rc;
}
