/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers of device numbers, as this kernel names them. */
#include "tap.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "driver.h"

static void test_driver_names_what_the_kernel_has(void)
{
	auto_buf struct buf b = buf_new(4096);
	struct err e = { 0 };

	CHECK_INT(driver_names(makedev(1, 3), &b, &e), 0);
	CHECK_SV(buf_sv(&b), "mem\n");
	buf_reset(&b);
	/* Several share it. */
	CHECK_INT(driver_names(makedev(5, 1), &b, &e), 0);
	CHECK(sv_find_sv(buf_sv(&b), SV("/dev/console\n")) < b.n);
	CHECK(sv_find_sv(buf_sv(&b), SV("/dev/ptmx\n")) < b.n);
}

static void test_driver_names_fails_for_what_nobody_drives(void)
{
	auto_buf struct buf b = buf_new(4096);
	struct err e = { 0 };

	/* 259 is a number of block devices, not of these. */
	CHECK_INT(driver_names(makedev(259, 0), &b, &e), -1);
	CHECK_INT(e.kind, ERR_DENIED);
	CHECK_INT(driver_names(makedev(10, 9999), &b, &e), -1);
	CHECK_INT(driver_names(makedev(4000, 0), &b, &e), -1);
	CHECK_INT((int)b.n, 0);
}

int main(void)
{
	RUN(test_driver_names_what_the_kernel_has);
	RUN(test_driver_names_fails_for_what_nobody_drives);
	return tap_done();
}
