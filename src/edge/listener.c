/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener: every TCP connection that leaves the sandbox.
 *
 * It is a transparent dual-stack socket in the sandbox's network namespace, so
 * getsockname() of what it accepts is where the agent wanted to go, IPv4 as
 * ::ffff:a.b.c.d.
 *
 * Above the maximum of connections, one that has been idle for a while makes
 * room: an agent's library may keep more of them than it will ever use.  While
 * each is at work, without descriptors, and while warden is behind, nothing is
 * accepted and the listener is not watched: the kernel's backlog waits, nobody
 * spins.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "own.h"
#include "relay_face.h"

enum { ACCEPT_BATCH = 16 };

/* *ret_idle: what has to end for the next one, if anything has to. */
static bool may_accept(const struct edge *g, struct conn **ret_idle)
{
	*ret_idle = NULL;
	if (channel_is_full(&g->warden))
		return false;
	if (g->n_calls < g->max_calls)
		return true;
	*ret_idle = conn_most_idle(g);
	return *ret_idle;
}

static void listener_update(struct edge *g, bool accepts)
{
	g->accepts = accepts;
	loop_events(g->loop, &g->listener, accepts ? EPOLLIN : 0);
	edge_need_tick(g);
}

void listener_resume(struct edge *g)
{
	struct conn *idle;

	if (!g->accepts && may_accept(g, &idle))
		listener_update(g, true);
}

/* ::ffff:a.b.c.d becomes a plain IPv4 address. */
static void dest_of(const struct sockaddr_in6 *sa, struct dest *ret)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *a = sa->sin6_addr.s6_addr;

	*ret = (struct dest){ .port = ntohs(sa->sin6_port) };
	if (memcmp(a, mapped, sizeof mapped) == 0) {
		ret->number = names_of_v4(a + 12);
		(void)inet_ntop(AF_INET, a + 12, ret->text, sizeof ret->text);
	} else {
		ret->number = names_of_v6(a);
		(void)inet_ntop(AF_INET6, a, ret->text, sizeof ret->text);
	}
}

/* A port of the loopback that leads out has a name. */
static void name_local(const struct edge *g, struct dest *d)
{
	if (relay_is_local_port(d->port) &&
	    (strcmp(d->text, "127.0.0.1") == 0 || strcmp(d->text, "::1") == 0))
		d->number = names_number(g->names, SV("localhost"));
}

static int where_to(int fd, struct dest *ret)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t n = sizeof sa;

	if (getsockname(fd, (struct sockaddr *)&sa, &n) < 0)
		return -1;
	if (sa.ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)&sa;
		const uint8_t *a = (const void *)&in->sin_addr;

		*ret = (struct dest){ .port = ntohs(in->sin_port),
				      .number = names_of_v4(a) };
		(void)inet_ntop(AF_INET, a, ret->text, sizeof ret->text);
		return 0;
	}
	if (sa.ss_family != AF_INET6)
		return -1;
	dest_of((const void *)&sa, ret);
	return 0;
}

/* There are fewer descriptors, or less memory, than was believed.  One that is
 * idle makes room; else one that ends does, and the tick tries again. */
static bool is_exhausted(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS ||
	       error == ENOMEM;
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct edge *g = container_of(w, struct edge, listener);
	int one = 1;

	(void)events;
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		auto_fd int fd = -1;
		struct dest dest = { 0 };
		struct conn *idle;

		if (!may_accept(g, &idle)) {
			listener_update(g, false);
			return;
		}
		fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			if (!is_exhausted(errno))
				return;
			if (!idle)
				idle = conn_most_idle(g);
			if (idle) {
				conn_retire(idle);
				continue;
			}
			listener_update(g, false);
			return;
		}
		if (idle)
			conn_retire(idle);
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof one);
		if (where_to(fd, &dest) < 0)
			continue;
		name_local(g, &dest);
		conn_start(g, &fd, &dest);
	}
}

int listener_start(struct edge *g, int fd, struct err *e)
{
	/* A connection that is gone before it is accepted must not block us. */
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return err_sys(e, "make the listener non-blocking");
	g->listener.ready = on_ready;
	g->accepts = true;
	return loop_watch(g->loop, &g->listener, fd, EPOLLIN, e);
}
