/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentry's way in: see sentry.h.
 *
 * It was forked from a process that had nothing but placeholders, and lets go of
 * what that one has open.  An ordinary user who owns the sandbox's user namespace
 * has all capabilities there, and none outside.  Root stays what it is outside,
 * or it could not read what others granted.  The host stays in reach by
 * one descriptor, O_PATH, of its root.
 */
#include "sentry_parts.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "own.h"
#include "process.h"

static int let_go(const struct sentry_post *post, struct err *e)
{
	const int keep[] = { post->note_fd, post->space_fd[0],
			     post->space_fd[1], post->space_fd[2] };
	sigset_t all;

	(void)prctl(PR_SET_NAME, "stockade-sentry", 0, 0, 0);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	for (char **at = environ; at && *at; at++)
		explicit_bzero(*at, strlen(*at));
	return process_close_except(keep, countof(keep), e);
}

static int enter(int fd, int kind, const char *what, struct err *e)
{
	return setns(fd, kind) < 0 ?
		       err_sys(e, "enter the sandbox's %s namespace", what) : 0;
}

int sentry_enter(const struct sentry_post *post, int *ret_host_fd,
		 int *ret_links_fd, struct err *e)
{
	const int *space_fd = post->space_fd;
	auto_fd int host_fd = -1, links_fd = -1;

	if (let_go(post, e) < 0)
		return -1;
	host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	links_fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host_fd < 0 || links_fd < 0)
		return err_sys(e, "open / and /proc/self/fd");
	if (!post->plan->as_root &&
	    enter(space_fd[0], CLONE_NEWUSER, "user", e) < 0)
		return -1;
	if (enter(space_fd[1], CLONE_NEWNS, "mount", e) < 0 ||
	    enter(space_fd[2], CLONE_NEWNET, "network", e) < 0)
		return -1;
	for (int i = 0; i < SANDBOX_SPACES_N; i++)
		(void)close(space_fd[i]);
	/* Forgotten with the old capabilities, if it was asked for before. */
	if (process_die_with_parent(SIGKILL, post->parent, e) < 0)
		return -1;
	*ret_host_fd = steal_fd(&host_fd);
	*ret_links_fd = steal_fd(&links_fd);
	return 0;
}
