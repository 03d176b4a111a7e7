/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published ports: see publish.h.
 *
 * A visit is one connection: accepted, on record, waiting for pid 1's socket,
 * dialling, and then a tunnel.  A server may listen at ::1 alone, as some do
 * that were told "localhost", so that is tried when 127.0.0.1 refuses.
 *
 * Only a few calls to pid 1 are under way at a time, so that neither side ever
 * waits for the other to read; the others wait in the listener's queue.
 */
#include "publish.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "own.h"
#include "record.h"
#include "tunnel.h"

enum { VISITS_MAX = 128, CALLS_MAX = 8, BACKLOG = 128, PAUSE_MS = 200 };

struct visit {
	struct publish *publish;
	struct visit *next, *next_call;
	struct tunnel tunnel;
	int host_fd, inner_fd;	/* owned, until the tunnel has them */
	struct watch dialling;
	int family;		/* of the inner one */
	uint16_t port;
};

struct listener {
	struct publish *publish;
	struct watch watch;
	int fd;			/* owned */
	uint16_t port;
};

struct publish {
	struct loop *loop;
	struct sandbox *sandbox;
	struct warden *warden;
	struct listener *listeners;	/* owned; two for each port */
	size_t listeners_n;
	struct visit *visits, *calls, **calls_end;
	unsigned visits_n, calls_n;
	struct timer pause;		/* while there are no descriptors */
};

/* 127.0.0.1 or ::1. */
static socklen_t loopback(int family, uint16_t port,
			  struct sockaddr_storage *ret)
{
	struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};

	if (family == AF_INET)
		memcpy(ret, &v4, sizeof v4);
	else
		memcpy(ret, &v6, sizeof v6);
	return family == AF_INET ? sizeof v4 : sizeof v6;
}

static void admit(struct publish *p)
{
	bool room = p->visits_n < VISITS_MAX && p->calls_n < CALLS_MAX &&
		    p->pause.due_ms == 0;

	for (size_t i = 0; i < p->listeners_n; i++)
		loop_events(p->loop, &p->listeners[i].watch,
			    room ? EPOLLIN : 0u);
}

static void end_visit(struct visit *v)
{
	struct publish *p = v->publish;
	struct visit **at = &p->visits;

	while (*at != v)
		at = &(*at)->next;
	*at = v->next;
	p->visits_n--;
	loop_forget(p->loop, &v->dialling);
	tunnel_close(&v->tunnel);
	close_fd(&v->host_fd);
	close_fd(&v->inner_fd);
	free(v);
	admit(p);
}

/* The caller is to see a refusal, not an empty answer. */
static void refuse(struct visit *v)
{
	tunnel_reset(v->host_fd);
	end_visit(v);
}

static void tunnel_over(struct tunnel *t)
{
	end_visit(container_of(t, struct visit, tunnel));
}

static void call(struct visit *v, int family)
{
	struct publish *p = v->publish;
	struct err ignored;

	v->family = family;
	if (sandbox_call(p->sandbox, family, &ignored) < 0) {
		refuse(v);
		return;
	}
	v->next_call = NULL;
	*p->calls_end = v;
	p->calls_end = &v->next_call;
	p->calls_n++;
	admit(p);
}

static void join(struct visit *v)
{
	int host_fd = steal_fd(&v->host_fd);
	int inner_fd = steal_fd(&v->inner_fd);
	const int on = 1;
	struct err ignored;

	(void)setsockopt(host_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(inner_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (tunnel_open(&v->tunnel, v->publish->loop, host_fd, inner_fd,
			&ignored) < 0)
		end_visit(v);
}

/* Nobody listens there. */
static void dial_failed(struct visit *v)
{
	loop_forget(v->publish->loop, &v->dialling);
	close_fd(&v->inner_fd);
	if (v->family == AF_INET)
		call(v, AF_INET6);
	else
		refuse(v);
}

static void dialled(struct watch *w, uint32_t events)
{
	struct visit *v = container_of(w, struct visit, dialling);
	socklen_t n = sizeof(int);
	int code = 0;

	(void)events;
	loop_forget(v->publish->loop, w);
	if (getsockopt(v->inner_fd, SOL_SOCKET, SO_ERROR, &code, &n) < 0 ||
	    code)
		dial_failed(v);
	else
		join(v);
}

static void dial(struct visit *v)
{
	struct sockaddr_storage to;
	socklen_t n = loopback(v->family, v->port, &to);
	struct err ignored;

	if (connect(v->inner_fd, (const struct sockaddr *)&to, n) == 0)
		join(v);
	else if (errno != EINPROGRESS ||
		 loop_watch(v->publish->loop, &v->dialling, v->inner_fd,
			    EPOLLOUT, &ignored) < 0)
		dial_failed(v);
}

void publish_take(struct publish *p, int socket_fd)
{
	struct visit *v = p ? p->calls : NULL;

	if (!v) {
		close_fd(&socket_fd);
		return;
	}
	p->calls = v->next_call;
	if (!p->calls)
		p->calls_end = &p->calls;
	p->calls_n--;
	v->inner_fd = socket_fd;
	if (socket_fd < 0)
		dial_failed(v);
	else
		dial(v);
	admit(p);
}

static void put_address(const struct sockaddr_storage *at, struct buf *b)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	char text[INET6_ADDRSTRLEN];

	memcpy(&v4, at, sizeof v4);
	memcpy(&v6, at, sizeof v6);
	if (at->ss_family == AF_INET)
		buf_printf(b, "%s:%u", inet_ntop(AF_INET, &v4.sin_addr, text,
						 sizeof text),
			   ntohs(v4.sin_port));
	else
		buf_printf(b, "[%s]:%u", inet_ntop(AF_INET6, &v6.sin6_addr,
						   text, sizeof text),
			   ntohs(v6.sin6_port));
}

/* What cannot be recorded is not done. */
static int record_visit(struct publish *p, uint16_t port,
			const struct sockaddr_storage *from, struct err *e)
{
	auto_buf struct buf address = buf_new(128);

	put_address(from, &address);
	return record_published(p->warden, port, buf_sv(&address), e);
}

static void on_caller(struct watch *w, uint32_t events)
{
	struct listener *l = container_of(w, struct listener, watch);
	struct publish *p = l->publish;
	struct sockaddr_storage from = { 0 };
	socklen_t n = sizeof from;
	auto_fd int fd = accept4(l->fd, (struct sockaddr *)&from, &n,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct visit *v;
	struct err ignored;

	(void)events;
	if (fd < 0 && (errno == EMFILE || errno == ENFILE ||
		       errno == ENOBUFS || errno == ENOMEM)) {
		loop_arm(p->loop, &p->pause, PAUSE_MS);
		admit(p);
	}
	if (fd < 0)
		return;
	v = calloc(1, sizeof *v);
	if (!v || record_visit(p, l->port, &from, &ignored) < 0) {
		tunnel_reset(fd);
		free(v);
		return;
	}
	*v = (struct visit){
		.publish = p, .next = p->visits, .host_fd = steal_fd(&fd),
		.inner_fd = -1, .port = l->port,
		.dialling = { .fd = -1, .ready = dialled },
		.tunnel = { .over = tunnel_over },
	};
	p->visits = v;
	p->visits_n++;
	call(v, AF_INET);
}

static void pause_over(struct timer *t)
{
	admit(container_of(t, struct publish, pause));
}

/* 1: it listens; 0: there is no such address here; -1. */
static int open_listener(struct listener *l, int family, uint16_t port,
			 struct err *e)
{
	struct sockaddr_storage at;
	socklen_t n = loopback(family, port, &at);
	const int on = 1;

	l->port = port;
	l->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return errno == EAFNOSUPPORT && family == AF_INET6 ? 0 :
		       err_sys(e, "make a socket");
	if ((family == AF_INET6 &&
	     setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
	    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
		return err_sys(e, "set up a socket");
	if (bind(l->fd, (const struct sockaddr *)&at, n) < 0) {
		if (errno == EADDRNOTAVAIL && family == AF_INET6) {
			close_fd(&l->fd);
			return 0;
		}
		return err_sys(e, "listen at %s, port %u",
			       family == AF_INET ? "127.0.0.1" : "[::1]", port);
	}
	if (listen(l->fd, BACKLOG) < 0)
		return err_sys(e, "listen at port %u", port);
	return 1;
}

static int open_listeners(struct publish *p, const struct policy *policy,
			  struct err *e)
{
	static const int families[] = { AF_INET, AF_INET6 };

	p->listeners = calloc(2 * policy->publishes_n, sizeof *p->listeners);
	if (!p->listeners)
		return err_sys(e, "allocate the listeners");
	for (size_t i = 0; i < 2 * policy->publishes_n; i++) {
		const struct publish_rule *r = &policy->publishes[i / 2];
		struct listener *l = &p->listeners[p->listeners_n];
		int rc;

		l->publish = p;
		l->watch = (struct watch){ .fd = -1, .ready = on_caller };
		rc = open_listener(l, families[i % 2], r->port, e);
		p->listeners_n += rc != 0;
		if (rc < 0)
			return err_ctx(e, "%.*s", SV_FMT(r->text));
	}
	return 0;
}

int publish_open(struct publish **ret, const struct policy *policy,
		 struct loop *loop, struct sandbox *sandbox,
		 struct warden *warden, struct err *e)
{
	struct publish *p;

	*ret = NULL;
	if (policy->publishes_n == 0)
		return 0;
	p = calloc(1, sizeof *p);
	if (!p)
		return err_sys(e, "allocate");
	p->loop = loop;
	p->sandbox = sandbox;
	p->warden = warden;
	p->calls_end = &p->calls;
	p->pause.fired = pause_over;
	*ret = p;
	return open_listeners(p, policy, e);
}

int publish_check(const struct publish *p, int capture_fd, struct err *e)
{
	struct sockaddr_in6 at = { 0 };
	socklen_t n = sizeof at;

	if (p && getsockname(capture_fd, (struct sockaddr *)&at, &n) < 0)
		return err_sys(e, "find the listener's port");
	for (size_t i = 0; p && i < p->listeners_n; i++)
		if (p->listeners[i].port == ntohs(at.sin6_port))
			return err_kind(e, ERR_POLICY, "publish %u: this port "
					"is the sandbox's own inside; choose "
					"another", p->listeners[i].port);
	return 0;
}

int publish_serve(struct publish *p, struct err *e)
{
	for (size_t i = 0; p && i < p->listeners_n; i++)
		if (loop_watch(p->loop, &p->listeners[i].watch,
			       p->listeners[i].fd, EPOLLIN, e) < 0)
			return -1;
	return 0;
}

void publish_close(struct publish *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->listeners_n; i++) {
		loop_forget(p->loop, &p->listeners[i].watch);
		close_fd(&p->listeners[i].fd);
	}
	p->listeners_n = 0;
	loop_disarm(p->loop, &p->pause);
	while (p->visits)
		end_visit(p->visits);
	free(p->listeners);
	free(p);
}
