/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets through pipes: see relay.h.
 *
 * The socket's description is shared with others, so it is not made
 * non-blocking: each call says MSG_DONTWAIT.  The pipe is ours.
 */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "own.h"

enum { RELAY_MAX = 65536, DRAIN_MS = 1000 };

static ssize_t take(struct relay *r, char *at, size_t n)
{
	return r->to_socket ? read(r->from_fd, at, n) :
			      recv(r->from_fd, at, n, MSG_DONTWAIT);
}

static ssize_t give(struct relay *r)
{
	return r->to_socket ? send(r->to_fd, r->buf.p, r->buf.n,
				   MSG_DONTWAIT | MSG_NOSIGNAL) :
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

	if (n > 0)
		r->buf.n += (size_t)n;
	else if (at && !later(n))
		r->ended = true;
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
	/* The end of the socket is the end of the command's input. */
	close_fd(r->to_socket ? &r->from_fd : &r->to_fd);
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

static int set_up(struct relay *r, int pipe_fd, struct err *e)
{
	if (fcntl(pipe_fd, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(e, "set up a relay");
	/* Two watches of one descriptor are not possible: a socket that is
	 * stdin and stdout at once gets a second one. */
	if (r->to_socket)
		r->to_fd = fcntl(r->to_fd, F_DUPFD_CLOEXEC, 3);
	else
		r->from_fd = fcntl(r->from_fd, F_DUPFD_CLOEXEC, 3);
	if (r->to_fd < 0 || r->from_fd < 0)
		return err_sys(e, "set up a relay");
	if (loop_watch(r->loop, &r->from, r->from_fd, EPOLLIN, e) < 0)
		return -1;
	return loop_watch(r->loop, &r->to, r->to_fd, 0, e);
}

int relay_open(struct relay *r, struct loop *loop, int socket_fd, int pipe_fd,
	       bool to_socket, struct err *e)
{
	*r = (struct relay){
		.loop = loop, .to_socket = to_socket,
		.from_fd = to_socket ? pipe_fd : socket_fd,
		.to_fd = to_socket ? socket_fd : pipe_fd,
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
	while (r->to_socket && !(r->ended && r->buf.n == 0) &&
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
