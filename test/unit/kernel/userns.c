/* SPDX-License-Identifier: Apache-2.0 */
#include "userns.h"

#include <sched.h>
#include <unistd.h>

#include "child.h"
#include "own.h"
#include "tap.h"

static int own_maps(void)
{
	NEED(child_enter(0) == 0);
	NEED(geteuid() == 0 && getegid() == 0);
	return CHILD_OK;
}

static void test_write_maps_of_oneself(void)
{
	CHECK_INT(child_run(own_maps), CHILD_OK);
}

static void test_write_maps_empty_is_refused(void)
{
	struct userns_map none = { 0 };
	struct err e;

	CHECK_INT(userns_write_maps(-1, &none, &none, true, &e), -1);
	CHECK_INT(e.kind, ERR_BUG);
}

static int make(void)
{
	struct userns_map ids = { .n = 2, .range = { { 0, 1000, 1 },
						     { 1000, 2000, 5 } } };
	auto_fd int fd = userns_make(&ids, &ids, &child_err);

	if (!child_is_root()) {
		/* Ids that are not the user's own. */
		NEED(fd < 0);
		return CHILD_OK;
	}
	NEED(fd >= 0);
	NEED(setns(fd, CLONE_NEWUSER) == 0);
	NEED(setresuid(1002, 1002, 1002) == 0);
	return CHILD_OK;
}

static void test_make_gives_a_namespace(void)
{
	CHECK_INT(child_run(make), CHILD_OK);
}

int main(void)
{
	RUN(test_write_maps_of_oneself);
	RUN(test_write_maps_empty_is_refused);
	RUN(test_make_gives_a_namespace);
	return tap_done();
}
