/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was covered and guarded has to stay so.
 *
 * Nothing inside can move or remove a mount.  The host can: when somebody out
 * there replaces a file by renaming another over it, as editors and `git
 * config` do, or removes it, the kernel takes away what every other mount
 * namespace has mounted on it, and the new file lies open.  It cannot be
 * covered again, as pid 1 has given up what that takes; so the run ends.
 *
 * The kernel says through mountinfo that mounts have changed; here nothing else
 * changes them but the sentry, which only adds (sentry.h).  A covered file that
 * is gone hides nothing any more: what has its name later appeared after the
 * launch, and is the sentry's to cover.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "own.h"

enum { SETTLE_TRIES = 100, SETTLE_NS = 200000 };

/*
 * 1: it is, 0: something else is there, -1: nothing is.  The mount goes a
 * moment before the name does: a file without a name is looked at again.
 */
static int is_mounted(const struct step *s)
{
	const struct timespec pause = { .tv_nsec = SETTLE_NS };
	struct statx stx;

	for (int i = 0; i < SETTLE_TRIES; i++) {
		if (statx(AT_FDCWD, s->target.p,
			  AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_NLINK,
			  &stx) < 0)
			return errno == ENOENT || errno == ENOTDIR ? -1 : 0;
		if (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
			return 1;
		if (stx.stx_nlink > 0)
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static int check(struct init *in, size_t i, struct err *e)
{
	const struct step *s = &in->plan->steps[i];
	bool guard = s->kind == STEP_GUARD;
	int mounted = is_mounted(s);

	if (mounted == 0 || (mounted < 0 && guard))
		return err_kind(e, ERR_DENIED, "%.*s was replaced on the host "
				"and is no longer %s inside",
				SV_FMT(s->target),
				guard ? "read-only" : "hidden");
	in->held[i] = mounted > 0;
	return 0;
}

/* What is covered in /proc is our own, and no host can lift it. */
static bool is_held(const struct step *s)
{
	return ((s->kind == STEP_GUARD || s->kind == STEP_COVER) &&
		!(s->flags & STEP_SYSTEM)) ||
	       (s->kind == STEP_KEY_FILE && (s->flags & STEP_THERE));
}

int hold_begin(struct init *in, const struct step *s, struct err *e)
{
	const struct plan *plan = in->plan;
	size_t first = 0;

	(void)s;
	while (first < plan->steps_n && !is_held(&plan->steps[first]))
		first++;
	if (first == plan->steps_n)
		return 0;
	in->mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (in->mounts_fd < 0)
		return err_sys(e, "open /proc/self/mountinfo");
	in->held = calloc(plan->steps_n, sizeof *in->held);
	if (!in->held)
		return err_sys(e, "allocate");
	for (size_t i = first; i < plan->steps_n; i++)
		if (is_held(&plan->steps[i]) && check(in, i, e) < 0)
			return -1;
	return 0;
}

void hold_glance(void *of)
{
	struct init *in = of;
	struct pollfd fd = { .fd = in->mounts_fd, .events = POLLPRI };
	struct err e;

	if (poll(&fd, 1, 0) > 0 && hold_check(in, &e) < 0)
		init_fail(in, &e);
}

int hold_check(struct init *in, struct err *e)
{
	for (size_t i = 0; i < in->plan->steps_n; i++)
		if (in->held[i] && check(in, i, e) < 0)
			return -1;
	return 0;
}
