/* SPDX-License-Identifier: Apache-2.0 */
#include "mount.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "child.h"
#include "own.h"
#include "path.h"
#include "process.h"
#include "tap.h"
#include "userns.h"

static const struct mount_option small[] = {
	{ "size", "1M" }, { "mode", "0755" },
};

static int new_fs(void)
{
	static const struct mount_option wrong[] = { { "colour", "red" } };

	NEED(child_enter(CLONE_NEWNS) == 0);
	{
		auto_fd int fd = mount_new_fs("tmpfs", small, countof(small),
					      MOUNT_ATTR_NOEXEC, &child_err);
		struct statvfs st;

		NEED(fd >= 0 && fstatvfs(fd, &st) == 0);
		NEED(st.f_flag & ST_NOEXEC);
		NEED(st.f_blocks * st.f_frsize == 1 << 20);
		NEED(mount_new_fs("tmpfs", wrong, 1, 0, &child_err) < 0);
		NEED(child_err.code == EINVAL &&
		     strstr(child_err.msg, "colour"));
		NEED(mount_new_fs("nonsense", NULL, 0, 0, &child_err) < 0);
	}
	return CHILD_OK;
}

static void test_new_fs_options_and_refusals(void)
{
	CHECK_INT(child_run(new_fs), CHILD_OK);
}

/* A whole new root: built, entered, and nothing of the old one left. */
static int pivot(void)
{
	auto_fd int new_fd = -1;
	auto_fd int etc_fd = -1;
	auto_fd int at_fd = -1;

	NEED(child_enter(CLONE_NEWNS) == 0);
	NEED(mount_set_private(AT_FDCWD, "/", true, &child_err) == 0);
	new_fd = mount_new_fs("tmpfs", small, countof(small), 0, &child_err);
	NEED(new_fd >= 0);
	etc_fd = mount_clone(AT_FDCWD, "/etc", true, &child_err);
	NEED(etc_fd >= 0);
	NEED(mount_set_attrs(etc_fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
			     true, &child_err) == 0);
	NEED(mount_attach(new_fd, AT_FDCWD, "/tmp", &child_err) == 0);
	at_fd = path_make_dirs(new_fd, SV("etc"), &child_err);
	NEED(at_fd >= 0);
	NEED(mount_attach(etc_fd, at_fd, "", &child_err) == 0);
	NEED(mount_pivot(new_fd, &child_err) == 0);
	NEED(mount_leave_old_root(&child_err) == 0);
	NEED(access("/etc/passwd", R_OK) == 0);
	NEED(open("/etc/new", O_CREAT | O_WRONLY, 0600) < 0 && errno == EROFS);
	NEED(access("/usr", F_OK) < 0 && errno == ENOENT);
	NEED(access("../../usr", F_OK) < 0);
	NEED(rename("/etc", "/other") < 0 && errno == EBUSY);
	return CHILD_OK;
}

static void test_pivot_into_a_new_root(void)
{
	CHECK_INT(child_run(pivot), CHILD_OK);
}

static int nest(void)
{
	int rc;

	NEED(child_enter(CLONE_NEWNS) == 0);
	rc = mount_can_nest(&child_err);
	NEED(rc == 0 || rc == 1);
	return CHILD_OK;
}

static void test_can_nest_gives_an_answer(void)
{
	CHECK_INT(child_run(nest), CHILD_OK);
}

static int idmap(void)
{
	struct userns_map ids = userns_one(1000, 0);
	auto_fd int tree_fd = -1;
	auto_fd int userns_fd = -1;
	struct stat st;

	NEED(unshare(CLONE_NEWNS) == 0);
	tree_fd = mount_new_fs("tmpfs", small, countof(small), 0, &child_err);
	NEED(tree_fd >= 0);
	NEED(mkdirat(tree_fd, "d", 0755) == 0);
	NEED(fchownat(tree_fd, "d", 1000, 1000, 0) == 0);
	userns_fd = userns_make(&ids, &ids, &child_err);
	NEED(userns_fd >= 0);
	NEED(mount_idmap(tree_fd, userns_fd, false, &child_err) == 0);
	NEED(fstatat(tree_fd, "d", &st, 0) == 0 && st.st_uid == 0);
	return CHILD_OK;
}

static void test_idmap_shows_other_owners(void)
{
	if (!child_is_root()) {
		printf("# only as root\n");
		CHECK(1);
		return;
	}
	CHECK_INT(child_run(idmap), CHILD_OK);
}

int main(void)
{
	RUN(test_new_fs_options_and_refusals);
	RUN(test_pivot_into_a_new_root);
	RUN(test_can_nest_gives_an_answer);
	RUN(test_idmap_shows_other_owners);
	return tap_done();
}
