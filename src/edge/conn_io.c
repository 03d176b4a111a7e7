/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a connection, plain or through TLS: see conn.h.
 *
 * Level-triggered epoll says when there may be something to read; `readable`
 * keeps it until the socket has been emptied, so that a step that reads in
 * pieces makes no call in vain.
 */
#include <sys/socket.h>

#include "call.h"
#include "handshake.h"
#include "tls.h"

enum {
	HOLD_MS = 1,
	LINGER_BYTES = 64 << 20,
};

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
		case TLS_CUT:
			/* Some check a certificate after the handshake. */
			handshake_note_distrust(c);
			*ret_n = 0;
			return 1;
		case TLS_EOF:
			*ret_n = 0;
			return 1;
		case TLS_FAILED:
			handshake_note_distrust(c);
			return -1;
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

/* With what OpenSSL has read already: a piece of a body is then as large as it can
 * be, whatever the records are.  *ret_more: the end came, which is told again. */
static int receive_all(struct conn *c, char *p, size_t max, size_t *ret_n,
		       bool *ret_more)
{
	int got = receive(c, p, max, ret_n);

	while (got > 0 && *ret_n < max && c->tls && tls_pending(c->tls)) {
		size_t n = 0;
		int again = receive(c, p + *ret_n, max - *ret_n, &n);

		*ret_more = again && n == 0;
		if (n == 0)
			break;
		*ret_n += n;
	}
	return got;
}

bool conn_fill(struct conn *c, size_t most)
{
	size_t room = most > c->in.n ? most - c->in.n : 0, n = 0;
	bool more = false;
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
	got = p ? receive_all(c, p, room, &n, &more) : -1;
	if (got < 0) {
		conn_abort(c);
		return false;
	}
	c->readable = got > 0 && (n == room || c->hung_up || more ||
				  (c->tls && tls_pending(c->tls)));
	if (got == 0) {
		c->want_read = true;
		return false;
	}
	if (n == 0) {
		c->eof = true;
		return true;
	}
	if (c->in.n == 0 || conn_is_carrying(c))
		conn_note_progress(c);
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

bool conn_is_held(const struct conn *c)
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

void conn_on_hold_over(struct timer *t)
{
	conn_run(container_of(t, struct conn, hold));
}

void conn_flush(struct conn *c)
{
	size_t done = 0;

	if (c->out.n == 0 || c->state == CONN_HANDSHAKE || conn_is_held(c))
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
		conn_note_progress(c);
	buf_consume(&c->out, done);
}

void conn_finish(struct conn *c)
{
	c->finishing = true;
}

/* The last byte is written: nothing is answered any more. */
void conn_say_goodbye(struct conn *c)
{
	if (c->tls && tls_shutdown(c->tls) == TLS_FAILED) {
		conn_close(c);
		return;
	}
	if (shutdown(c->watch.fd, SHUT_WR) < 0 || c->eof) {
		conn_close(c);
		return;
	}
	for (struct call *call = c->calls; call; call = call->next)
		call_reset(call);
	buf_free(&c->in);
	conn_set_state(c, CONN_LINGER);
}

/* Closing with unread bytes would reset the connection, and the client would
 * lose the answer with it. */
bool conn_linger(struct conn *c)
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
