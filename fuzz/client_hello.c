/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of an agent's TLS connection, up to the question whose
 * certificate is wanted; the same cut in two, and refused afterwards.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "server.h"

enum { RECORD_ALERT = 21, LEVEL_FATAL = 2 };

static struct tls_server *server;

struct link {
	int fds[2];
	struct tls *t;
};

static struct link link_up(void)
{
	struct link l;
	struct err e;

	if (!server)
		server = tls_server_new(&e);
	MUST(server != NULL);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, l.fds) == 0);
	l.t = tls_server_accept(server, l.fds[0], &e);
	MUST(l.t != NULL);
	return l;
}

static void link_down(struct link *l)
{
	tls_free(l->t);
	close(l->fds[0]);
	close(l->fds[1]);
}

static enum tls_status feed(struct link *l, struct sv part)
{
	struct err e = { 0 };
	enum tls_status status;

	MUST(part.n == 0 ||
	     write(l->fds[1], part.p, part.n) == (ssize_t)part.n);
	status = tls_handshake(l->t, &e);
	MUST(status == TLS_FAILED || status == TLS_WANT_READ ||
	     status == TLS_WANT_CERT);
	MUST((status == TLS_FAILED) == (e.kind != ERR_NONE));
	return status;
}

/* A refusal is one fatal alert of that kind, in plain text, and no more. */
static void refuse(struct link *l)
{
	unsigned char answer[64];
	struct err e = { 0 };
	ssize_t n;

	tls_refuse(l->t, TLS_ALERT_ACCESS_DENIED);
	MUST(tls_handshake(l->t, &e) == TLS_FAILED);
	MUST(!tls_is_distrusted(l->t));
	n = read(l->fds[1], answer, sizeof answer);
	MUST(n == 7 && answer[0] == RECORD_ALERT && answer[5] == LEVEL_FATAL &&
	     answer[6] == TLS_ALERT_ACCESS_DENIED);
}

static void check_cut(const struct link *whole, enum tls_status status,
		      struct sv in, size_t at)
{
	struct link cut = link_up();
	enum tls_status other = feed(&cut, sv_head(in, at));

	if (other == TLS_WANT_READ)
		other = feed(&cut, sv_from(in, at));
	MUST(status == other);
	if (status == TLS_WANT_CERT) {
		MUST(sv_eq(tls_sni(whole->t), tls_sni(cut.t)));
		MUST(tls_has_ech(whole->t) == tls_has_ech(cut.t));
	}
	link_down(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	size_t at = (size_t)fuzz_byte(&in) * 4 + fuzz_byte(&in) % 4u;
	struct link whole = link_up();
	enum tls_status status = feed(&whole, in);

	MUST(tls_sni(whole.t).n <= 255);
	if (at < in.n)
		check_cut(&whole, status, in, at);
	if (status == TLS_WANT_CERT)
		refuse(&whole);
	link_down(&whole);
	return 0;
}
