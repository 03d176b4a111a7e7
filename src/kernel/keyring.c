/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's keyrings: see keyring.h. */
#include "keyring.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All that a possessor can be permitted, and nothing for anybody else. */
static const unsigned long POSSESSOR_ONLY = 0x3f000000;

static long control(int what, long a, unsigned long b, unsigned long c,
		    unsigned long d)
{
	return syscall(SYS_keyctl, what, a, b, c, d);
}

/*
 * Linked into the keyring of this process, by which it is possessed whatever the
 * session has: one of a service, or after su, does not lead to the user's.  -1
 * with errno.
 */
static long find(const char *name)
{
	return control(KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING,
		       (unsigned long)"user", (unsigned long)name,
		       (unsigned long)KEY_SPEC_PROCESS_KEYRING);
}

static bool is_gone(int code)
{
	return code == ENOKEY || code == EKEYEXPIRED || code == EKEYREVOKED;
}

int keyring_put(const char *name, struct sv key, uint32_t seconds,
		struct err *e)
{
	long id = syscall(SYS_add_key, "user", name, key.p, key.n,
			  KEY_SPEC_PROCESS_KEYRING);

	if (id < 0)
		return err_sys(e, "make a key in the kernel's keyring");
	if (control(KEYCTL_SETPERM, id, POSSESSOR_ONLY, 0, 0) < 0 ||
	    control(KEYCTL_SET_TIMEOUT, id, seconds, 0, 0) < 0 ||
	    control(KEYCTL_LINK, id, (unsigned long)KEY_SPEC_USER_KEYRING, 0,
		    0) < 0) {
		(void)err_sys(e, "keep a key in the kernel's keyring");
		(void)control(KEYCTL_INVALIDATE, id, 0, 0, 0);
		return -1;
	}
	return 0;
}

int keyring_get(const char *name, char *ret, size_t n, struct err *e)
{
	long id = find(name), got;

	if (id < 0 && is_gone(errno))
		return 0;
	if (id < 0)
		return err_sys(e, "look into the kernel's keyring");
	got = control(KEYCTL_READ, id, (unsigned long)ret, n, 0);
	if (got < 0)
		return is_gone(errno) ? 0 : err_sys(e, "read a key from the "
						    "kernel's keyring");
	/* The length of the whole key, which may be more than there was room. */
	return (size_t)got == n;
}

int keyring_remove(const char *name, struct err *e)
{
	long id = find(name);

	if (id < 0 && is_gone(errno))
		return 0;
	if (id < 0)
		return err_sys(e, "look into the kernel's keyring");
	/* At once, whoever has found it. */
	if (control(KEYCTL_INVALIDATE, id, 0, 0, 0) < 0)
		return err_sys(e, "take a key from the kernel's keyring");
	return 1;
}
