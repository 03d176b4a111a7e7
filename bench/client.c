/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures kept-alive HTTPS requests, one after the other, on one connection.
 *
 *	client NAME ADDRESS PORT COUNT FIELD
 *
 * ADDRESS "-" looks NAME up.  FIELD is one header line, sent as it is.  Prints
 * the 50th, 90th and 99th percentile in microseconds.  The first tenth is not
 * counted.  It does nothing but write, read and look at the clock, so that its
 * own cost is small beside what is measured.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "client: %s\n", what);
	exit(1);
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
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	freeaddrinfo(list);
	return fd;
}

static SSL *handshake(int fd, const char *name)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl;

	/* SSL_CERT_FILE says which authority; stockade sets it inside. */
	SSL_CTX_set_default_verify_paths(ctx);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	ssl = SSL_new(ctx);
	SSL_set_fd(ssl, fd);
	SSL_set_tlsext_host_name(ssl, name);
	SSL_set1_host(ssl, name);
	if (SSL_connect(ssl) != 1)
		die("the handshake failed");
	return ssl;
}

/* Reads one answer with a Content-Length; -1 unless its status is 200. */
static int answer(SSL *ssl)
{
	static char buffer[65536];
	size_t have = 0, need = 0;

	for (;;) {
		char *end, *length;
		int n = SSL_read(ssl, buffer + have,
				 (int)(sizeof(buffer) - 1 - have));

		if (n <= 0)
			return -1;
		have += (size_t)n;
		buffer[have] = '\0';
		end = strstr(buffer, "\r\n\r\n");
		if (!end)
			continue;
		if (strncmp(buffer + 8, " 200", 4))
			return -1;
		length = strcasestr(buffer, "\r\ncontent-length:");
		if (!length)
			return -1;
		need = (size_t)(end + 4 - buffer) +
			strtoull(length + 17, NULL, 10);
		if (have >= need)
			return 0;
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	char request[4096];
	size_t count, warm;
	uint64_t *took;
	SSL *ssl;
	int size;

	if (argc != 6)
		die("NAME ADDRESS PORT COUNT FIELD");
	signal(SIGPIPE, SIG_IGN);
	count = strtoull(argv[4], NULL, 10);
	warm = count / 10;
	took = calloc(count, sizeof(*took));
	ssl = handshake(dial(strcmp(argv[2], "-") ? argv[2] : argv[1],
			     argv[3]), argv[1]);
	size = snprintf(request, sizeof(request),
			"GET /answer HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n",
			argv[1], argv[5]);
	if (!took || size < 0 || size >= (int)sizeof(request))
		die("too large");
	for (size_t i = 0; i < count; i++) {
		uint64_t before = now_ns();

		if (SSL_write(ssl, request, size) != size || answer(ssl))
			die("a request failed");
		took[i] = now_ns() - before;
	}
	took += warm;
	count -= warm;
	qsort(took, count, sizeof(*took), by_value);
	printf("%.1f %.1f %.1f\n", (double)took[count / 2] / 1e3,
	       (double)took[count * 9 / 10] / 1e3,
	       (double)took[count * 99 / 100] / 1e3);
	return 0;
}
