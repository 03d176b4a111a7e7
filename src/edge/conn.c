/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the agent, its states and its end: see conn.h.
 *
 * Back-pressure: the socket is read only when a step asks for more, and the
 * stream from dial is read only while `out` is empty.  No step is made while
 * warden is behind, since each may have something to tell it: what can still be
 * told then is that what there is has ended, once for each call.  `in` and `out`
 * are freed when they are empty and nothing goes on, so that an idle connection
 * costs little.
 */
#include "conn.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call.h"
#include "dns.h"
#include "h1_face.h"
#include "h2_session.h"
#include "handshake.h"
#include "own.h"
#include "relay_face.h"
#include "server.h"

enum {
	ROUNDS = 32,		/* steps before others get their turn */
	TLS_HANDSHAKE = 0x16,	/* the type of a record with a ClientHello */
};

void conn_set_state(struct conn *c, enum conn_state state)
{
	c->state = state;
	conn_note_progress(c);
}

void conn_speak(struct conn *c, const struct face *face)
{
	c->face = face;
	conn_set_state(c, CONN_HTTP);
}

void conn_note_progress(struct conn *c)
{
	c->since_ms = loop_now_ms();
}

bool conn_is_carrying(const struct conn *c)
{
	for (const struct call *call = c->calls; call; call = call->next)
		if (call->state == CALL_EXCHANGE)
			return true;
	return false;
}

bool conn_is_idle(const struct conn *c)
{
	if (c->in.n || c->out.n || (c->h2 && h2_is_busy(c->h2)))
		return false;
	for (const struct call *call = c->calls; call; call = call->next)
		if (call->state != CALL_IDLE)
			return false;
	return c->state == CONN_OPENING || c->state == CONN_HTTP;
}

int conn_set_host(struct conn *c, struct sv host, uint16_t port)
{
	struct sv copy = sv_head(host, HTTP_HOST_MAX);
	char *p = NULL;

	if (copy.n) {
		p = malloc(copy.n);
		if (!p)
			return -1;
		memcpy(p, copy.p, copy.n);
	}
	free(c->host);
	c->host = p;
	c->host_n = (uint8_t)copy.n;
	c->port = port;
	return 0;
}

void conn_refused(struct conn *c, struct sv reason)
{
	edge_refused(c->edge, c->calls->number, conn_meant_host(c),
		     conn_meant_port(c), reason);
}

void conn_close(struct conn *c)
{
	struct edge *g = c->edge;
	int fd = c->watch.fd;

	if (c->state == CONN_DEAD)
		return;
	c->state = CONN_DEAD;
	loop_forget(g->loop, &c->watch);
	loop_disarm(g->loop, &c->hold);
	tls_free(c->tls);
	c->tls = NULL;
	close_fd(&fd);
	while (c->calls)
		call_end(c->calls);
	buf_free(&c->in);
	buf_free(&c->out);
	edge_put_large(g, &c->is_large);
	conn_delist(c);
	loop_arm(g->loop, &g->burial, 0);
	listener_resume(g);
}

void conn_abort(struct conn *c)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	if (c->state == CONN_DEAD)
		return;
	(void)setsockopt(c->watch.fd, SOL_SOCKET, SO_LINGER, &reset,
			 sizeof reset);
	conn_close(c);
}

static void start_tls(struct conn *c)
{
	if (c->proxy && !c->tunnel) {
		conn_refused(c, SV("the proxy itself is spoken to without"
				   " TLS"));
		conn_close(c);
		return;
	}
	handshake_start(c);
}

/* Peeks, because TLS reads the socket itself. */
static bool look_at_first_byte(struct conn *c)
{
	char first = 0;
	ssize_t n;

	if (!c->readable) {
		c->want_read = true;
		return false;
	}
	n = recv(c->watch.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		c->readable = false;
		return true;
	}
	if (n > 0 && first == TLS_HANDSHAKE && relay_may_be(c, RELAY_TLS)) {
		relay_look(c);
		return true;
	}
	if (n <= 0)
		conn_close(c);
	else if (c->dest.port == 53 && !c->tunnel)
		conn_set_state(c, CONN_DNS);
	else if (first == TLS_HANDSHAKE)
		start_tls(c);
	else
		conn_speak(c, &h1_face);
	return true;
}

static bool may_step(const struct conn *c)
{
	return c->state != CONN_DEAD && !channel_is_full(&c->edge->warden);
}

static bool step(struct conn *c)
{
	switch (c->state) {
	case CONN_OPENING:
		return look_at_first_byte(c);
	case CONN_HANDSHAKE:
		return handshake_step(c);
	case CONN_DNS:
		return dns_step(c);
	case CONN_HTTP:
		return c->face->step(c);
	case CONN_LINGER:
		return conn_linger(c);
	case CONN_DEAD:
		break;
	}
	return false;
}

static void update_events(struct conn *c)
{
	uint32_t events = 0;

	/* Also while nobody reads: it fires once, and then `readable` ends it.
	 * So a quiet client costs no system call between its requests. */
	if (!c->eof && (c->want_read || !c->readable))
		events |= EPOLLIN;
	if ((c->out.n && !conn_is_held(c)) || c->want_write)
		events |= EPOLLOUT;
	/* A hang-up would be told again and again while dial is behind. */
	if (c->hung_up && (c->eof || call_is_full(c->calls)))
		events = EPOLLET;
	/* So would it while no step is made; then all are looked at again. */
	if (!may_step(c))
		events |= EPOLLET;
	loop_events(c->edge->loop, &c->watch, events);
	for (struct call *call = c->calls; call; call = call->next)
		if (channel_is_open(&call->stream))
			channel_pause(&call->stream,
				      c->face->is_backed_up(call));
	/* What held a large head is not kept for a body. */
	if (c->in.n == 0 && c->in.p &&
	    (c->in.cap > CONN_READ || !conn_is_carrying(c)))
		buf_free(&c->in);
	if (conn_is_carrying(c))
		return;
	if (c->out.n == 0 && c->out.p)
		buf_free(&c->out);
}

void conn_run(struct conn *c)
{
	int round = 0;

	if (c->running || c->state == CONN_DEAD)
		return;
	c->running = true;
	c->want_read = c->want_write = false;
	do {
		conn_flush(c);
		if (c->finishing && c->out.n == 0 && c->state < CONN_LINGER)
			conn_say_goodbye(c);
		if (c->finishing && c->state < CONN_LINGER)
			break;
	} while (may_step(c) && step(c) && ++round < ROUNDS);
	c->running = false;
	if (c->state == CONN_DEAD)
		return;
	if (round == ROUNDS) {
		/* OpenSSL may hold what the socket no longer shows. */
		c->want_read = true;
		c->want_write = c->readable;
	}
	update_events(c);
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct conn *c = container_of(w, struct conn, watch);

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		c->readable = true;
	/* A client that rejects our certificate says so and resets: the alert
	 * can still be read. */
	if (events & (EPOLLERR | EPOLLHUP) && c->state == CONN_HANDSHAKE)
		conn_run(c);
	c->hung_up |= events & EPOLLHUP && c->shut;
	/* Both directions are over, or it was reset: nobody is there.  But what
	 * it sent behind the end of ours can still be read. */
	if (events & EPOLLERR ||
	    (events & EPOLLHUP && c->state != CONN_LINGER && !c->shut))
		conn_abort(c);
	else
		conn_run(c);
}

/* Without descriptor; NULL: no memory. */
static struct conn *conn_new(struct edge *g, const struct dest *dest)
{
	struct conn *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->edge = g;
	c->dest = *dest;
	if (!names_get(g->names, dest->number).p)
		c->dest.number = 0;	/* of the range, but never given out */
	c->in = buf_new(CONN_IN_MAX);
	c->out = buf_new(CONN_OUT_MAX);
	c->watch.fd = -1;
	c->watch.ready = on_ready;
	c->hold.fired = conn_on_hold_over;
	c->proxy = dest->number == NAMES_PROXY &&
		   dest->port == NAMES_PROXY_PORT;
	conn_set_state(c, CONN_OPENING);
	conn_enlist(c);
	if (!call_new(c) ||
	    (!c->proxy && conn_set_host(c, names_get(g->names, dest->number),
					dest->port) < 0)) {
		conn_close(c);
		return NULL;
	}
	return c;
}

void conn_start(struct edge *g, int *fd, const struct dest *dest)
{
	struct conn *c = conn_new(g, dest);
	struct err e = { 0 };

	if (!c)
		return;
	if (loop_watch(g->loop, &c->watch, *fd, EPOLLIN, &e) < 0) {
		conn_close(c);
		return;
	}
	*fd = -1;
	c->readable = true;	/* most clients speak first */
	relay_start(c);
	conn_run(c);
}
