/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a directory. */
#include "dir.h"

#include <errno.h>

#include "place.h"

static void test_every_name_but_the_two_dots_is_read(void)
{
	auto_dir DIR *dir = NULL;
	const struct dirent *entry;
	unsigned names = 0, dotted = 0;
	int fd;

	place_begin("dir");
	place_mkdir("a");
	place_put(".b", "");
	place_put("..c", "");
	place_put("...", "");
	fd = place_open_dir(".");
	dir = dir_take(&fd);
	CHECK(dir != NULL);
	CHECK_INT(fd, -1);
	while (dir && (entry = dir_next(dir)) != NULL) {
		names++;
		dotted += entry->d_name[0] == '.';
	}
	CHECK_INT(errno, 0);
	CHECK_INT(names, 4);
	CHECK_INT(dotted, 3);
	place_end();
}

static void test_what_is_no_directory_stays_the_callers(void)
{
	int fd;

	place_begin("dir");
	place_put("file", "");
	fd = open(place_at("file"), O_RDONLY | O_CLOEXEC);
	CHECK(dir_take(&fd) == NULL);
	CHECK_INT(errno, ENOTDIR);
	CHECK(fd >= 0);
	close_fd(&fd);
	place_end();
}

static void test_the_error_of_the_open_before_is_kept(void)
{
	int fd = open("/nonexistent", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(dir_take(&fd) == NULL);
	CHECK_INT(errno, ENOENT);
}

int main(void)
{
	RUN(test_every_name_but_the_two_dots_is_read);
	RUN(test_what_is_no_directory_stays_the_callers);
	RUN(test_the_error_of_the_open_before_is_kept);
	return tap_done();
}
