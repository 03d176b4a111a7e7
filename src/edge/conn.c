/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the agent, its bytes, states and end: see conn.h.
 *
 * Back-pressure: the socket is read only when a step asks for more, and the
 * stream from dial is read only while `out` is empty.  `in` and `out` are
 * freed when they are empty and nothing goes on, so that an idle connection
 * costs little.
 */
#include "conn.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dns.h"
#include "handshake.h"
#include "inbound.h"
#include "outbound.h"
#include "own.h"
#include "server.h"

enum {
	ROUNDS = 32,		/* steps before others get their turn */
	HOLD_MS = 1,
	OPENING_MS = 30000,
	HANDSHAKE_MS = 30000,
	HEAD_MS = 60000,
	IDLE_MS = 300000,
	LINGER_MS = 30000,
	LINGER_BYTES = 64 << 20,
};

static struct conn **slot_of(struct edge *g, uint32_t number)
{
	return &g->slots[number % EDGE_CONN_SLOTS];
}

struct conn *conn_find(struct edge *g, uint32_t number)
{
	struct conn *c = *slot_of(g, number);

	while (c && c->number != number)
		c = c->next;
	return c;
}

static void enlist(struct conn *c)
{
	struct conn **slot;

	/* Numbers may wrap in a long run; 0 and one in use are passed over. */
	do {
		c->number = ++c->edge->last_number;
	} while (c->number == 0 || conn_find(c->edge, c->number));
	c->last_id = 0;
	slot = slot_of(c->edge, c->number);
	c->next = *slot;
	*slot = c;
}

static void delist(struct conn *c)
{
	struct conn **at = slot_of(c->edge, c->number);

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (c->last_id) {
		struct msg m = { .kind = MSG_HANGUP };

		m.HANGUP.conn = c->number;
		edge_tell(c->edge, &m);
	}
}

void conn_renumber(struct conn *c)
{
	channel_close(&c->stream);
	delist(c);
	enlist(c);
}

void conn_set_state(struct conn *c, enum conn_state state)
{
	c->state = state;
	c->since_ms = loop_now_ms();
}

void conn_set_host(struct conn *c, struct sv host, uint16_t port)
{
	host = sv_head(host, sizeof c->host - 1);
	if (host.n)
		memcpy(c->host, host.p, host.n);
	c->host_n = (uint8_t)host.n;
	c->port = port;
}

void conn_refused(struct conn *c, struct sv reason)
{
	struct sv host = c->host_n ? conn_host(c) : sv_str(c->dest.text);

	edge_refused(c->edge, c->number, host,
		     c->port ? c->port : c->dest.port, reason);
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
	channel_close(&c->stream);
	exchange_free(c);
	buf_free(&c->in);
	buf_free(&c->out);
	delist(c);
	c->next = g->dead;
	g->dead = c;
	loop_arm(g->loop, &g->burial, 0);
	g->n_conns--;
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

void conn_bury(struct edge *g)
{
	while (g->dead) {
		struct conn *c = g->dead;

		g->dead = c->next;
		free(c);
	}
}

/* Plain: 1 moved, 0 would block, -1 the connection is over. */
static int receive(struct conn *c, char *p, size_t max, size_t *ret_n)
{
	struct err e = { 0 };
	ssize_t n;

	if (c->tls) {
		switch (tls_read(c->tls, p, max, ret_n, &e)) {
		case TLS_OK:
			return 1;
		case TLS_WANT_READ:
			return 0;
		case TLS_EOF:
		case TLS_CUT:
			*ret_n = 0;
			return 1;
		case TLS_FAILED:
		case TLS_WANT_WRITE:
		case TLS_WANT_CERT:
			return -1;
		}
		return -1;
	}
	n = recv(c->watch.fd, p, max, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	*ret_n = (size_t)n;
	return 1;
}

bool conn_fill(struct conn *c, size_t most)
{
	size_t room = most > c->in.n ? most - c->in.n : 0, n = 0;
	char *p;
	int got;

	if (c->eof || room == 0)
		return false;
	if (!c->readable) {
		c->want_read = true;
		return false;
	}
	if (room > CONN_READ)
		room = CONN_READ;
	p = buf_reserve(&c->in, room);
	got = p ? receive(c, p, room, &n) : -1;
	if (got < 0) {
		conn_abort(c);
		return false;
	}
	c->readable = got > 0 && (n == room || (c->tls && tls_pending(c->tls)));
	if (got == 0) {
		c->want_read = true;
		return false;
	}
	if (n == 0) {
		c->eof = true;
		return true;
	}
	if (c->in.n == 0 || c->state == CONN_EXCHANGE)
		c->since_ms = loop_now_ms();
	c->in.n += n;
	return true;
}

/* 1 moved, 0 would block, -1 over. */
static int transmit(struct conn *c, struct sv v, size_t *ret_n)
{
	struct err e = { 0 };
	ssize_t n;

	if (c->tls) {
		switch (tls_write(c->tls, v, ret_n, &e)) {
		case TLS_OK:
			return 1;
		case TLS_WANT_WRITE:
			return 0;
		case TLS_FAILED:
		case TLS_WANT_READ:
		case TLS_WANT_CERT:
		case TLS_EOF:
		case TLS_CUT:
			return -1;
		}
		return -1;
	}
	n = send(c->watch.fd, v.p, v.n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	*ret_n = (size_t)n;
	return 1;
}

static bool is_held(const struct conn *c)
{
	return c->hold.due_ms != 0;
}

void conn_hold(struct conn *c)
{
	loop_arm(c->edge->loop, &c->hold, HOLD_MS);
}

void conn_release(struct conn *c)
{
	loop_disarm(c->edge->loop, &c->hold);
}

static void on_hold_over(struct timer *t)
{
	conn_run(container_of(t, struct conn, hold));
}

static void flush_out(struct conn *c)
{
	size_t done = 0;

	if (c->out.n == 0 || c->state == CONN_HANDSHAKE || is_held(c))
		return;
	if (c->out.full) {
		conn_abort(c);
		return;
	}
	while (done < c->out.n) {
		size_t n = 0;
		int sent = transmit(c, sv_from(buf_sv(&c->out), done), &n);

		if (sent < 0) {
			conn_abort(c);
			return;
		}
		if (sent == 0)
			break;
		done += n;
	}
	if (done)
		c->since_ms = loop_now_ms();
	buf_consume(&c->out, done);
}

void conn_finish(struct conn *c)
{
	c->finishing = true;
}

/* The last byte is written: nothing is answered any more. */
static void say_goodbye(struct conn *c)
{
	if (c->tls && tls_shutdown(c->tls) == TLS_FAILED) {
		conn_close(c);
		return;
	}
	if (shutdown(c->watch.fd, SHUT_WR) < 0 || c->eof) {
		conn_close(c);
		return;
	}
	channel_close(&c->stream);
	exchange_free(c);
	buf_free(&c->in);
	conn_set_state(c, CONN_LINGER);
}

/* Closing with unread bytes would reset the connection, and the client would
 * lose the answer with it. */
static bool linger(struct conn *c)
{
	static char waste[CONN_READ];
	ssize_t n;

	if (!c->readable) {
		c->want_read = true;
		return false;
	}
	n = recv(c->watch.fd, waste, sizeof waste, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN) {
		c->readable = false;
		return true;
	}
	c->drained += n > 0 ? (uint64_t)n : 0;
	if (n <= 0 || c->drained > LINGER_BYTES)
		conn_close(c);
	return true;
}

static void start_plain(struct conn *c)
{
	if (c->tunnel) {
		conn_refused(c, SV("only TLS may follow a CONNECT"));
		conn_close(c);
		return;
	}
	conn_set_state(c, CONN_HEAD);
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
	if (n <= 0)
		conn_close(c);
	else if (c->dest.port == 53 && !c->tunnel)
		conn_set_state(c, CONN_DNS);
	else if (first == 0x16)
		handshake_start(c);
	else
		start_plain(c);
	return true;
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
	case CONN_HEAD:
		return inbound_head(c);
	case CONN_EXCHANGE:
		return inbound_body(c);
	case CONN_LINGER:
		return linger(c);
	case CONN_VERDICT:
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
	if ((c->out.n && !is_held(c)) || c->want_write)
		events |= EPOLLOUT;
	loop_events(c->edge->loop, &c->watch, events);
	channel_pause(&c->stream, c->out.n > 0 && !is_held(c));
	if (c->in.n == 0 && c->in.p && c->state != CONN_EXCHANGE)
		buf_free(&c->in);
	if (c->out.n == 0 && c->out.p && c->state != CONN_EXCHANGE)
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
		flush_out(c);
		if (c->finishing && c->out.n == 0 && c->state < CONN_LINGER)
			say_goodbye(c);
		if (c->finishing && c->state < CONN_LINGER)
			break;
	} while (c->state != CONN_DEAD && step(c) && ++round < ROUNDS);
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
	/* Both directions are over, or it was reset: nobody is there. */
	if (events & EPOLLERR ||
	    (events & EPOLLHUP && c->state != CONN_LINGER))
		conn_abort(c);
	else
		conn_run(c);
}

void conn_start(struct edge *g, int *fd, const struct dest *dest)
{
	struct conn *c = calloc(1, sizeof *c);
	struct err e = { 0 };

	if (!c)
		return;
	c->edge = g;
	c->dest = *dest;
	if (!names_get(g->names, dest->number).p)
		c->dest.number = 0;	/* of the range, but never given out */
	c->in = buf_new(CONN_IN_MAX);
	c->out = buf_new(CONN_OUT_MAX);
	c->watch.ready = on_ready;
	c->hold.fired = on_hold_over;
	c->proxy = dest->number == NAMES_PROXY &&
		   dest->port == NAMES_PROXY_PORT;
	if (!c->proxy)
		conn_set_host(c, names_get(g->names, dest->number), dest->port);
	if (loop_watch(g->loop, &c->watch, *fd, EPOLLIN, &e) < 0) {
		free(c);
		return;
	}
	*fd = -1;
	enlist(c);
	g->n_conns++;
	edge_need_tick(g);
	conn_set_state(c, CONN_OPENING);
	c->readable = true;	/* most clients speak first */
	conn_run(c);
}

void conn_on_verdict(struct edge *g, struct msg *m)
{
	struct conn *c = conn_find(g, m->VERDICT.conn);

	/* A verdict for a connection that has ended meanwhile is void. */
	if (c && inbound_on_verdict(c, m))
		conn_run(c);
}

/* Calls fn for every connection; fn may end its own one. */
static void for_each(struct edge *g, void (*fn)(struct conn *c))
{
	for (size_t i = 0; i < EDGE_CONN_SLOTS; i++)
		for (struct conn *c = g->slots[i], *next; c; c = next) {
			next = c->next;
			fn(c);
		}
}

void conn_resume_all(struct edge *g)
{
	for_each(g, conn_run);
}

static uint64_t patience_ms(const struct conn *c)
{
	switch (c->state) {
	case CONN_OPENING:
		return OPENING_MS;
	case CONN_HANDSHAKE:
	case CONN_DNS:
		return HANDSHAKE_MS;
	case CONN_HEAD:
		return c->in.n ? HEAD_MS : IDLE_MS;
	case CONN_EXCHANGE:
		/* Not the origin's time: that may think as long as it likes. */
		return c->want_read || c->out.n ? IDLE_MS : 0;
	case CONN_LINGER:
		return LINGER_MS;
	case CONN_VERDICT:
	case CONN_DEAD:
		break;
	}
	return 0;
}

static void check_deadline(struct conn *c)
{
	uint64_t patience = patience_ms(c);

	if (patience == 0 || loop_now_ms() - c->since_ms < patience)
		return;
	if (c->state == CONN_OPENING) {
		conn_refused(c, SV("the client sent nothing; only protocols in"
				   " which it speaks first are carried"));
		conn_close(c);
	} else if (c->state == CONN_HEAD && c->out.n == 0) {
		inbound_timed_out(c);
		conn_run(c);
	} else if (c->state == CONN_EXCHANGE) {
		conn_abort(c);
	} else {
		conn_close(c);
	}
}

void conn_check_deadlines(struct edge *g)
{
	for_each(g, check_deadline);
}
