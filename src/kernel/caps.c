/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities: see caps.h. */
#include "caps.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECBITS (SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP | \
		 SECBIT_NO_CAP_AMBIENT_RAISE)

enum { CAPS_WORDS = _LINUX_CAPABILITY_U32S_3 };

static struct __user_cap_header_struct header(void)
{
	return (struct __user_cap_header_struct){
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
}

bool caps_have(int cap)
{
	struct __user_cap_header_struct head = header();
	struct __user_cap_data_struct data[CAPS_WORDS] = { 0 };

	if (cap < 0 || cap >= 32 * CAPS_WORDS ||
	    syscall(SYS_capget, &head, data) < 0)
		return false;
	return data[cap / 32].effective >> (cap % 32) & 1;
}

static int drop_bounding(uint64_t mask, struct err *e)
{
	for (int cap = 0; cap < 32 * CAPS_WORDS; cap++) {
		if (mask >> cap & 1)
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL)	/* past the last one */
			return 0;
		return err_sys(e, "drop capability %d", cap);
	}
	return 0;
}

int caps_no_new_privs(struct err *e)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "set no_new_privs");
	return 0;
}

int caps_drop_all(struct err *e)
{
	return caps_drop_others(0, e);
}

int caps_drop_others(uint64_t mask, struct err *e)
{
	struct __user_cap_header_struct head = header();
	struct __user_cap_data_struct kept[CAPS_WORDS] = {
		{ .effective = (uint32_t)mask, .permitted = (uint32_t)mask },
		{ .effective = (uint32_t)(mask >> 32),
		  .permitted = (uint32_t)(mask >> 32) },
	};

	if (caps_no_new_privs(e) < 0)
		return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_sys(e, "clear the ambient capabilities");
	if (caps_have(CAP_SETPCAP)) {
		if (drop_bounding(mask, e) < 0)
			return -1;
		if (prctl(PR_SET_SECUREBITS,
			  SECBITS | SECURE_ALL_LOCKS, 0, 0, 0) < 0)
			return err_sys(e, "lock the securebits");
	}
	if (syscall(SYS_capset, &head, kept) < 0)
		return err_sys(e, "drop the capabilities");
	return 0;
}

int caps_become(uid_t uid, gid_t gid, struct err *e)
{
	if (setgroups(0, NULL) < 0)
		return err_sys(e, "drop the supplementary groups");
	if (setresgid(gid, gid, gid) < 0)
		return err_sys(e, "become group %u", gid);
	if (setresuid(uid, uid, uid) < 0)
		return err_sys(e, "become user %u", uid);
	return 0;
}
