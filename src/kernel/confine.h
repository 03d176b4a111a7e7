/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The confinement of a helper, entered when it has its descriptors and its
 * memory: after the *_START message was handled, before the first byte from
 * outside.
 *
 *	identity	root becomes an id that owns nothing
 *	capabilities	none, and none to regain
 *	no_new_privs, not dumpable, no core file
 *	Landlock	no path at all (resolve: what the C library reads)
 *	seccomp		the calls of that role, the process killed at any other
 *
 * For good, and never half: on -1 the helper must exit.
 *
 * Afterwards: no fork, no exec, no executable memory.  edge, vault and dial
 * can make no socket and open no file; descriptors come by SCM_RIGHTS.  Load
 * everything lazy before (OpenSSL's providers and random state, getrandom is
 * allowed; the locale and /dev files are not).
 */
#ifndef KERNEL_CONFINE_H
#define KERNEL_CONFINE_H

#include "err.h"
#include "seccomp.h"

enum confine_role {
	CONFINE_NONE = 0,
	CONFINE_EDGE, CONFINE_VAULT, CONFINE_DIAL, CONFINE_RESOLVE,
	CONFINE_SENTRY,
	CONFINE_ROLES,
};

must_check int confine_helper(enum confine_role role, struct err *e);

/*
 * The sentry mounts, and reads directories: it keeps the capabilities for that
 * (an ordinary user's are those of the sandbox's own user namespace), and
 * Landlock, which permits no mounts, is not for it.  The rest is as above.
 */
must_check int confine_sentry(struct err *e);

/* The filter of a role, for tests and documentation. */
const struct seccomp_filter *confine_filter(enum confine_role role);

#endif
