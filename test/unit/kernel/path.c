/* SPDX-License-Identifier: Apache-2.0 */
#include "path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "own.h"
#include "tap.h"

static int root_fd = -1;
static struct err e;

/* Opens, remembers only whether it worked; -errno otherwise. */
static int in(const char *path, int flags)
{
	auto_fd int fd = path_open_in(root_fd, sv_str(path), flags, &e);

	return fd >= 0 ? 0 : -e.code;
}

static int exact(const char *path, int flags)
{
	auto_fd int fd = path_open_exact(root_fd, sv_str(path), flags, &e);

	return fd >= 0 ? 0 : -e.code;
}

static void test_open_in_stays_inside(void)
{
	CHECK_INT(in("a", O_PATH), 0);
	CHECK_INT(in("/a/file", O_RDONLY), 0);
	CHECK_INT(in("../../a/file", O_RDONLY), 0);
	CHECK_INT(in("/etc/hostname", O_PATH), -ENOENT);
	/* A link to /a/file means the file in here. */
	CHECK_INT(in("absolute", O_RDONLY), 0);
	CHECK_INT(in("outside", O_PATH), -ENOENT);
	CHECK_INT(in("climbing", O_PATH), -ENOENT);
	CHECK_INT(in("", O_PATH), 0);
}

static void test_open_in_magic_link_is_refused(void)
{
	auto_fd int slash_fd = open("/", O_PATH | O_CLOEXEC);
	int fd = path_open_in(slash_fd, SV("/proc/self/fd/0"), O_PATH, &e);

	CHECK(fd < 0);
	CHECK_INT(e.code, ELOOP);
}

static void test_open_exact_link_is_refused(void)
{
	CHECK_INT(exact("a/file", O_RDONLY), 0);
	CHECK_INT(exact("absolute", O_PATH), -ELOOP);
	CHECK_INT(exact("linked/file", O_PATH), -ELOOP);
	CHECK_INT(exact("a/none", O_PATH), -ENOENT);
}

static void test_open_hostile_path_is_refused(void)
{
	static char longest[PATH_MAX + 1];

	memset(longest, 'x', sizeof longest - 1);
	CHECK(path_open_in(root_fd, sv_of("a\0b", 3), O_PATH, &e) < 0);
	CHECK_INT(e.code, EINVAL);
	CHECK_INT(in(longest, O_PATH), -ENAMETOOLONG);
}

static void test_make_dirs_makes_what_is_missing(void)
{
	auto_fd int fd = path_make_dirs(root_fd, SV("/n/./e//w/"), &e);
	auto_fd int again = path_make_dirs(root_fd, SV("n/e/w"), &e);
	struct path_identity one, two;

	CHECK(fd >= 0 && again >= 0);
	CHECK(path_identify(fd, &one, &e) == 0 &&
	      path_identify(again, &two, &e) == 0);
	CHECK(path_same(&one, &two));
	CHECK_INT(one.type, S_IFDIR);
	CHECK_INT(in("n/e/w", O_PATH | O_DIRECTORY), 0);
}

static void test_make_dirs_through_link_or_file_is_refused(void)
{
	CHECK(path_make_dirs(root_fd, SV("linked/x"), &e) < 0);
	CHECK_INT(e.code, ELOOP);
	CHECK(path_make_dirs(root_fd, SV("a/file/x"), &e) < 0);
	CHECK_INT(e.code, ENOTDIR);
	CHECK(path_make_dirs(root_fd, SV("a/../../x"), &e) < 0);
	CHECK_INT(e.code, EINVAL);
}

static void test_make_file_new_and_existing(void)
{
	auto_fd int fd = path_make_file(root_fd, SV("p/q/f"), 0600, &e);
	auto_fd int again = path_make_file(root_fd, SV("/p/q/f"), 0600, &e);

	CHECK(fd >= 0 && again >= 0);
	CHECK(path_make_file(root_fd, SV("a"), 0600, &e) < 0);
	CHECK_INT(e.code, EISDIR);
	CHECK(path_make_file(root_fd, SV("absolute"), 0600, &e) < 0);
	CHECK_INT(e.code, ELOOP);
	CHECK(path_make_file(root_fd, SV("x/.."), 0600, &e) < 0);
}

static void test_make_symlink_new_same_and_other(void)
{
	CHECK_INT(path_make_symlink(root_fd, SV("s/bin"), SV("usr/bin"), &e),
		  0);
	CHECK_INT(path_make_symlink(root_fd, SV("s/bin"), SV("usr/bin"), &e),
		  0);
	CHECK_INT(path_make_symlink(root_fd, SV("s/bin"), SV("else"), &e), -1);
	CHECK_INT(e.code, EEXIST);
}

static void make_tree(void)
{
	auto_fd int file_fd = path_make_file(root_fd, SV("a/file"), 0600, &e);

	CHECK(file_fd >= 0);
	CHECK_INT(path_make_symlink(root_fd, SV("absolute"), SV("/a/file"),
				    &e), 0);
	CHECK_INT(path_make_symlink(root_fd, SV("linked"), SV("a"), &e), 0);
	CHECK_INT(path_make_symlink(root_fd, SV("outside"),
				    SV("/etc/hostname"), &e), 0);
	CHECK_INT(path_make_symlink(root_fd, SV("climbing"),
				    SV("../../../../../etc"), &e), 0);
}

int main(void)
{
	char dir[] = "/tmp/stockade-path-XXXXXX";

	if (!mkdtemp(dir))
		return 1;
	root_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	RUN(make_tree);
	RUN(test_open_in_stays_inside);
	RUN(test_open_in_magic_link_is_refused);
	RUN(test_open_exact_link_is_refused);
	RUN(test_open_hostile_path_is_refused);
	RUN(test_make_dirs_makes_what_is_missing);
	RUN(test_make_dirs_through_link_or_file_is_refused);
	RUN(test_make_file_new_and_existing);
	RUN(test_make_symlink_new_same_and_other);
	child_remove_tree(dir);
	return tap_done();
}
