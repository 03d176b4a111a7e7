/* SPDX-License-Identifier: Apache-2.0 */
#include "caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "child.h"
#include "tap.h"

static int drop(void)
{
	NEED(child_enter(CLONE_NEWNS) == 0);
	NEED(caps_have(CAP_SYS_ADMIN) && caps_have(CAP_SETPCAP));
	NEED(mount("none", "/tmp", "tmpfs", 0, NULL) == 0);
	NEED(caps_drop_all(&child_err) == 0);
	for (int cap = 0; cap < 64; cap++) {
		NEED(!caps_have(cap));
		NEED(prctl(PR_CAPBSET_READ, cap, 0, 0, 0) <= 0);
	}
	NEED(mount("none", "/tmp", "tmpfs", 0, NULL) < 0 && errno == EPERM);
	NEED(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	/* SECBIT_NOROOT and its lock among them. */
	NEED((prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) & 3) == 3);
	NEED(setuid(0) == 0 && !caps_have(CAP_SYS_ADMIN));
	NEED(caps_drop_all(&child_err) == 0);
	return CHILD_OK;
}

static void test_drop_all_leaves_nothing(void)
{
	CHECK_INT(child_run(drop), CHILD_OK);
}

static int become(void)
{
	if (!child_is_root()) {
		NEED(caps_become(65534, 65534, &child_err) < 0);
		NEED(child_err.code == EPERM || child_err.code == EINVAL);
		return CHILD_OK;
	}
	NEED(caps_become(65534, 65534, &child_err) == 0);
	NEED(getuid() == 65534 && getegid() == 65534);
	NEED(getgroups(0, NULL) == 0);
	NEED(setuid(0) < 0);
	NEED(!caps_have(CAP_SETUID));
	return CHILD_OK;
}

static void test_become_is_for_good(void)
{
	CHECK_INT(child_run(become), CHILD_OK);
}

int main(void)
{
	RUN(test_drop_all_leaves_nothing);
	RUN(test_become_is_for_good);
	return tap_done();
}
