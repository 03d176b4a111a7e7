/* SPDX-License-Identifier: Apache-2.0 */
/* The socket below a TLS connection: see socket.h. */
#include "socket.h"

#include <errno.h>
#include <sys/socket.h>

#include "sv.h"

/* One for all: it is empty whenever no tls_write() is under way. */
static struct buf gathered = { .max = SOCKET_RECORDS * SOCKET_RECORD };

static bool would_block(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* What the kernel takes of v; -1: it failed. */
static ssize_t put(const struct socket *s, struct sv v)
{
	size_t done = 0;

	while (done < v.n) {
		ssize_t n = send(s->fd, v.p + done, v.n - done,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return would_block() ? (ssize_t)done : -1;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

void socket_gather(struct socket *s)
{
	s->gathers = true;
}

static int flush_kept(struct socket *s)
{
	ssize_t n = s->kept.n ? put(s, buf_sv(&s->kept)) : 0;

	if (n < 0)
		return -1;
	buf_consume(&s->kept, (size_t)n);
	if (s->kept.n)
		return 0;
	buf_free(&s->kept);
	return 1;
}

int socket_flush(struct socket *s)
{
	ssize_t n = 0;

	s->gathers = false;
	if (gathered.n == 0)
		return flush_kept(s);
	n = put(s, buf_sv(&gathered));
	if (n >= 0)
		buf_put(&s->kept, sv_from(buf_sv(&gathered), (size_t)n));
	buf_reset(&gathered);
	if (s->kept.full) {
		errno = ENOMEM;
		return -1;
	}
	return n < 0 ? -1 : s->kept.n == 0;
}

void socket_fini(struct socket *s)
{
	buf_free(&s->kept);
}

static int on_write(BIO *b, const char *p, int n)
{
	struct socket *s = BIO_get_data(b);
	ssize_t sent;

	BIO_clear_retry_flags(b);
	if (s->gathers) {
		buf_put(&gathered, sv_of(p, (size_t)n));
		return gathered.full ? -1 : n;
	}
	switch (flush_kept(s)) {
	case 1:
		sent = send(s->fd, p, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent >= 0)
			return (int)sent;
		break;
	case 0:
		BIO_set_retry_write(b);
		return -1;
	default:
		break;
	}
	if (would_block())
		BIO_set_retry_write(b);
	return -1;
}

static int on_read(BIO *b, char *p, int max)
{
	struct socket *s = BIO_get_data(b);
	ssize_t n = recv(s->fd, p, (size_t)max, MSG_DONTWAIT);

	BIO_clear_retry_flags(b);
	s->eof = n == 0;
	if (n < 0 && would_block())
		BIO_set_retry_read(b);
	return (int)n;
}

static long on_control(BIO *b, int what, long unused, void *ignored)
{
	const struct socket *s = BIO_get_data(b);

	(void)unused;
	(void)ignored;
	if (what == BIO_CTRL_EOF)
		return s->eof;
	return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method(void)
{
	static BIO_METHOD *m;

	if (m || !(m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket")))
		return m;
	BIO_meth_set_write(m, on_write);
	BIO_meth_set_read(m, on_read);
	BIO_meth_set_ctrl(m, on_control);
	return m;
}

BIO *socket_bio(struct socket *s)
{
	BIO *b = method() ? BIO_new(method()) : NULL;

	if (!b)
		return NULL;
	s->kept = buf_new(SOCKET_RECORDS * SOCKET_RECORD);
	BIO_set_data(b, s);
	BIO_set_init(b, 1);
	return b;
}
