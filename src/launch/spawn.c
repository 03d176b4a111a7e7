/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command: a child of pid 1, in its own process group, executed.
 *
 * vfork(): the child runs in pid 1's memory while pid 1 waits, so the outcome
 * is a plain variable, and no page is copied that exec would throw away.  Until
 * exec it makes system calls and nothing else.
 */
#include "init.h"

#include <errno.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "launch.h"
#include "own.h"
#include "process.h"

enum { STDIO_PARK = 16 };

struct spawn {
	const struct plan *plan;
	const int *stdio_fd;
	int slave_fd;
	struct err err;		/* the child's word; kind 0: executed */
	bool set_up;		/* what failed, if anything, was execve() */
};

/* First out of the way, then into place: they may overlap. */
static int place_stdio(const struct spawn *s, struct err *e)
{
	int parked[3];

	for (int i = 0; i < 3; i++) {
		int fd = s->plan->stdio[i] == PLAN_STDIO_PTY ?
				 s->slave_fd : s->stdio_fd[i];

		parked[i] = fcntl(fd, F_DUPFD_CLOEXEC, STDIO_PARK);
		if (parked[i] < 0)
			return err_sys(e, "descriptor %d", i);
	}
	for (int i = 0; i < 3; i++)
		if (dup2(parked[i], i) < 0)
			return err_sys(e, "descriptor %d", i);
	return process_cloexec_from(3, e);
}

static int child_set_up(const struct spawn *s, struct err *e)
{
	sigset_t none;

	if (setpgid(0, 0) < 0)
		return err_sys(e, "make a process group");
	/* SIGTTOU is blocked, as all signals are in pid 1 since it began. */
	if (s->slave_fd >= 0 && tcsetpgrp(s->slave_fd, getpid()) < 0)
		return err_sys(e, "go to the foreground");
	if (place_stdio(s, e) < 0)
		return -1;
	(void)sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return err_sys(e, "unblock the signals");
	return 0;
}

static _Noreturn void child(struct spawn *s)
{
	if (child_set_up(s, &s->err) == 0) {
		s->set_up = true;
		(void)execve(s->plan->path, s->plan->argv, s->plan->envp);
		(void)err_sys(&s->err, "execute %s", s->plan->path);
	}
	_exit(LAUNCH_FAILED);
}

/* Alone in its function: nothing of the caller's frame is shared. */
static __attribute__((noinline)) pid_t start(struct spawn *s)
{
	pid_t pid = vfork();

	if (pid == 0)
		child(s);
	return pid;
}

int spawn_command(struct init *in, const struct step *s, struct err *e)
{
	struct spawn spawn = {
		.plan = in->plan, .stdio_fd = in->stdio_fd,
		.slave_fd = in->pty.slave,
	};

	(void)s;
	in->command = start(&spawn);
	/* The compiler sees no returning path on which `spawn` is written. */
	__asm__ volatile("" : : "r"(&spawn) : "memory");
	if (in->command < 0)
		return err_sys(e, "make the command's process");
	if (spawn.err.kind == ERR_NONE)
		return 0;
	*e = spawn.err;
	if (spawn.set_up)
		in->status = e->code == ENOENT || e->code == ENOTDIR ?
				     LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE;
	return -1;
}
