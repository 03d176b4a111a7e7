/* SPDX-License-Identifier: Apache-2.0 */
/* Which device nodes may be there inside: judged by number, not by name. */
#include "tap.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "devices.h"

static bool is_refused_as(mode_t type, unsigned major, unsigned minor,
			  const char *words)
{
	struct err e = { 0 };
	int rc = device_judge(SV("/dev/x"), type | 0666, makedev(major, minor),
			      &e);

	if (rc == 0 || !strstr(e.msg, words))
		printf("# %u:%u %s\n", major, minor, e.msg);
	return rc < 0 && strstr(e.msg, words);
}

static void test_device_judge_refuses_what_equals_the_machine(void)
{
	CHECK(is_refused_as(S_IFBLK, 8, 0, "a disk"));
	CHECK(is_refused_as(S_IFBLK, 10, 232, "a disk"));
	CHECK(is_refused_as(S_IFCHR, 1, 1, "memory"));
	CHECK(is_refused_as(S_IFCHR, 1, 11, "kernel log"));
	CHECK(is_refused_as(S_IFCHR, 4, 1, "terminal"));
	CHECK(is_refused_as(S_IFCHR, 5, 1, "terminal"));
	CHECK(is_refused_as(S_IFCHR, 136, 0, "terminal"));
	CHECK(is_refused_as(S_IFREG, 0, 0, "no device"));
	CHECK(is_refused_as(S_IFDIR, 0, 0, "no device"));
	CHECK(is_refused_as(S_IFCHR, 4000, 0, "no driver"));
}

int main(void)
{
	RUN(test_device_judge_refuses_what_equals_the_machine);
	return tap_done();
}
