/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that make a name: see filter_creation.h.
 *
 * It stands on top of the agent's filter, which refuses what it refuses before
 * anybody is asked (an error outranks a question), also the ways that a filter
 * cannot look into: openat2() and io_uring do not exist.  A socket gets its
 * name by bind(); no tool executes one unasked, so that this does not wait.
 */
#include "filter_creation.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "own.h"
#include "seccomp.h"

#define ASK SECCOMP_RET_USER_NOTIF
/* O_PATH makes nothing, and such a descriptor cannot be given away. */
#define MAKING(flags)                                                     \
	{ { SECCOMP_ANY, (flags), false, O_PATH, 0, VERDICT_ALLOW },       \
	  { SECCOMP_ANY, (flags), false, O_CREAT, 0, ASK }, { 0 } }
#define W(call) SECCOMP_ROW(call, ASK, NULL)
#define N(call) SECCOMP_ROW(call, VERDICT_ERRNO(ENOSYS), NULL)

static const struct seccomp_check openat_checks[] = MAKING(2);
#ifdef __x86_64__
static const struct seccomp_check open_checks[] = MAKING(1);
#endif

/* Whoever hides from us makes nothing; told that it cannot, a keeper of keys
 * goes on without. */
static const struct seccomp_check prctl_checks[] = {
	{ SECCOMP_EQ, 0, true, 0, PR_SET_DUMPABLE, 0 },
	{ SECCOMP_EQ, 1, false, 0, 0, VERDICT_ERRNO(EPERM) }, { 0 },
};

static const struct seccomp_rule rules[] = {
	SECCOMP_ROW(openat, VERDICT_ALLOW, openat_checks),
	W(mkdirat), W(mknodat), W(linkat), W(symlinkat), W(renameat),
	W(renameat2),
	SECCOMP_ROW(prctl, VERDICT_ALLOW, prctl_checks),
	/* Whoever makes the names is not in a domain that the agent enters: a
	 * wall with this hole in it had better not be there. */
	N(landlock_create_ruleset), N(landlock_add_rule),
	N(landlock_restrict_self),
#ifdef __x86_64__
	SECCOMP_ROW(open, VERDICT_ALLOW, open_checks),
	W(creat), W(mkdir), W(mknod), W(link), W(symlink), W(rename),
#endif
};

static const struct seccomp_filter creation = {
	.rules = rules, .n = countof(rules), .fallback = VERDICT_ALLOW,
	.narrows = true,
};

const struct seccomp_filter *filter_creation(void)
{
	return &creation;
}
