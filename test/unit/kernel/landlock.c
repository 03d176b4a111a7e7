/* SPDX-License-Identifier: Apache-2.0 */
#include "landlock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caps.h"
#include "child.h"
#include "own.h"
#include "tap.h"

static char dir[] = "/tmp/stockade-landlock-XXXXXX";

static int grant(const struct landlock *l, const char *path, unsigned grants)
{
	auto_fd int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -1 : landlock_allow(l, fd, grants, &child_err);
}

static bool opens(const char *path, int flags)
{
	auto_fd int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd >= 0;
}

static int rules(void)
{
	struct landlock l;

	NEED(landlock_new(&l, true, &child_err) == 0);
	NEED(grant(&l, "/usr", LANDLOCK_READ | LANDLOCK_EXECUTE) == 0);
	NEED(grant(&l, "/etc/passwd", LANDLOCK_READ) == 0);
	NEED(grant(&l, "w", LANDLOCK_READ | LANDLOCK_WRITE) == 0);
	NEED(grant(&l, "/dev/null", LANDLOCK_READ | LANDLOCK_WRITE |
		   LANDLOCK_IOCTL) == 0);
	NEED(caps_no_new_privs(&child_err) == 0);
	NEED(landlock_enforce(&l, &child_err) == 0);
	NEED(l.fd == -1);
	NEED(opens("/etc/passwd", O_RDONLY));
	NEED(!opens("/etc/passwd", O_WRONLY | O_APPEND));
	NEED(!opens("/etc/group", O_RDONLY) && errno == EACCES);
	NEED(opens("/usr/bin/env", O_RDONLY));
	NEED(!opens("/usr/bin", O_RDONLY | O_TMPFILE));
	NEED(opens("w/new", O_CREAT | O_WRONLY));
	NEED(mkdir("w/d", 0700) == 0);
	/* Between directories: REFER. */
	NEED(rename("w/new", "w/d/new") == 0);
	NEED(truncate("w/d/new", 0) == 0 && unlink("w/d/new") == 0);
	NEED(rmdir("w/d") == 0);
	NEED(!opens("r/file", O_RDONLY));
	NEED(link("w/x", "r/x") < 0);
	NEED(opens("/dev/null", O_RDWR));
	return CHILD_OK;
}

static void test_rules_allow_what_is_granted(void)
{
	CHECK_INT(child_run(rules), CHILD_OK);
}

static int nothing(void)
{
	struct landlock l;

	NEED(landlock_new(&l, false, &child_err) == 0);
	NEED(caps_no_new_privs(&child_err) == 0);
	NEED(landlock_enforce(&l, &child_err) == 0);
	NEED(!opens("/", O_RDONLY) && errno == EACCES);
	NEED(!opens("w/file", O_CREAT | O_WRONLY));
	return CHILD_OK;
}

static void test_no_rule_allows_nothing(void)
{
	CHECK_INT(child_run(nothing), CHILD_OK);
}

static int seventeen(void)
{
	NEED(caps_no_new_privs(&child_err) == 0);
	for (int i = 0; i < 16; i++) {
		struct landlock l;

		NEED(landlock_new(&l, false, &child_err) == 0);
		NEED(landlock_enforce(&l, &child_err) == 0);
	}
	{
		auto_landlock struct landlock l = LANDLOCK_NONE;

		NEED(landlock_new(&l, false, &child_err) == 0);
		NEED(landlock_enforce(&l, &child_err) < 0);
		NEED(child_err.kind == ERR_UNSUPP);
	}
	return CHILD_OK;
}

static void test_enforce_seventeenth_domain_is_an_error(void)
{
	CHECK_INT(child_run(seventeen), CHILD_OK);
}

static int privileged(void)
{
	auto_landlock struct landlock l = LANDLOCK_NONE;

	NEED(landlock_new(&l, false, &child_err) == 0);
	if (geteuid() == 0)
		return CHILD_OK;
	NEED(landlock_enforce(&l, &child_err) < 0 && child_err.code == EPERM);
	return CHILD_OK;
}

static void test_enforce_without_no_new_privs_is_an_error(void)
{
	CHECK_INT(child_run(privileged), CHILD_OK);
}

int main(void)
{
	if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("w", 0700) < 0 ||
	    mkdir("r", 0700) < 0)
		return 1;
	CHECK(opens("r/file", O_CREAT | O_WRONLY));
	CHECK(landlock_abi() >= LANDLOCK_ABI_MIN);
	RUN(test_rules_allow_what_is_granted);
	RUN(test_no_rule_allows_nothing);
	RUN(test_enforce_seventeenth_domain_is_an_error);
	RUN(test_enforce_without_no_new_privs_is_an_error);
	child_remove_tree(dir);
	return tap_done();
}
