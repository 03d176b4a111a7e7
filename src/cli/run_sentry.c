/* SPDX-License-Identifier: Apache-2.0 */
/* The sentry of a run: see run_sentry.h. */
#include "run_sentry.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "complaint.h"
#include "own.h"
#include "process.h"
#include "record.h"
#include "sentry.h"

enum { DELAY_MS = 50, LOOK_MS = 5000, END_MS = 500 };

static void fail(struct run_sentry *s, const char *why)
{
	struct err e;

	if (record_fault(s->warden, "sentry", sv_str(why), &e) < 0)
		complain("", e.msg, true);
	complain("this run has ended: what appears on the host can no longer be "
		 "hidden: ", why, true);
	run_sentry_end(s);
	s->over(s->ctx);
}

static void ask(struct timer *t)
{
	struct run_sentry *s = container_of(t, struct run_sentry, timer);
	struct err ignored;

	/* Fails only when it is over anyway. */
		(void)!sandbox_enter(s->sandbox, &ignored);
}

void run_sentry_begin(struct run_sentry *s)
{
	s->timer.fired = ask;
	if (sentry_is_asked(s->plan))
		loop_arm(s->loop, &s->timer, DELAY_MS);
}

/* 0: there are more, perhaps. */
static int take(struct run_sentry *s, const struct sentry_event *ev)
{
	struct err e;

	switch (ev->kind) {
	case SENTRY_NOTHING:
		return 1;
	case SENTRY_COVERED:
	case SENTRY_GUARDED:
		if (record_appeared(s->warden, ev->path, ev->rule,
				    ev->kind == SENTRY_GUARDED, &e) == 0) {
			s->appeared++;
			return 0;
		}
		fail(s, e.msg);
		return 1;
	case SENTRY_UNWATCHED:
		if (record_fault(s->warden, "sentry", sv_str(ev->why.msg),
				 &e) < 0) {
			fail(s, e.msg);
			return 1;
		}
		s->unwatched = ev->why;
		return 0;
	case SENTRY_FAILED:
		fail(s, ev->why.msg);
		return 1;
	case SENTRY_LOST:
		fail(s, "the process that does it (stockade-sentry) has ended");
		return 1;
	}
	return 1;
}

static void take_all(struct run_sentry *s)
{
	struct sentry_event ev;

	do {
		ev = sentry_next(s->note_fd);
	} while (take(s, &ev) == 0);
}

static void notes_ready(struct watch *w, uint32_t events)
{
	(void)events;
	take_all(container_of(w, struct run_sentry, notes));
}

/* It may be in the kernel, past every signal. */
static void look(struct timer *t)
{
	struct run_sentry *s = container_of(t, struct run_sentry, timer);

	if (sentry_hangs(s->plan, &s->since_ms))
		fail(s, "a file system in a granted tree does not answer");
	else
		loop_arm(s->loop, t, LOOK_MS);
}

static int start(struct run_sentry *s, const int space_fd[SANDBOX_SPACES_N],
		 struct err *e)
{
	struct sentry_post post = { .plan = s->plan, .parent = getpid() };
	int pair[2];
	pid_t pid;

	memcpy(post.space_fd, space_fd, sizeof post.space_fd);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "socketpair");
	s->note_fd = pair[0];
	post.note_fd = pair[1];
	pid = process_clone(0, &s->pidfd, e);
	if (pid == 0)
		sentry_run(&post);
	(void)close(pair[1]);
	if (pid < 0)
		return -1;
	s->notes.ready = notes_ready;
	s->timer.fired = look;
	loop_arm(s->loop, &s->timer, LOOK_MS);
	return loop_watch(s->loop, &s->notes, s->note_fd, EPOLLIN, e);
}

void run_sentry_start(struct run_sentry *s, int space_fd[SANDBOX_SPACES_N])
{
	struct err e;
	const int rc = s->note_fd < 0 ? start(s, space_fd, &e) : 0;

	for (int i = 0; i < SANDBOX_SPACES_N; i++)
		close_fd(&space_fd[i]);
	if (rc < 0)
		fail(s, e.msg);
}

void run_sentry_end(struct run_sentry *s)
{
	if (!s->loop)
		return;
	loop_disarm(s->loop, &s->timer);
	loop_forget(s->loop, &s->notes);
}

void run_sentry_tell(const struct run_sentry *s, const char *run)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (s->unwatched.kind)
		complain("what appeared on the host was not guarded everywhere: ",
			 s->unwatched.msg, false);
	if (s->appeared)
		(void)fprintf(stderr, "stockade: %u of the host's files that "
			      "appeared were hidden or made read-only inside: "
			      "`stockade log %s` has all\n", s->appeared, run);
}

void run_sentry_close(struct run_sentry *s)
{
	struct process_end end;
	struct err ignored;

	if (s->pidfd >= 0) {
		struct pollfd fd = { .fd = s->pidfd, .events = POLLIN };

		(void)process_signal(s->pidfd, SIGKILL, &ignored);
		/* Where a file system does not answer it ends later, by itself. */
		if (poll(&fd, 1, END_MS) > 0)
			(void)!process_wait(s->pidfd, &end, &ignored);
	}
	close_fd(&s->pidfd);
	close_fd(&s->note_fd);
}
