/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of a TLS client whose connection is not opened: the same
 * answer for every prefix that decides, and the same name as OpenSSL reads.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "client_hello.h"
#include "fuzz.h"
#include "server.h"

/* What another reader makes of it; false: it would not go on with it. */
static bool other_name(struct sv in, char text[CLIENT_HELLO_NAME_MAX],
		       struct sv *ret, bool *ech)
{
	static struct tls_server *server;
	struct err e = { 0 };
	struct tls *t;
	bool takes;
	int fds[2];

	if (!server)
		server = tls_server_new(&e);
	MUST(server != NULL);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
	t = tls_server_accept(server, fds[0], &e);
	MUST(t != NULL);
	MUST(write(fds[1], in.p, in.n) == (ssize_t)in.n);
	takes = tls_handshake(t, &e) == TLS_WANT_CERT;
	if (takes) {
		struct sv v = tls_sni(t);

		MUST(v.n <= CLIENT_HELLO_NAME_MAX);
		memcpy(text, v.p, v.n);
		*ret = sv_of(text, v.n);
		*ech = tls_has_ech(t);
	}
	tls_free(t);
	close(fds[0]);
	close(fds[1]);
	return takes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	size_t at = (size_t)fuzz_byte(&in) * 4 + fuzz_byte(&in) % 4u;
	struct client_hello whole, part;
	enum client_hello_result r = client_hello_parse(in, &whole);
	enum client_hello_result early =
		client_hello_parse(sv_head(in, at), &part);
	char text[CLIENT_HELLO_NAME_MAX];
	struct sv seen = client_hello_name(&whole), name;
	bool ech = false;

	MUST((r == CLIENT_HELLO_BAD) == (whole.fault != NULL));
	if (early == CLIENT_HELLO_BAD)
		MUST(r == CLIENT_HELLO_BAD);
	if (early == CLIENT_HELLO_WHOLE && in.n <= CLIENT_HELLO_BYTES_MAX) {
		MUST(r == CLIENT_HELLO_WHOLE);
		MUST(sv_eq(client_hello_name(&part), seen));
		MUST(part.has_ech == whole.has_ech);
	}
	if (r != CLIENT_HELLO_WHOLE) {
		MUST(r == CLIENT_HELLO_BAD || in.n < CLIENT_HELLO_BYTES_MAX);
		return 0;
	}
	MUST(client_hello_fault(&whole, seen) == NULL || !whole.has_name ||
	     whole.has_ech);
	if (other_name(in, text, &name, &ech)) {
		MUST(sv_eq(seen, name));
		MUST(whole.has_ech || !ech);
	}
	return 0;
}
