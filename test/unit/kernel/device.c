/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <fcntl.h>
#include <unistd.h>

#include "own.h"
#include "tap.h"

static void test_open_devices_of_the_host(void)
{
	auto_fd int dev_fd = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err e;

	for (const struct device *d = device_list; d->name; d++) {
		auto_fd int fd = device_open(dev_fd, d, &e);

		CHECK(fd >= 0);
	}
}

static void test_open_another_device_is_refused(void)
{
	static const struct device wrong = { "null", 1, 5 };
	auto_fd int dev_fd = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err e = { 0 };

	CHECK(device_open(dev_fd, &wrong, &e) < 0);
	CHECK_INT(e.kind, ERR_DENIED);
}

static void test_open_ordinary_file_is_refused(void)
{
	static const struct device passwd = { "passwd", 1, 3 };
	auto_fd int etc_fd = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err e = { 0 };

	CHECK(device_open(etc_fd, &passwd, &e) < 0);
	CHECK_INT(e.kind, ERR_DENIED);
}

int main(void)
{
	RUN(test_open_devices_of_the_host);
	RUN(test_open_another_device_is_refused);
	RUN(test_open_ordinary_file_is_refused);
	return tap_done();
}
