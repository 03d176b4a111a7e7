/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While the command runs: see supervise.h.
 *
 * Signals that ask for an end go to the command, which may end in its own way.
 * It has a moment for that after SIGTERM, SIGHUP and the time limit; then, or
 * with the third such signal, pid 1 of the sandbox is killed.
 */
#include "supervise.h"

#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "complaint.h"
#include "own.h"
#include "record.h"

enum { LIMIT_GRACE_MS = 2000, GRACE_MS = 5000, INTERRUPTS_MAX = 3 };

static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,
			     SIGUSR2, SIGWINCH, SIGCONT };

int supervise_signals(struct supervision *s, struct err *e)
{
	sigset_t set;

	*s = (struct supervision){ .signal_fd = -1, .status = -1 };
	(void)sigemptyset(&set);
	for (size_t i = 0; i < countof(taken); i++)
		(void)sigaddset(&set, taken[i]);
	/* A reader that went away must not kill us with the run half ended. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(e, "block signals");
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0)
		return err_sys(e, "signalfd");
	return 0;
}

void supervise_fini(struct supervision *s)
{
	close_fd(&s->signal_fd);
}

static void finish(struct supervision *s, int status)
{
	if (s->status < 0)
		s->status = status;
	loop_stop(s->loop);
}

static void kill_sandbox(struct supervision *s)
{
	s->killed = true;
	finish(s, 128 + SIGKILL);
}

static bool asks_for_an_end(int number)
{
	return number != SIGUSR1 && number != SIGUSR2;
}

/* False when the sandbox is gone, or is to go. */
static bool take_signal(struct supervision *s, int number)
{
	struct err e = { 0 };

	if (number == SIGWINCH || number == SIGCONT) {
		if (s->terminal)
			terminal_signal(s->terminal, number);
		return true;
	}
	if (asks_for_an_end(number) && ++s->interrupts == INTERRUPTS_MAX) {
		kill_sandbox(s);
		return false;
	}
	/* Ctrl-C is often meant for a part of the command: no clock for it. */
	if (number == SIGTERM || number == SIGHUP)
		loop_arm(s->loop, &s->grace, GRACE_MS);
	/* Fails only when it is over anyway. */
	return sandbox_signal(s->sandbox, number, &e) == 0;
}

static void signals_ready(struct watch *w, uint32_t events)
{
	struct supervision *s = container_of(w, struct supervision, signals);
	struct signalfd_siginfo info;

	(void)events;
	while (read(s->signal_fd, &info, sizeof info) == sizeof info)
		if (!take_signal(s, (int)info.ssi_signo))
			return;
}

static int exit_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

/*
 * Ctrl-Z inside: our own job stops, and what continues it continues both.
 * Without a terminal nobody could, and a command that stops itself must not
 * stop the time limit: it stays stopped, alone.
 */
static void command_stopped(struct supervision *s)
{
	struct err e = { 0 };

	if (!s->terminal)
		return;
	terminal_suspend(s->terminal);
	if (sandbox_signal(s->sandbox, SIGCONT, &e) < 0)
		kill_sandbox(s);
}

/* On record if it can be; the run ends in either case. */
static void sandbox_broken(struct supervision *s, const struct err *why)
{
	struct err e = { 0 };

	if (record_fault(s->warden, "init", sv_str(why->msg), &e) < 0)
		complain("", e.msg, true);
	complain("this run has ended: ", why->msg, true);
	kill_sandbox(s);
}

/* It was refused already; what cannot be recorded ends the run. */
static void name_refused(struct supervision *s, const struct sandbox_event *ev)
{
	struct err e;

	s->warden->denied++;
	if (record_guard(s->warden, ev->path, ev->rule, &e) == 0)
		return;
	complain("this run has ended: ", e.msg, true);
	kill_sandbox(s);
}

/* What cannot be recorded ends the run. */
static void name_made(struct supervision *s, const struct sandbox_event *ev)
{
	bool is_end = ev->kind == SANDBOX_LEFT;
	struct err e;

	leavings_take(s->leavings, is_end ? ev->paths : ev->path,
		      is_end ? ev->value : -1);
	if ((is_end ? record_left(s->warden, ev->value, ev->paths, &e) :
		      record_made(s->warden, ev->path, &e)) == 0)
		return;
	complain("this run has ended: ", e.msg, true);
	kill_sandbox(s);
}

static void control_ready(struct watch *w, uint32_t events)
{
	struct supervision *s = container_of(w, struct supervision, control);

	(void)events;
	for (;;) {
		struct sandbox_event ev = sandbox_next(s->sandbox);

		switch (ev.kind) {
		case SANDBOX_NOTHING:
			return;
		case SANDBOX_EXITED:
			s->interrupted = s->terminal &&
					 WIFSIGNALED(ev.value) &&
					 WTERMSIG(ev.value) == SIGINT;
			finish(s, exit_status(ev.value));
			return;
		case SANDBOX_SOCKET:
			publish_take(s->publish, ev.socket_fd);
			break;
		case SANDBOX_SPACES:
			run_sentry_start(s->sentry, ev.space_fd);
			break;
		case SANDBOX_BROKEN:
			sandbox_broken(s, &ev.why);
			return;
		case SANDBOX_LOST:
			finish(s, 128 + SIGKILL);
			return;
		case SANDBOX_STOPPED:
			command_stopped(s);
			break;
		case SANDBOX_REFUSED:
			name_refused(s, &ev);
			break;
		case SANDBOX_MADE:
		case SANDBOX_LEFT:
			name_made(s, &ev);
			break;
		}
	}
}

static void limit_reached(struct timer *t)
{
	struct supervision *s = container_of(t, struct supervision, limit);
	struct err e = { 0 };

	if (s->timed_out) {
		kill_sandbox(s);
		return;
	}
	s->timed_out = true;
	loop_arm(s->loop, t, LIMIT_GRACE_MS);
	if (sandbox_signal(s->sandbox, SIGTERM, &e) < 0)
		kill_sandbox(s);
}

static void grace_over(struct timer *t)
{
	kill_sandbox(container_of(t, struct supervision, grace));
}

static void bound_reached(void *ctx)
{
	kill_sandbox(ctx);
}

static void network_failed(struct warden *w)
{
	complain("the network of this run has ended: ", w->fault.msg, true);
}

int supervise(struct supervision *s, uint64_t limit_ms, struct err *e)
{
	s->signals.ready = signals_ready;
	s->control.ready = control_ready;
	s->limit.fired = limit_reached;
	s->grace.fired = grace_over;
	s->warden->failed = network_failed;
	s->bounds->over = bound_reached;
	s->bounds->ctx = s;
	s->sentry->over = bound_reached;
	s->sentry->ctx = s;
	if (s->warden->fault.kind)
		network_failed(s->warden);
	if (loop_watch(s->loop, &s->signals, s->signal_fd, EPOLLIN, e) < 0 ||
	    loop_watch(s->loop, &s->control, s->sandbox->control_fd, EPOLLIN,
		       e) < 0 ||
	    publish_serve(s->publish, e) < 0)
		return -1;
	if (limit_ms)
		loop_arm(s->loop, &s->limit, limit_ms);
	run_sentry_begin(s->sentry);
	run_control_begin(s->asked);
	if (loop_run(s->loop, e) < 0)
		return -1;
	loop_disarm(s->loop, &s->limit);
	loop_disarm(s->loop, &s->grace);
	run_sentry_end(s->sentry);
	run_control_close(s->asked);
	loop_forget(s->loop, &s->control);
	loop_forget(s->loop, &s->signals);
	return s->timed_out ? STATUS_TIME_LIMIT : s->status;
}
