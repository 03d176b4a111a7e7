/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `limit io`, with a mountinfo, a /sys/dev/block and a group's directory of our
 * own: which disks are found for a tree, and what is written for them.
 */
#include "limit.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "place.h"

static char mounts[1024];
static struct disk_view view;
static struct plan_limits limits;
static struct limits_groups groups;

/* The tree is the place itself, as an xfs on a partition of 8:0, with another
 * disk and a tmpfs mounted below it. */
static void begin(void)
{
	struct stat st;
	char link[64];

	place_begin("limit-io");
	CHECK_INT(stat(place_top, &st), 0);
	place_mkdir("block");
	place_mkdir("sda");
	place_mkdir("sda/sda1");
	place_mkdir("sdb");
	place_mkdir("group");
	place_put("sda/dev", "8:0\n");
	place_put("sda/sda1/partition", "1\n");
	place_put("sdb/dev", "8:16\n");
	(void)snprintf(link, sizeof link, "block/%u:%u", major(st.st_dev),
		       minor(st.st_dev));
	CHECK_INT(symlink("../sda/sda1", place_at(link)), 0);
	CHECK_INT(symlink("../sdb", place_at("block/9999:1")), 0);
	(void)snprintf(mounts, sizeof mounts,
		       "1 0 %u:%u / / rw - xfs /dev/sda1 rw\n"
		       "2 1 %u:%u / /again rw - xfs /dev/sda1 rw\n"
		       "3 1 9999:1 / %s/x rw - xfs /dev/sdb rw\n"
		       "4 1 0:99 / %s/t rw - tmpfs tmpfs rw\n"
		       "5 1 0:98 / /elsewhere rw - nfs4 host:/ rw\n",
		       major(st.st_dev), minor(st.st_dev), major(st.st_dev),
		       minor(st.st_dev), place_top, place_top);
	view = (struct disk_view){ place_open_dir("block"), -1 };
	limits = (struct plan_limits){ .places_n = 1 };
	limits.places[0].at.version = 2;
	limits.places[0].controllers = 1u << CGROUP_IO;
	limits.by_kind[LIMIT_IO] = (struct limit){
		.set = true, .value = 50 << 20, .text = SV("limit io 50M"),
	};
	groups = (struct limits_groups){ .n = 1 };
	groups.v[0].dir_fd = place_open_dir("group");
}

static void end(void)
{
	close_fd(&view.block_fd);
	close_fd(&groups.v[0].dir_fd);
	place_end();
}

static int find(const char *path, struct err *e)
{
	return limits_add_disks(&limits, sv_str(path), sv_str(mounts), &view,
				e);
}

static void test_the_disks_below_a_tree(void)
{
	struct err e = { 0 };

	begin();
	CHECK_INT(find(place_top, &e), 0);
	CHECK_INT((int)limits.disks_n, 2);
	CHECK_INT((int)limits.disks[0].minor, 0);
	CHECK_INT((int)limits.disks[1].minor, 16);
	/* Each once; only what is mounted below counts besides. */
	CHECK_INT(find(place_at("sda"), &e), 0);
	CHECK_INT(find(place_at("not-there"), &e), 0);
	CHECK_INT((int)limits.disks_n, 2);
	end();
}

static void test_a_tree_that_cannot_be_limited(void)
{
	struct err e = { 0 };

	begin();
	(void)snprintf(mounts, sizeof mounts,
		       "1 0 0:77 / / rw - btrfs /dev/sda1 rw\n");
	CHECK_INT(find(place_top, &e), -1);
	CHECK_INT(e.kind, ERR_UNSUPP);
	CHECK(strstr(e.msg, "no disk of its own") != NULL);
	end();
	begin();
	(void)snprintf(mounts + strlen(mounts), 100,
		       "6 1 0:97 / %s/n rw - nfs4 host:/ rw\n", place_top);
	CHECK_INT(find(place_top, &e), -1);
	CHECK_INT(e.kind, ERR_UNSUPP);
	CHECK(strstr(e.msg, "nfs4 file system") != NULL);
	end();
}

static void check_file(const char *text)
{
	auto_buf struct buf b = buf_new(4096);
	struct err e;

	CHECK_INT(io_read_file(groups.v[0].dir_fd, "io.max", &b, &e), 0);
	CHECK_SV(buf_sv(&b), text);
}

static void test_what_is_written(void)
{
	struct err e = { 0 };

	begin();
	limits.disks[0] = (struct disk){ 8, 0 };
	limits.disks_n = 1;
	CHECK_INT(limits_set_io(&limits, &groups, &e), -1);
	CHECK_INT(e.kind, ERR_UNSUPP);
	CHECK(strstr(e.msg, "CONFIG_BLK_DEV_THROTTLING") != NULL);
	place_put("group/io.max", "");
	CHECK_INT(limits_set_io(&limits, &groups, &e), 0);
	check_file("8:0 rbps=52428800 wbps=52428800");
	/* What dies does not wait for its share. */
	limits_release(&groups);
	check_file("8:0 rbps=max wbps=maxs=52428800");
	limits.places[0].controllers = 0;
	CHECK_INT(limits_set_io(&limits, &groups, &e), -1);
	CHECK_INT(e.kind, ERR_BUG);
	limits.by_kind[LIMIT_IO].set = false;
	CHECK_INT(limits_set_io(&limits, &groups, &e), 0);
	end();
}

static void test_it_needs_the_memory_controller(void)
{
	struct err e = { 0 };

	begin();
	limits.places[0].at.dir_fd = groups.v[0].dir_fd;
	place_put("group/cgroup.controllers", "cpu io pids\n");
	CHECK_INT(limits_io_place(&limits, &e), -1);
	CHECK_INT(e.kind, ERR_UNSUPP);
	CHECK(strstr(e.msg, "memory controller") != NULL);
	place_put("group/cgroup.controllers", "io memory pids\n");
	CHECK_INT(limits_io_place(&limits, &e), 0);
	CHECK(limits.places[0].controllers & 1u << CGROUP_MEMORY);
	limits.places[0].at.version = 1;
	CHECK_INT(limits_io_place(&limits, &e), -1);
	end();
}

/* Whatever this machine is on: a whole disk, or the reason. */
static void test_the_disks_of_this_machine(void)
{
	auto_buf struct buf real = buf_new(16 << 20);
	struct plan_limits l = { 0 };
	struct err e = { 0 };
	char path[100];

	view.block_fd = open("/sys/dev/block", O_RDONLY | O_CLOEXEC);
	view.ext4_fd = open("/proc/fs/ext4", O_RDONLY | O_CLOEXEC);
	CHECK_INT(io_read_file(AT_FDCWD, "/proc/self/mountinfo", &real, &e),
		  0);
	if (limits_add_disks(&l, SV("/usr"), buf_sv(&real), &view, &e) < 0)
		CHECK_INT(e.kind, ERR_UNSUPP);
	for (size_t i = 0; i < l.disks_n; i++) {
		(void)snprintf(path, sizeof path,
			       "/sys/dev/block/%u:%u/partition",
			       l.disks[i].major, l.disks[i].minor);
		CHECK(access(path, F_OK) < 0);
		*strrchr(path, '/') = '\0';
		CHECK(access(path, F_OK) == 0);
	}
	close_fd(&view.block_fd);
	close_fd(&view.ext4_fd);
}

int main(void)
{
	RUN(test_the_disks_below_a_tree);
	RUN(test_a_tree_that_cannot_be_limited);
	RUN(test_what_is_written);
	RUN(test_it_needs_the_memory_controller);
	RUN(test_the_disks_of_this_machine);
	return tap_done();
}
