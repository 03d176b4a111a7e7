/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Through pipes: see relay.h.
 *
 * The other side's description is shared with others, so it is not made
 * non-blocking: for a socket each call says MSG_DONTWAIT, a pipe is opened
 * again for a description of our own, and a file waits for nobody but the
 * disk.  Our pipe is ours.
 */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own.h"

enum { RELAY_MAX = 65536, DRAIN_MS = 1000 };

static ssize_t take(struct relay *r, char *at, size_t n)
{
	return r->outward ? read(r->from_fd, at, n) :
			    recv(r->from_fd, at, n, MSG_DONTWAIT);
}

/* As much as a pipe that is ready takes without waiting. */
static ssize_t give_shared(const struct relay *r)
{
	struct pollfd out = { .fd = r->to_fd, .events = POLLOUT };

	if (poll(&out, 1, 0) == 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(r->to_fd, r->buf.p, r->buf.n < PIPE_BUF ? r->buf.n :
							       PIPE_BUF);
}

static ssize_t give(struct relay *r)
{
	if (r->outward && r->is_socket)
		return send(r->to_fd, r->buf.p, r->buf.n,
			    MSG_DONTWAIT | MSG_NOSIGNAL);
	return r->may_block ? give_shared(r) :
			      write(r->to_fd, r->buf.p, r->buf.n);
}

static bool later(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void fill(struct relay *r)
{
	size_t room = RELAY_MAX - r->buf.n;
	char *at = room && !r->ended ? buf_reserve(&r->buf, room) : NULL;
	ssize_t n = at ? take(r, at, room) : 0;

	if (n > 0) {
		size_t may = output_take(r->count, (size_t)n);

		r->buf.n += may;
		r->ended |= may < (size_t)n;
	} else if (at && !later(n)) {
		r->ended = true;
	}
}

static void flush(struct relay *r)
{
	ssize_t n = r->buf.n ? give(r) : 0;

	if (n > 0)
		buf_consume(&r->buf, (size_t)n);
	else if (n < 0 && !later(n)) {
		r->ended = true;	/* nobody listens */
		buf_reset(&r->buf);
	}
}

static void finish(struct relay *r)
{
	loop_forget(r->loop, &r->from);
	loop_forget(r->loop, &r->to);
	/* The end of the socket is the end of the command's input; and who
	 * writes to nobody is told so. */
	close_fd(r->outward ? &r->from_fd : &r->to_fd);
}

static void step(struct relay *r)
{
	fill(r);
	flush(r);
	if (r->ended && r->buf.n == 0) {
		finish(r);
		return;
	}
	if (r->ended)
		loop_forget(r->loop, &r->from);
	loop_events(r->loop, &r->from,
		    r->buf.n < RELAY_MAX / 2 ? EPOLLIN : 0u);
	loop_events(r->loop, &r->to, r->buf.n ? EPOLLOUT : 0u);
}

static void on_from(struct watch *w, uint32_t events)
{
	(void)events;
	step(container_of(w, struct relay, from));
}

static void on_to(struct watch *w, uint32_t events)
{
	struct relay *r = container_of(w, struct relay, to);

	if (events & (EPOLLERR | EPOLLHUP)) {
		r->ended = true;
		buf_reset(&r->buf);
	}
	step(r);
}

/* A description of our own of an outer pipe, if it can be had. */
static int open_again(struct relay *r, int outer, const struct stat *st)
{
	char path[32];
	int again;

	if (!r->outward || !S_ISFIFO(st->st_mode))
		return -1;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", outer);
	again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	r->may_block = again < 0;
	return again;
}

/* Two watches of one descriptor are not possible, and stdin and stdout may be
 * one: so the outer one is always another descriptor of it. */
static int own_outer(struct relay *r, int *fd, struct err *e)
{
	int outer = *fd;
	struct stat st;

	*fd = -1;	/* that one is not ours to close */
	if (fstat(outer, &st) < 0)
		return err_sys(e, "set up a relay");
	r->is_socket = S_ISSOCK(st.st_mode);
	*fd = open_again(r, outer, &st);
	if (*fd < 0)
		*fd = fcntl(outer, F_DUPFD_CLOEXEC, 3);
	return *fd < 0 ? err_sys(e, "set up a relay") : 0;
}

static int set_up(struct relay *r, int pipe_fd, struct err *e)
{
	if (own_outer(r, r->outward ? &r->to_fd : &r->from_fd, e) < 0)
		return -1;
	if (fcntl(pipe_fd, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(e, "set up a relay");
	if (loop_watch(r->loop, &r->from, r->from_fd, EPOLLIN, e) < 0)
		return -1;
	/* A file is always ready, and cannot be watched. */
	if (loop_watch(r->loop, &r->to, r->to_fd, 0, e) < 0)
		return e->code == EPERM ? 0 : -1;
	return 0;
}

int relay_open(struct relay *r, struct loop *loop, int fd, int pipe_fd,
	       bool outward, struct err *e)
{
	*r = (struct relay){
		.loop = loop, .outward = outward,
		.from_fd = outward ? pipe_fd : fd,
		.to_fd = outward ? fd : pipe_fd,
		.from = { .fd = -1, .ready = on_from },
		.to = { .fd = -1, .ready = on_to },
		.buf = buf_new(RELAY_MAX),
	};
	return set_up(r, pipe_fd, e);
}

void relay_close(struct relay *r)
{
	uint64_t until;

	if (!r->loop)
		return;
	loop_forget(r->loop, &r->from);
	loop_forget(r->loop, &r->to);
	until = loop_now_ms() + DRAIN_MS;
	while (r->outward && !(r->ended && r->buf.n == 0) &&
	       r->from_fd >= 0 && loop_now_ms() < until) {
		struct pollfd out = { .fd = r->to_fd, .events = POLLOUT };

		fill(r);
		flush(r);
		if (r->buf.n)
			(void)poll(&out, 1, 50);
		else if (!r->ended)
			break;		/* held open elsewhere: enough */
	}
	close_fd(&r->from_fd);
	close_fd(&r->to_fd);
	buf_free(&r->buf);
	r->loop = NULL;
}
