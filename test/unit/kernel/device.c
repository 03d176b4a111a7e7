/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <fcntl.h>
#include <unistd.h>

#include "own.h"
#include "tap.h"

static int check(const char *path, const struct device *d, struct err *e)
{
	auto_fd int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	CHECK(fd >= 0);
	return device_check(fd, d, e);
}

static void test_devices_of_the_host_are_what_they_are_called(void)
{
	struct err e;

	for (const struct device *d = device_list; d->name; d++) {
		char path[32];

		(void)snprintf(path, sizeof path, "/dev/%s", d->name);
		CHECK_INT(check(path, d, &e), 0);
	}
}

static void test_another_device_is_refused(void)
{
	static const struct device wrong = { "null", 1, 5 };
	struct err e = { 0 };

	CHECK(check("/dev/null", &wrong, &e) < 0);
	CHECK_INT(e.kind, ERR_DENIED);
}

static void test_a_file_and_a_link_are_refused(void)
{
	static const struct device null = { "null", 1, 3 };
	struct err e = { 0 };

	CHECK(check("/etc/passwd", &null, &e) < 0);
	CHECK_INT(e.kind, ERR_DENIED);
	CHECK(check("/dev/stdin", &null, &e) < 0);
	CHECK_INT(e.kind, ERR_DENIED);
}

int main(void)
{
	RUN(test_devices_of_the_host_are_what_they_are_called);
	RUN(test_another_device_is_refused);
	RUN(test_a_file_and_a_link_are_refused);
	return tap_done();
}
