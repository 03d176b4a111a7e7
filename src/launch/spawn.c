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
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "control.h"
#include "filter_creation.h"
#include "launch.h"
#include "notify.h"
#include "own.h"
#include "process.h"
#include "sentry.h"

enum { STDIO_PARK = 16 };

struct spawn {
	const struct init *init;
	const struct plan *plan;
	const int *stdio_fd;
	int slave_fd;
	int keeper_fd;		/* the listener goes there; -1: there is none */
	bool lowers;		/* its rlimits */
	unsigned joins;		/* processes that will be in its user namespace */
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

/* The last thing before exec: from here on names are made by pid 1, which does
 * nothing as long as it waits for us. */
static int ask_from_now_on(const struct spawn *s, struct err *e)
{
	struct control_note note = { .kind = CONTROL_NONE };
	auto_fd int fd = -1;

	if (s->keeper_fd < 0)
		return 0;
	fd = notify_listen(filter_creation(), e);
	if (fd < 0)
		return -1;
	return control_send_fds(s->keeper_fd, &note, &fd, 1, e);
}

static _Noreturn void child(struct spawn *s)
{
	if (child_set_up(s, &s->err) == 0 &&
	    ask_from_now_on(s, &s->err) == 0 &&
	    /* All descriptors that we need ourselves are open. */
	    (!s->lowers || limits_lower(&s->plan->limits, s->joins,
					  &s->err) == 0) &&
	    /* Last, for it may forbid what the others need. */
	    confinement_narrow(s->init, &s->err) == 0) {
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

/* Yama may forbid even an ancestor to read a path out of a process. */
static int check_yama(struct err *e)
{
	auto_fd int fd = open("/proc/sys/kernel/yama/ptrace_scope",
			      O_RDONLY | O_CLOEXEC);
	char level;

	if (fd < 0 || read(fd, &level, 1) != 1 || level < '2')
		return 0;
	return err_kind(e, ERR_SYS, "guarding names inside a write grant needs "
			"kernel.yama.ptrace_scope to be 0 or 1, and it is %c",
			level);
}

int spawn_keeper(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	if (check_yama(e) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
		       in->keeper_fd) < 0)
		return err_sys(e, "socketpair");
	if (keeper_new(in->plan, in->control_fd, &in->keeper, e) < 0)
		return -1;
	keeper_glance(in->keeper, hold_glance, in);
	return 0;
}

/* What the child has sent before it executed.  It needs no memory of ours, and
 * the end that is closed leaves its number to it. */
static int take_listener(struct init *in, struct err *e)
{
	static struct control_in heard;

	close_fd(&in->keeper_fd[1]);
	if (control_receive(in->keeper_fd[0], &heard, false, e) < 0)
		return -1;
	close_fd(&in->keeper_fd[0]);
	if (heard.fds_n != 1)
		return err_kind(e, ERR_BUG, "the listener is missing");
	keeper_listen(in->keeper, heard.fds[0]);
	return 0;
}

int spawn_command(struct init *in, const struct step *s, struct err *e)
{
	struct spawn spawn = {
		.init = in, .plan = in->plan, .stdio_fd = in->stdio_fd,
		.slave_fd = in->pty.slave, .keeper_fd = in->keeper_fd[1],
		.lowers = in->lowers,
		.joins = !in->plan->as_root && sentry_is_asked(in->plan),
	};

	(void)s;
	in->command = start(&spawn);
	/* The compiler sees no returning path on which `spawn` is written. */
	__asm__ volatile("" : : "r"(&spawn) : "memory");
	if (in->command < 0)
		return err_sys(e, "make the command's process");
	if (spawn.err.kind == ERR_NONE)
		return in->keeper_fd[0] < 0 ? 0 : take_listener(in, e);
	*e = spawn.err;
	if (spawn.set_up)
		in->status = e->code == ENOENT || e->code == ENOTDIR ?
				     LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE;
	return -1;
}
