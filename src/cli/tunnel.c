/* SPDX-License-Identifier: Apache-2.0 */
/* Two sockets joined: see tunnel.h. */
#include "tunnel.h"

#include <errno.h>
#include <sys/socket.h>

#include "own.h"

static bool later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static struct tunnel_side *other(struct tunnel_side *s)
{
	struct tunnel *t = s->tunnel;

	return &t->side[s == &t->side[0]];
}

/* False: the connection has failed. */
static bool pull(struct tunnel_side *s)
{
	ssize_t n;

	if (s->ended || s->n)
		return true;
	n = recv(s->fd, s->data, sizeof s->data, MSG_DONTWAIT);
	if (n < 0)
		return later();
	s->ended = n == 0;
	s->at = 0;
	s->n = (size_t)n;
	return true;
}

static bool push(struct tunnel_side *s)
{
	int to_fd = other(s)->fd;

	while (s->n) {
		ssize_t n = send(to_fd, s->data + s->at, s->n,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return later();
		s->at += (size_t)n;
		s->n -= (size_t)n;
	}
	if (s->ended && !s->passed) {
		s->passed = true;
		return shutdown(to_fd, SHUT_WR) == 0 || errno == ENOTCONN;
	}
	return true;
}

static void ready(struct watch *w, uint32_t events);

/* What nobody waits for is not watched: a socket that both sides have ended
 * would be reported for ever. */
static bool await(struct tunnel_side *s)
{
	uint32_t events = (!s->ended && !s->n ? EPOLLIN : 0u) |
			  (other(s)->n ? EPOLLOUT : 0u);
	struct err ignored;

	if (events == 0)
		loop_forget(s->tunnel->loop, &s->watch);
	else if (s->watch.fd >= 0)
		loop_events(s->tunnel->loop, &s->watch, events);
	else
		return loop_watch(s->tunnel->loop, &s->watch, s->fd, events,
				  &ignored) == 0;
	return true;
}

static void ready(struct watch *w, uint32_t events)
{
	struct tunnel *t = container_of(w, struct tunnel_side, watch)->tunnel;
	struct tunnel_side *a = &t->side[0], *b = &t->side[1];

	(void)events;
	if (!pull(a) || !push(a) || !pull(b) || !push(b) || !await(a) ||
	    !await(b)) {
		tunnel_reset(a->fd);
		tunnel_reset(b->fd);
		t->over(t);
	} else if (a->passed && b->passed) {
		t->over(t);
	}
}

int tunnel_open(struct tunnel *t, struct loop *loop, int a_fd, int b_fd,
		struct err *e)
{
	t->loop = loop;
	for (int i = 0; i < 2; i++) {
		struct tunnel_side *s = &t->side[i];

		s->tunnel = t;
		s->fd = i ? b_fd : a_fd;
		s->watch = (struct watch){ .fd = -1, .ready = ready };
		s->ended = s->passed = false;
		s->at = s->n = 0;
	}
	for (int i = 0; i < 2; i++)
		if (loop_watch(loop, &t->side[i].watch, t->side[i].fd, EPOLLIN,
			       e) < 0)
			return -1;
	return 0;
}

void tunnel_close(struct tunnel *t)
{
	for (int i = 0; i < 2; i++) {
		if (!t->side[i].tunnel)
			continue;
		loop_forget(t->loop, &t->side[i].watch);
		close_fd(&t->side[i].fd);
	}
}

void tunnel_reset(int fd)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}
