/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's terminal: see terminal.h.
 *
 * The terminal is opened again for a file description of its own: O_NONBLOCK
 * on the one that was inherited would reach the shell and everything else that
 * shares it.  Nothing here blocks, as a terminal that is held by Ctrl-S must
 * not hold the decisions that this process makes.
 */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own.h"

enum { RELAY_MAX = 65536, FILTER_MAX = 16384, DRAIN_MS = 1000 };

static bool in_foreground(const struct terminal *t)
{
	return tcgetpgrp(t->user_fd) == getpgrp();
}

/* Reads only what there is room for, so that the other side feels the wait. */
static void update_watches(struct terminal *t)
{
	loop_events(t->loop, &t->user,
		    (in_foreground(t) && t->to_pty.n < RELAY_MAX / 2 ?
			     EPOLLIN : 0u) |
			    (t->to_user.n ? EPOLLOUT : 0u));
	loop_events(t->loop, &t->pty,
		    (t->to_user.n < RELAY_MAX / 2 ? EPOLLIN : 0u) |
			    (t->to_pty.n ? EPOLLOUT : 0u));
}

/* False when nothing more will come. */
static bool fill(int fd, struct buf *b)
{
	char *at = b->n < b->max ? buf_reserve(b, b->max - b->n) : NULL;
	ssize_t n = at ? read(fd, at, b->max - b->n) : 0;

	if (!at)
		return true;	/* no room now */
	if (n > 0)
		b->n += (size_t)n;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool fill_filtered(struct terminal *t, size_t *taken)
{
	bool more;

	*taken = 0;
	/* What was held before comes out with it: there is room for both. */
	if (RELAY_MAX - t->to_user.n < FILTER_MAX + ESCAPE_HELD)
		return true;
	buf_reset(&t->unfiltered);
	more = fill(t->pty_fd, &t->unfiltered);
	*taken = output_take(t->count, t->unfiltered.n);
	escape_filter(&t->filter, sv_head(buf_sv(&t->unfiltered), *taken),
		      &t->to_user);
	return more;
}

/* What the command has put out: no more of it than it may. */
static bool fill_from_pty(struct terminal *t, size_t *taken)
{
	size_t before = t->to_user.n;
	bool more;

	if (t->filtered)
		return fill_filtered(t, taken);
	more = fill(t->pty_fd, &t->to_user);
	*taken = output_take(t->count, t->to_user.n - before);
	t->to_user.n = before + *taken;
	return more;
}

static void flush(int fd, struct buf *b)
{
	ssize_t n = b->n ? write(fd, b->p, b->n) : 0;

	if (n > 0)
		buf_consume(b, (size_t)n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		buf_reset(b);	/* nobody there any more */
}

static void on_user(struct watch *w, uint32_t events)
{
	struct terminal *t = container_of(w, struct terminal, user);

	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) &&
	    !fill(t->user_fd, &t->to_pty)) {
		loop_forget(t->loop, &t->user);
		return;
	}
	flush(t->user_fd, &t->to_user);
	flush(t->pty_fd, &t->to_pty);
	update_watches(t);
}

static void on_pty(struct watch *w, uint32_t events)
{
	struct terminal *t = container_of(w, struct terminal, pty);
	size_t taken;

	/* EIO: nothing inside has the terminal open, now or ever again. */
	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) &&
	    !fill_from_pty(t, &taken))
		loop_forget(t->loop, &t->pty);
	flush(t->user_fd, &t->to_user);
	flush(t->pty_fd, &t->to_pty);
	update_watches(t);
}

static int become_raw(struct terminal *t, struct err *e)
{
	if (t->is_raw || !t->may_be_raw || !in_foreground(t))
		return 0;
	if (!t->reaper.running &&
	    reaper_start(&t->reaper, t->user_fd, &t->mode, e) < 0)
		return -1;
	if (pty_raw(t->user_fd, &t->mode, e) < 0)
		return -1;
	t->is_raw = true;
	return 0;
}

static void restore(struct terminal *t)
{
	if (t->is_raw)
		pty_restore(t->user_fd, &t->mode);
	t->is_raw = false;
}

/* The inner terminal starts as the user's is: keys, UTF-8, size.  Where the
 * user's stays cooked, it already echoes. */
static int copy_mode(struct terminal *t, struct err *e)
{
	struct termios inner;

	if (tcgetattr(t->user_fd, &t->mode.termios) < 0)
		return err_sys(e, "read the terminal's mode");
	t->mode.saved = true;
	inner = t->mode.termios;
	if (!t->may_be_raw)
		inner.c_lflag &= ~(tcflag_t)ECHO;
	if (tcsetattr(t->pty_fd, TCSANOW, &inner) < 0)
		return err_sys(e, "set the inner terminal's mode");
	return pty_copy_size(t->user_fd, t->pty_fd, e);
}

/*
 * By /dev/tty where it is our controlling terminal, which works also when its
 * owner is another user (after su).  A terminal that cannot be opened again is
 * shared: writes to it may then block.
 */
static int open_again(int fd, struct err *e)
{
	const int flags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	char path[32] = "/dev/tty";
	int again = -1;

	if (tcgetsid(fd) == getsid(0))
		again = open(path, flags);
	if (again < 0) {
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		again = open(path, flags);
	}
	if (again < 0 && (errno == EACCES || errno == ENOENT))
		again = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (again < 0)
		return err_sys(e, "open the terminal");
	return again;
}

static int set_up(struct terminal *t, const int stdio[3], struct err *e)
{
	struct stat out;
	int fd = -1;

	for (int i = 0; i < 3 && fd < 0; i++)
		if (isatty(stdio[i]))
			fd = stdio[i];
	if (fd < 0)
		return err_kind(e, ERR_BUG, "no terminal to relay");
	t->may_be_raw = fstat(stdio[1], &out) == 0 && !S_ISFIFO(out.st_mode);
	t->user_fd = open_again(fd, e);
	if (t->user_fd < 0)
		return -1;
	if (fcntl(t->pty_fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return err_sys(e, "set up the inner terminal");
	if (copy_mode(t, e) < 0)
		return -1;
	t->user.ready = on_user;
	t->pty.ready = on_pty;
	if (loop_watch(t->loop, &t->pty, t->pty_fd, EPOLLIN, e) < 0 ||
	    loop_watch(t->loop, &t->user, t->user_fd, 0, e) < 0)
		return -1;
	if (become_raw(t, e) < 0)
		return -1;
	update_watches(t);
	return 0;
}

int terminal_open(struct terminal *t, struct loop *loop, const int stdio[3],
		  int pty_fd, struct err *e)
{
	*t = (struct terminal){
		.loop = loop, .user_fd = -1, .pty_fd = pty_fd,
		.user = { .fd = -1 }, .pty = { .fd = -1 },
		.to_user = buf_new(RELAY_MAX), .to_pty = buf_new(RELAY_MAX),
		.unfiltered = buf_new(FILTER_MAX),
	};
	if (set_up(t, stdio, e) == 0)
		return 0;
	terminal_close(t);
	return -1;
}

void terminal_signal(struct terminal *t, int signal)
{
	struct err ignored;

	if (!t->loop || t->user_fd < 0)
		return;
	/* The window may have changed while we were stopped, too. */
	(void)!pty_copy_size(t->user_fd, t->pty_fd, &ignored);
	if (signal == SIGCONT) {
		t->is_raw = false;	/* the shell has set its own mode */
		(void)!become_raw(t, &ignored);
	}
	update_watches(t);
}

/*
 * SIGTSTP to our whole job, as the terminal would have sent it.  Where nobody
 * could continue us (an orphaned process group) the kernel discards it, and
 * the command goes on.
 */
void terminal_suspend(struct terminal *t)
{
	struct sigaction plain = { .sa_handler = SIG_DFL }, old;
	sigset_t stop, mask;

	restore(t);
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTSTP);
	(void)sigaction(SIGTSTP, &plain, &old);
	(void)sigprocmask(SIG_UNBLOCK, &stop, &mask);
	(void)kill(0, SIGTSTP);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	(void)sigaction(SIGTSTP, &old, NULL);
	terminal_signal(t, SIGCONT);
}

/* What is still in the inner terminal, for a moment at most. */
static void drain(struct terminal *t)
{
	uint64_t until = loop_now_ms() + DRAIN_MS;

	while (loop_now_ms() < until) {
		struct pollfd out = { .fd = t->user_fd, .events = POLLOUT };
		size_t taken = 0;
		bool more = fill_from_pty(t, &taken) && taken;

		flush(t->user_fd, &t->to_user);
		if (t->to_user.n)
			(void)poll(&out, 1, 50);
		else if (!more)
			return;
	}
}

void terminal_close(struct terminal *t)
{
	if (!t->loop)
		return;
	loop_forget(t->loop, &t->user);
	loop_forget(t->loop, &t->pty);
	if (t->user_fd >= 0 && t->pty_fd >= 0)
		drain(t);
	restore(t);
	reaper_dismiss(&t->reaper);
	close_fd(&t->user_fd);
	close_fd(&t->pty_fd);
	buf_free(&t->to_user);
	buf_free(&t->to_pty);
	buf_free(&t->unfiltered);
	t->loop = NULL;
}
