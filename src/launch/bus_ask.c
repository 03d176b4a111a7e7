/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange with a message bus: see bus.h. */
#include "bus.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "own.h"

enum { SERIAL_HELLO = 1, SERIAL_CALL = 2, WAIT_S = 5, LINE_MAX_BYTES = 512 };

static int open_bus(const char *path, struct err *e)
{
	const struct timeval wait = { .tv_sec = WAIT_S };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(e, "socket");
	if (strlen(path) >= sizeof to.sun_path)
		return err_kind(e, ERR_LIMIT, "%s is too long", path);
	memcpy(to.sun_path, path, strlen(path));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) < 0)
		return err_sys(e, "setsockopt");
	if (connect(fd, (const struct sockaddr *)&to, sizeof to) < 0)
		return err_sys(e, "connect to %s", path);
	return steal_fd(&fd);
}

/* It may have hung up: an error, not a signal. */
static int say(int fd, struct sv v, struct err *e)
{
	while (v.n) {
		ssize_t n = send(fd, v.p, v.n, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "speak to the message bus");
		v = sv_from(v, (size_t)n);
	}
	return 0;
}

static int receive(int fd, struct buf *b, struct err *e)
{
	char *at = buf_reserve(b, LINE_MAX_BYTES);
	ssize_t n;

	if (!at)
		return err_kind(e, ERR_LIMIT, "its answer is too long");
	do
		n = recv(fd, at, LINE_MAX_BYTES, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, "hear from the message bus");
	if (n == 0)
		return err_kind(e, ERR_SYS, "the message bus hung up");
	b->n += (size_t)n;
	return 0;
}

/* "Authentication Protocol": the kernel tells it who we are; in words it is
 * said in hexadecimal digits of decimal ones. */
static int log_in(int fd, struct buf *in, struct err *e)
{
	auto_buf struct buf text = buf_new(LINE_MAX_BYTES);
	char uid[16];

	(void)snprintf(uid, sizeof uid, "%u", geteuid());
	buf_putc(&text, '\0');
	buf_puts(&text, "AUTH EXTERNAL ");
	for (const char *at = uid; *at; at++)
		buf_printf(&text, "%02x", (unsigned char)*at);
	buf_puts(&text, "\r\n");
	if (say(fd, buf_sv(&text), e) < 0)
		return -1;
	while (sv_find(buf_sv(in), '\n') == in->n)
		if (receive(fd, in, e) < 0)
			return -1;
	if (!sv_starts(buf_sv(in), SV("OK ")))
		return err_kind(e, ERR_DENIED, "the message bus does not know "
				"this user");
	buf_consume(in, sv_find(buf_sv(in), '\n') + 1);
	return say(fd, SV("BEGIN\r\n"), e);
}

static int refused(const struct bus_message *m, struct err *e)
{
	struct sv why = m->text.n ? m->text : m->error;
	char text[160];
	size_t n = 0;

	/* It is shown to a person. */
	for (; n < why.n && n < sizeof text; n++)
		text[n] = why.p[n] >= ' ' && why.p[n] <= '~' ? why.p[n] : '?';
	return err_kind(e, ERR_DENIED, "%.*s", (int)n, text);
}

/* Passes over everything but the answer to this call. */
static int await_reply(int fd, struct buf *in, uint32_t serial, struct err *e)
{
	for (;;) {
		struct bus_message m;
		long n = bus_parse(buf_sv(in), &m);

		if (n < 0)
			return err_kind(e, ERR_SYS, "the message bus speaks "
					"another protocol");
		if (n == 0) {
			if (receive(fd, in, e) < 0)
				return -1;
			continue;
		}
		if (m.reply_to == serial && m.type == BUS_ERROR)
			return refused(&m, e);
		buf_consume(in, (size_t)n);
		if (m.reply_to == serial && m.type == BUS_RETURN)
			return 0;
	}
}

static int make_call(int fd, struct buf *in, const struct bus_call *call,
		     uint32_t serial, struct err *e)
{
	auto_buf struct buf out = buf_new(BUS_MESSAGE_MAX);

	bus_put_call(&out, call, serial);
	if (buf_check(&out, "a message", e) < 0 ||
	    say(fd, buf_sv(&out), e) < 0)
		return -1;
	return await_reply(fd, in, serial, e);
}

int bus_ask(const char *path, const struct bus_call *call, struct err *e)
{
	static const struct bus_call hello = {
		.destination = "org.freedesktop.DBus",
		.path = "/org/freedesktop/DBus",
		.interface = "org.freedesktop.DBus", .member = "Hello",
	};
	auto_buf struct buf in = buf_new(2 * BUS_MESSAGE_MAX);
	auto_fd int fd = open_bus(path, e);

	if (fd < 0 || log_in(fd, &in, e) < 0 ||
	    make_call(fd, &in, &hello, SERIAL_HELLO, e) < 0)
		return -1;
	return make_call(fd, &in, call, SERIAL_CALL, e);
}
