/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads an HTTPS server with requests, on many connections at once.
 *
 *	load [-c CONNECTIONS] [-n REQUESTS] [-k EACH] [-x PORT] [-i] [-w]
 *		NAME ADDRESS PORT FIELD
 *
 * -n requests in all, -c connections at a time, each for -k requests and then
 * closed; the first tenth of the requests is not counted.  -x goes by a proxy on
 * that port of the loopback.  -i gives each connection a name of its own, N.NAME.
 * -w: when all is answered, says so and leaves the connections open until its
 * input ends.  ADDRESS "-" looks the name up.  FIELD is one header line.
 *
 * Prints the 50th and the 99th percentile in microseconds, and requests a second.
 * It does little but write, read and look at the clock, so that its own cost is
 * small beside what is measured.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 4096, EVENTS = 64, RAMP = 32 };

struct conn {
	int fd;
	SSL *ssl;
	bool is_secured;
	size_t left, have;
	uint64_t since;
	char buffer[BUFFER];
};

static struct {
	size_t at_once, requests, each;
	const char *proxy, *name, *address, *port, *field;
	bool own_names, stays;
	SSL_CTX *ctx;
	int epoll_fd;
	size_t total, opened, open, asked, answered;	/* total: connections */
	uint64_t *took;
} load = { .at_once = 1, .requests = 1, .each = SIZE_MAX };

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "load: %s\n", what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t print(char text[BUFFER], const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, BUFFER, format, args);
	va_end(args);
	if (n < 0 || n >= BUFFER)
		die("too large");
	return (size_t)n;
}

static int dial(const char *address, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int fd, one = 1;

	if (getaddrinfo(address, port, &hints, &list))
		die("the name cannot be looked up");
	fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, list->ai_addr, list->ai_addrlen))
		die("no connection");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	freeaddrinfo(list);
	return fd;
}

/* By the proxy's CONNECT; waits for its answer. */
static void tunnel(int fd)
{
	char text[BUFFER];
	size_t n = print(text, "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n",
			 load.address, load.port, load.address, load.port);

	if (write(fd, text, n) != (ssize_t)n)
		die("the proxy does not read");
	for (n = 0; n < 4 || memcmp(text + n - 4, "\r\n\r\n", 4); n++)
		if (n == BUFFER || read(fd, text + n, 1) != 1)
			die("the proxy does not answer");
	if (memcmp(text + 8, " 200", 4))
		die("the proxy refuses");
}

static void watch(struct conn *c, int op, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = c };

	if (epoll_ctl(load.epoll_fd, op, c->fd, &ev))
		die("epoll_ctl");
}

static void start(void)
{
	struct conn *c = calloc(1, sizeof *c);
	char name[BUFFER];

	if (!c)
		die("no memory");
	if (load.own_names)
		print(name, "%zu.%s", load.opened, load.name);
	else
		print(name, "%s", load.name);
	c->left = load.each;
	c->fd = dial(load.proxy ? "127.0.0.1" :
		     strcmp(load.address, "-") ? load.address : name,
		     load.proxy ? load.proxy : load.port);
	if (load.proxy)
		tunnel(c->fd);
	c->ssl = SSL_new(load.ctx);
	SSL_set_fd(c->ssl, c->fd);
	SSL_set_tlsext_host_name(c->ssl, name);
	SSL_set1_host(c->ssl, name);
	load.opened++;
	load.open++;
	watch(c, EPOLL_CTL_ADD, EPOLLOUT);
}

static void end(struct conn *c)
{
	SSL_free(c->ssl);
	close(c->fd);
	free(c);
	load.open--;
}

static void ask(struct conn *c)
{
	char request[BUFFER];
	size_t n = print(request, "GET /answer HTTP/1.1\r\nHost: %s%s%s\r\n"
			 "%s\r\n\r\n",
			 SSL_get_servername(c->ssl, TLSEXT_NAMETYPE_host_name),
			 strcmp(load.port, "443") ? ":" : "",
			 strcmp(load.port, "443") ? load.port : "", load.field);

	load.asked++;
	c->left--;
	c->have = 0;
	c->since = now_ns();
	if (SSL_write(c->ssl, request, (int)n) != (int)n)
		die("a request is not taken");
}

/* An answer with a Content-Length is whole. */
static bool is_answered(struct conn *c)
{
	const char *end, *length;

	c->buffer[c->have] = '\0';
	end = strstr(c->buffer, "\r\n\r\n");
	if (!end)
		return false;
	length = strcasestr(c->buffer, "\r\ncontent-length:");
	if (memcmp(c->buffer + 8, " 200", 4) || !length)
		die(c->buffer);
	return c->have >= (size_t)(end + 4 - c->buffer) +
			  strtoull(length + 17, NULL, 10);
}

static void on_answer(struct conn *c)
{
	load.took[load.answered++] = now_ns() - c->since;
	if (c->left && load.asked < load.requests) {
		ask(c);
		return;
	}
	if (load.stays)
		return;
	end(c);
	if (load.opened < load.total)
		start();
}

static void on_readable(struct conn *c)
{
	int n = SSL_read(c->ssl, c->buffer + c->have,
			 (int)(sizeof c->buffer - 1 - c->have));

	if (n <= 0 && SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_READ)
		return;
	if (n <= 0)
		die("a connection has ended");
	c->have += (size_t)n;
	if (is_answered(c))
		on_answer(c);
}

static void on_event(struct conn *c)
{
	int rc;

	if (c->is_secured) {
		on_readable(c);
		return;
	}
	rc = SSL_connect(c->ssl);
	if (rc == 1 && load.asked == load.requests) {
		end(c);
		return;
	}
	if (rc == 1) {
		c->is_secured = true;
		ask(c);
	} else if (SSL_get_error(c->ssl, rc) != SSL_ERROR_WANT_READ) {
		die("the handshake failed");
	}
	watch(c, EPOLL_CTL_MOD, EPOLLIN);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void tell(uint64_t took_ns)
{
	const size_t warm = load.requests / 10, n = load.requests - warm;
	uint64_t *took = load.took + warm;

	qsort(took, n, sizeof *took, by_value);
	printf("%.1f %.1f %.1f\n", (double)took[n / 2] / 1e3,
	       (double)took[n * 99 / 100] / 1e3,
	       (double)load.requests * 1e9 / (double)took_ns);
	fflush(stdout);
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "c:n:k:x:iw")) != -1) {
		if (c == 'c')
			load.at_once = strtoull(optarg, NULL, 10);
		else if (c == 'n')
			load.requests = strtoull(optarg, NULL, 10);
		else if (c == 'k')
			load.each = strtoull(optarg, NULL, 10);
		else if (c == 'x')
			load.proxy = optarg;
		else if (c == 'i')
			load.own_names = true;
		else if (c == 'w')
			load.stays = true;
		else
			exit(2);
	}
	load.total = load.each == SIZE_MAX ? load.at_once :
		     (load.requests + load.each - 1) / load.each;
	if (argc - optind != 4 || load.requests < load.at_once)
		die("NAME ADDRESS PORT FIELD, and a request for each at least");
	load.name = argv[optind];
	load.address = argv[optind + 1];
	load.port = argv[optind + 2];
	load.field = argv[optind + 3];
}

static void prepare(void)
{
	struct rlimit limit;

	signal(SIGPIPE, SIG_IGN);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	load.ctx = SSL_CTX_new(TLS_client_method());
	/* SSL_CERT_FILE says which authority; stockade sets it inside. */
	SSL_CTX_set_default_verify_paths(load.ctx);
	SSL_CTX_set_verify(load.ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_mode(load.ctx, SSL_MODE_RELEASE_BUFFERS);
	load.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	load.took = calloc(load.requests, sizeof *load.took);
	if (!load.took || load.epoll_fd < 0)
		die("no memory");
}

int main(int argc, char **argv)
{
	struct epoll_event events[EVENTS];
	uint64_t since;
	char byte;

	options(argc, argv);
	prepare();
	since = now_ns();
	while (load.answered < load.requests) {
		int n;

		/* They do not all shake hands at once. */
		const bool opens = load.opened < load.at_once &&
				   load.opened < load.total &&
				   load.opened < load.answered + RAMP;

		if (opens)
			start();
		n = epoll_wait(load.epoll_fd, events, EVENTS, opens ? 0 : -1);
		for (int i = 0; i < n; i++)
			on_event(events[i].data.ptr);
	}
	tell(now_ns() - since);
	while (load.stays && read(0, &byte, 1) > 0)
		;
	return 0;
}
