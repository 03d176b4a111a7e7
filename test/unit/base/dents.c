/* SPDX-License-Identifier: Apache-2.0 */
/* Reading many directories. */
#include "dents.h"

#include <errno.h>

#include "place.h"

enum { MANY = 3000 };

static void test_more_names_than_have_room_at_once(void)
{
	static bool seen[MANY];
	struct dents_pile pile = { 0 };
	const struct dirent *entry;
	struct dents *dents;
	unsigned others = 0;
	auto_fd int fd = -1;
	char name[40];

	place_begin("dents");
	place_put("..c", "");
	place_mkdir("...");
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof name, "a-long-name-%d", i);
		place_put(name, "");
	}
	fd = place_open_dir(".");
	dents = dents_pile_begin(&pile, 1, fd);
	CHECK(dents != NULL);
	while (dents && (entry = dents_next(dents)) != NULL) {
		int i = -1;

		if (sscanf(entry->d_name, "a-long-name-%d", &i) == 1 &&
		    i >= 0 && i < MANY && !seen[i])
			seen[i] = true;
		else
			others++;
	}
	CHECK_INT(errno, 0);
	for (int i = 0; i < MANY; i++)
		CHECK(seen[i]);
	CHECK_INT(others, 2);
	/* What was read there before is not read again. */
	close_fd(&fd);
	fd = place_open_dir("...");
	CHECK(dents_pile_begin(&pile, 1, fd) == dents);
	CHECK(dents && !dents_next(dents));
	CHECK_INT(errno, 0);
	dents_pile_free(&pile);
	place_end();
}

static void test_what_is_no_directory_is_an_error(void)
{
	struct dents_pile pile = { 0 };
	auto_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct dents *dents = dents_pile_begin(&pile, 0, fd);

	CHECK(dents && !dents_next(dents));
	CHECK_INT(errno, ENOTDIR);
	dents_pile_free(&pile);
}

int main(void)
{
	RUN(test_more_names_than_have_room_at_once);
	RUN(test_what_is_no_directory_is_an_error);
	return tap_done();
}
