/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which disk a file system is on, by a mountinfo and a /sys/dev/block of our
 * own, laid out as the kernel does it.
 */
#include "disk.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "place.h"

#define MOUNTS                                                            \
	"27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,discard\n"   \
	"28 27 0:30 / /tmp rw - tmpfs tmpfs rw\n"                           \
	"nonsense\n"                                                        \
	"29 27 253:3 / /home rw - xfs /dev/dm-3 rw,noquota\n"               \
	"30 29 0:41 / /home/a\\040b/n rw - nfs4 host:/x rw,vers=4.2\n"     \
	"31 27 0:50 / /b rw - btrfs /dev/sdb rw\n"                          \
	"32 27 8:2 / /j rw - ext4 /dev/sda2 rw\n"                           \
	"33 27 253:3 / /rt rw - xfs /dev/dm-3 rw,rtdev=/dev/sdc\n"          \
	"34 27 259:0 / /pm rw - xfs /dev/pmem0 rw\n"                        \
	"35 27 8:9 / /gone rw - xfs /dev/sda9 rw\n"                         \
	"36 27 0:60 / /ov rw - overlay overlay rw,lowerdir=/l\n"            \
	"38 27 8:3 / /nd rw - ext4 /dev/sda3 rw,nodelalloc\n"               \
	"39 27 8:1 / /e3 rw - ext3 /dev/sda1 rw\n"                          \
	"37 27 253:3 / /un rw - ext4 /dev/dm-3 rw\n"

static struct disk_view view;

static void begin(void)
{
	static const char *const dirs[] = {
		"block", "sda", "sda/sda1", "sda/sda2", "sda/queue", "dm-3",
		"dm-3/queue", "pmem0", "pmem0/queue", "ext4", "ext4/sda1",
		"ext4/sda2", "sda/sda3", "ext4/sda3",
	};

	place_begin("disk");
	for (size_t i = 0; i < countof(dirs); i++)
		place_mkdir(dirs[i]);
	place_put("sda/dev", "8:0\n");
	place_put("sda/queue/dax", "0\n");
	place_put("sda/sda1/dev", "8:1\n");
	place_put("sda/sda1/partition", "1\n");
	place_put("sda/sda2/dev", "8:2\n");
	place_put("sda/sda2/partition", "2\n");
	place_put("dm-3/dev", "253:3\n");
	place_put("pmem0/dev", "259:0\n");
	place_put("pmem0/queue/dax", "1\n");
	place_put("ext4/sda1/options", "rw\ndelalloc\ndata=ordered\n");
	place_put("ext4/sda2/options", "rw\ndelalloc\ndata=journal\nstripe=0\n");
	CHECK_INT(symlink("../sda/sda1", place_at("block/8:1")), 0);
	CHECK_INT(symlink("../sda/sda2", place_at("block/8:2")), 0);
	place_put("sda/sda3/dev", "8:3\n");
	place_put("ext4/sda3/options", "rw\nnodelalloc\ndata=ordered\n");
	CHECK_INT(symlink("../sda/sda3", place_at("block/8:3")), 0);
	CHECK_INT(symlink("../dm-3", place_at("block/253:3")), 0);
	CHECK_INT(symlink("../pmem0", place_at("block/259:0")), 0);
	view.block_fd = place_open_dir("block");
	view.ext4_fd = place_open_dir("ext4");
}

static void end(void)
{
	close_fd(&view.block_fd);
	close_fd(&view.ext4_fd);
	place_end();
}

static bool find(const char *point, struct disk_mount *ret)
{
	struct sv mounts = SV(MOUNTS);

	while (disk_next_mount(&mounts, ret))
		if (sv_eq(ret->point, sv_str(point)))
			return true;
	return false;
}

/* The disk as text, "none", or a part of the error. */
static void check_disk(const char *point, const char *expected)
{
	struct disk_mount m;
	struct disk d = { 0 };
	struct err e = { 0 };
	char text[32];
	int rc;

	CHECK(find(point, &m));
	rc = disk_of_mount(&m, &view, &d, &e);
	if (rc > 0) {
		(void)snprintf(text, sizeof text, "%u:%u", d.major, d.minor);
		CHECK_SV(sv_str(text), expected);
	} else if (rc == 0) {
		CHECK_SV(SV("none"), expected);
	} else {
		CHECK_INT(e.kind, ERR_UNSUPP);
		CHECK(strstr(e.msg, expected) != NULL);
		CHECK(strstr(e.msg, point) != NULL);
	}
}

static void test_which_disk(void)
{
	begin();
	check_disk("/", "8:0");
	check_disk("/home", "253:3");
	check_disk("/tmp", "none");
	end();
}

static void test_what_cannot_be_limited(void)
{
	begin();
	check_disk("/home/a\\040b/n", "nfs4 file system");
	check_disk("/b", "btrfs file system");
	check_disk("/ov", "overlay file system");
	check_disk("/j", "by its journal");
	check_disk("/nd", "by its journal");
	check_disk("/e3", "ext3 file system");
	check_disk("/un", "by its journal");
	check_disk("/rt", "rtdev");
	check_disk("/pm", "dax");
	check_disk("/gone", "/sys/dev/block");
	close_fd(&view.ext4_fd);
	check_disk("/", "by its journal");
	end();
}

static void test_what_is_mounted_below(void)
{
	struct disk_mount m;

	CHECK(find("/home/a\\040b/n", &m));
	CHECK(disk_mount_is_below(&m, SV("/")));
	CHECK(disk_mount_is_below(&m, SV("/home")));
	CHECK(disk_mount_is_below(&m, SV("/home/a b")));
	CHECK(disk_mount_is_below(&m, SV("/home/a b/n")));
	CHECK(!disk_mount_is_below(&m, SV("/home/a")));
	CHECK(!disk_mount_is_below(&m, SV("/home/a b/n/x")));
	CHECK(!disk_mount_is_below(&m, SV("/home/a\\040b")));
	CHECK(find("/", &m));
	CHECK(disk_mount_is_below(&m, SV("/")));
	CHECK(!disk_mount_is_below(&m, SV("/home")));
}

static void test_lines_that_are_none(void)
{
	struct sv mounts = SV("x\n\n1 2 y:3 / /p rw - ext4 d rw\n1 2 8:1");
	struct disk_mount m;

	CHECK(disk_next_mount(&mounts, &m));
	CHECK_INT((int)m.device.major, 8);
	CHECK_INT((int)m.type.n, 0);
	CHECK(!disk_next_mount(&mounts, &m));
}

int main(void)
{
	RUN(test_which_disk);
	RUN(test_what_cannot_be_limited);
	RUN(test_what_is_mounted_below);
	RUN(test_lines_that_are_none);
	return tap_done();
}
