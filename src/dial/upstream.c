/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to an origin: see upstream.h. */
#include "upstream.h"

#include <sys/socket.h>

#include "lease.h"
#include "own.h"
#include "tunnel.h"

static void on_ready(struct watch *w, uint32_t events);

int upstream_open(struct upstream *u, struct loop *l, int fd,
		  const struct http_request *to, struct err *e)
{
	if (to->host.n == 0 || to->host.n > HTTP_HOST_MAX)
		return err_kind(e, ERR_PROTO, "malformed host");
	u->watch.ready = on_ready;
	if (loop_watch(l, &u->watch, fd, 0, e) < 0)
		return -1;
	u->loop = l;
	u->fd = fd;
	u->tls = NULL;
	u->tunnel = NULL;
	u->scheme = to->scheme;
	u->port = to->port;
	memcpy(u->host, to->host.p, to->host.n);
	u->host[to->host.n] = 0;
	u->read_needs = EPOLLIN;
	u->write_needs = EPOLLOUT;
	u->reading = u->writing = false;
	return 0;
}

void upstream_close(struct upstream *u)
{
	lease_drop(&u->lease);
	if (!u->loop)
		return;
	loop_forget(u->loop, &u->watch);
	tls_free(u->tls);
	u->tls = NULL;
	tunnel_free(u->tunnel);
	u->tunnel = NULL;
	close_fd(&u->fd);
	u->loop = NULL;
}

void upstream_await(struct upstream *u, bool reading, bool writing)
{
	uint32_t events = (reading ? u->read_needs : 0) |
			  (writing ? u->write_needs : 0);
	struct err ignored;

	if (!u->loop)
		return;
	u->reading = reading;
	u->writing = writing;
	if (u->watch.fd >= 0)
		loop_events(u->loop, &u->watch, events);
	/* It cannot fail for what was watched before, but for memory: then
	 * nothing more is heard, as from an origin that says nothing. */
	else if (events)
		(void)!loop_watch(u->loop, &u->watch, u->fd, events, &ignored);
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct upstream *u = container_of(w, struct upstream, watch);

	(void)events;
	if (u->reading || u->writing)
		u->ready(u);
	else
		/* A hang-up is reported again and again until it is read, and
		 * the owner does not read now. */
		loop_forget(u->loop, w);
}

static enum upstream_status from_tls(enum tls_status s, uint32_t *needs)
{
	switch (s) {
	case TLS_OK:
		return UPSTREAM_OK;
	case TLS_WANT_READ:
		*needs = EPOLLIN;
		return UPSTREAM_AGAIN;
	case TLS_WANT_WRITE:
		*needs = EPOLLOUT;
		return UPSTREAM_AGAIN;
	case TLS_EOF:
		return UPSTREAM_EOF;
	case TLS_CUT:
		return UPSTREAM_CUT;
	case TLS_WANT_CERT:
	case TLS_FAILED:
		break;
	}
	return UPSTREAM_FAILED;
}

/* Never falls back to plain, whatever the owner forgot. */
static bool no_tls(const struct upstream *u, struct err *e)
{
	if (!u->tls)
		(void)err_kind(e, ERR_BUG, "TLS was not begun");
	return !u->tls;
}

enum upstream_status upstream_handshake(struct upstream *u,
					struct tls_client *c, struct err *e)
{
	enum upstream_status s;

	if (!u->tls)
		u->tls = tls_client_connect(c, u->fd, sv_str(u->host),
					    u->offers_h2, e);
	if (!u->tls)
		return UPSTREAM_FAILED;
	s = from_tls(tls_handshake(u->tls, e), &u->read_needs);
	if (s == UPSTREAM_AGAIN)
		upstream_await(u, true, false);
	else
		u->read_needs = EPOLLIN;
	return s;
}

enum upstream_status upstream_read(struct upstream *u, char *p, size_t max,
				   size_t *ret_n, struct err *e)
{
	ssize_t n;

	if (u->scheme != HTTP_PLAIN)
		return no_tls(u, e) ? UPSTREAM_FAILED :
		       from_tls(tls_read(u->tls, p, max, ret_n, e),
				&u->read_needs);
	do {
		n = recv(u->fd, p, max, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return UPSTREAM_AGAIN;
	if (n < 0) {
		(void)err_sys(e, "read from the origin");
		return UPSTREAM_FAILED;
	}
	*ret_n = (size_t)n;
	return n == 0 ? UPSTREAM_EOF : UPSTREAM_OK;
}

enum upstream_status upstream_write(struct upstream *u, struct sv v,
				    size_t *ret_n, struct err *e)
{
	ssize_t n;

	if (u->scheme != HTTP_PLAIN)
		return no_tls(u, e) ? UPSTREAM_FAILED :
		       from_tls(tls_write(u->tls, v, ret_n, e),
				&u->write_needs);
	do {
		n = send(u->fd, v.p, v.n, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return UPSTREAM_AGAIN;
	if (n < 0) {
		(void)err_sys(e, "write to the origin");
		return UPSTREAM_FAILED;
	}
	*ret_n = (size_t)n;
	return UPSTREAM_OK;
}

enum upstream_status upstream_shut(struct upstream *u)
{
	if (u->tls && tls_shutdown(u->tls) == TLS_WANT_WRITE) {
		u->write_needs = EPOLLOUT;
		return UPSTREAM_AGAIN;
	}
	(void)shutdown(u->fd, SHUT_WR);
	return UPSTREAM_OK;
}

bool upstream_is_quiet(struct upstream *u)
{
	struct err ignored;
	size_t n = 0;
	char c;

	/* Through TLS, since session tickets and key updates are no answer. */
	return u->loop &&
	       upstream_read(u, &c, 1, &n, &ignored) == UPSTREAM_AGAIN;
}
