/* SPDX-License-Identifier: Apache-2.0 */
/* D-Bus messages as the specification has them, and one exchange. */
#include "bus.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "own.h"
#include "tap.h"

static void test_a_call_is_laid_out_as_specified(void)
{
	static const char hello[] =
		"l\1\0\1" "\0\0\0\0" "\1\0\0\0" "\x6e\0\0\0"
		"\1\1o\0" "\x15\0\0\0" "/org/freedesktop/DBus\0" "\0\0"
		"\6\1s\0" "\x14\0\0\0" "org.freedesktop.DBus\0" "\0\0\0"
		"\2\1s\0" "\x14\0\0\0" "org.freedesktop.DBus\0" "\0\0\0"
		"\3\1s\0" "\5\0\0\0" "Hello\0" "\0";
	struct bus_call call = {
		.destination = "org.freedesktop.DBus",
		.path = "/org/freedesktop/DBus",
		.interface = "org.freedesktop.DBus", .member = "Hello",
	};
	auto_buf struct buf b = buf_new(1024);

	bus_put_call(&b, &call, 1);
	CHECK_INT(b.n, sizeof hello);
	CHECK(b.n == sizeof hello && memcmp(b.p, hello, b.n) == 0);
}

static void test_values_are_aligned(void)
{
	static const char want[] =
		"\1\0\0\0" "a\0\0\0" "\x0c\0\0\0" "\0\0\0\0"
		"\1\0\0\0" "\0\0\0\0" "\2\0\0\0" "\0\0\0\0" "\0\0\0";
	auto_buf struct buf b = buf_new(1024);
	size_t list;

	bus_put_string(&b, SV("a"));
	list = bus_begin_array(&b, 8);
	bus_begin_struct(&b);
	bus_put_u32(&b, 1);
	bus_begin_struct(&b);
	bus_put_u32(&b, 2);
	bus_end_array(&b, list, 8);
	/* Empty: its padding is there, and does not count. */
	bus_end_array(&b, bus_begin_array(&b, 8), 8);
	CHECK_INT(b.n, 32);
	CHECK(b.n == 32 && memcmp(b.p, want, b.n) == 0);
}

/* An error in answer to 2, with the text "no". */
static const char error[] =
	"l\3\0\1" "\7\0\0\0" "\x09\0\0\0" "\x27\0\0\0"
	"\4\1s\0" "\x09\0\0\0" "a.b.Error\0" "\0\0\0\0\0\0"
	"\5\1u\0" "\2\0\0\0"
	"\x08\1g\0" "\1s\0" "\0"
	"\2\0\0\0" "no";

static void test_an_answer_is_read(void)
{
	struct sv whole = sv_of(error, sizeof error);
	struct bus_message m;

	CHECK_INT(bus_parse(whole, &m), (long)whole.n);
	CHECK_INT(m.type, BUS_ERROR);
	CHECK_INT(m.reply_to, 2);
	CHECK_SV(m.error, "a.b.Error");
	CHECK_SV(m.text, "no");
}

static void test_what_is_not_whole_is_waited_for(void)
{
	struct bus_message m;

	for (size_t n = 0; n < sizeof error; n++)
		CHECK_INT(bus_parse(sv_of(error, n), &m), 0);
}

/* Each byte of it set to each of a few values: read, or refused. */
static void test_what_is_no_message_is_refused(void)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	char bytes[sizeof error];
	struct bus_message m;
	long n;

	for (size_t i = 0; i < sizeof error; i++)
		for (size_t v = 0; v < sizeof values; v++) {
			memcpy(bytes, error, sizeof error);
			bytes[i] = (char)values[v];
			n = bus_parse(sv_of(bytes, sizeof bytes), &m);
			CHECK(n >= -1 && n <= (long)sizeof bytes);
		}
	memcpy(bytes, error, sizeof error);
	bytes[0] = 'B';
	CHECK_INT(bus_parse(sv_of(bytes, sizeof bytes), &m), -1);
	bytes[0] = 'l';
	bytes[14] = '\2';	/* fields of more than a message's length */
	CHECK_INT(bus_parse(sv_of(bytes, sizeof bytes), &m), -1);
}

struct server {
	int listen_fd;
	const char *welcome;
	const char *answer;	/* to the second call */
	size_t answer_n;
};

/* Enough of a bus: it welcomes, answers Hello, and then with `answer`. */
static void *serve(void *arg)
{
	static const char returned[] = "l\2\0\1" "\0\0\0\0" "\1\0\0\0"
				       "\x08\0\0\0" "\5\1u\0" "\1\0\0";
	struct server *s = arg;
	auto_fd int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	char bytes[4096];

	if (fd < 0 || recv(fd, bytes, sizeof bytes, 0) <= 0)
		return NULL;
	(void)send(fd, s->welcome, strlen(s->welcome), MSG_NOSIGNAL);
	/* BEGIN and Hello may come in one piece or in two. */
	if (recv(fd, bytes, sizeof bytes, 0) == 7)
		(void)recv(fd, bytes, sizeof bytes, 0);
	(void)send(fd, returned, sizeof returned, MSG_NOSIGNAL);
	if (recv(fd, bytes, sizeof bytes, 0) > 0)
		(void)send(fd, s->answer, s->answer_n, MSG_NOSIGNAL);
	return NULL;
}

static int ask(struct server *s, struct err *e)
{
	struct bus_call call = {
		.destination = "a.b", .path = "/a", .interface = "a.b",
		.member = "Do",
	};
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	pthread_t thread;
	int rc;

	(void)snprintf(at.sun_path, sizeof at.sun_path, "bus-%d", getpid());
	s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(s->listen_fd, (const struct sockaddr *)&at, sizeof at),
		  0);
	CHECK_INT(listen(s->listen_fd, 1), 0);
	CHECK_INT(pthread_create(&thread, NULL, serve, s), 0);
	rc = bus_ask(at.sun_path, &call, e);
	(void)pthread_join(thread, NULL);
	close_fd(&s->listen_fd);
	(void)unlink(at.sun_path);
	return rc;
}

static void test_a_bus_is_asked(void)
{
	static const char done[] = "l\2\0\1" "\0\0\0\0" "\7\0\0\0"
				   "\x08\0\0\0" "\5\1u\0" "\2\0\0";
	struct server s = {
		.welcome = "OK 0123\r\n", .answer = done,
		.answer_n = sizeof done,
	};
	struct err e = { 0 };

	CHECK_INT(ask(&s, &e), 0);
	s.answer = error;
	s.answer_n = sizeof error;
	CHECK_INT(ask(&s, &e), -1);
	CHECK_INT(e.kind, ERR_DENIED);
	CHECK_SV(sv_str(e.msg), "no");
	s.answer_n = sizeof error - 1;
	CHECK_INT(ask(&s, &e), -1);	/* it hangs up in the middle */
	s.welcome = "REJECTED EXTERNAL\r\n";
	CHECK_INT(ask(&s, &e), -1);
	CHECK_INT(e.kind, ERR_DENIED);
}

static void test_no_bus_is_an_error(void)
{
	struct bus_call call = {
		.destination = "a.b", .path = "/a", .interface = "a.b",
		.member = "Do",
	};
	struct err e = { 0 };

	CHECK_INT(bus_ask("/nonexistent/bus", &call, &e), -1);
	CHECK_INT(e.code, ENOENT);
}

int main(void)
{
	RUN(test_a_call_is_laid_out_as_specified);
	RUN(test_values_are_aligned);
	RUN(test_an_answer_is_read);
	RUN(test_what_is_not_whole_is_waited_for);
	RUN(test_what_is_no_message_is_refused);
	RUN(test_a_bus_is_asked);
	RUN(test_no_bus_is_an_error);
	return tap_done();
}
