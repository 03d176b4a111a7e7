/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reaper: see reaper.h.
 *
 * It leads a session of its own, so that no signal of the terminal, and none
 * to our process group, reaches it; without a controlling terminal it may set
 * the mode of ours from the background.
 */
#include "reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "own.h"
#include "process.h"

static int close_others(int life_fd, const struct reaper_job *job,
			struct err *e)
{
	int keep[REAPER_FDS_MAX + 1] = { life_fd };

	if (job->n > REAPER_FDS_MAX)
		return err_kind(e, ERR_BUG, "too many descriptors to keep");
	memcpy(keep + 1, job->keep, job->n * sizeof *keep);
	return process_close_except(keep, job->n + 1, e);
}

static _Noreturn void wait_and_undo(int life_fd, const struct reaper_job *job)
{
	struct err e;
	sigset_t all;
	char word;
	ssize_t n;

	(void)setsid();
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "stockade-reaper", 0, 0, 0);
	/* A copy of our memory: what it must not keep, it must not show. */
	for (char **at = environ; at && *at; at++)
		explicit_bzero(*at, strlen(*at));
	if (process_hide(&e) < 0 || close_others(life_fd, job, &e) < 0)
		_exit(1);
	do {
		n = read(life_fd, &word, 1);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		job->undo(job->arg);
	_exit(0);
}

int reaper_start_job(struct reaper *r, const struct reaper_job *job,
		     struct err *e)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	pid = process_clone(0, &r->pidfd, e);
	if (pid == 0) {
		(void)close(ends[1]);
		wait_and_undo(ends[0], job);
	}
	(void)close(ends[0]);
	if (pid < 0) {
		(void)close(ends[1]);
		return err_ctx(e, "the reaper");
	}
	r->life_fd = ends[1];
	r->running = true;
	return 0;
}

struct terminal_job {
	int fd;
	const struct pty_mode *mode;
};

static void restore_terminal(const void *arg)
{
	const struct terminal_job *t = arg;

	pty_restore(t->fd, t->mode);
}

int reaper_start(struct reaper *r, int fd, const struct pty_mode *mode,
		 struct err *e)
{
	const struct terminal_job terminal = { fd, mode };

	return reaper_start_job(r, &(struct reaper_job){
				.keep = &fd, .n = 1,
				.undo = restore_terminal,
				.arg = &terminal }, e);
}

void reaper_dismiss(struct reaper *r)
{
	struct process_end end;
	struct err ignored;

	if (!r->running)
		return;
	(void)!write(r->life_fd, "x", 1);
	close_fd(&r->life_fd);
	(void)!process_wait(r->pidfd, &end, &ignored);
	close_fd(&r->pidfd);
	r->running = false;
}
