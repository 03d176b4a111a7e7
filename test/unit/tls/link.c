/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pki.h"

struct tls_server *server;
struct authority *authority;

static X509 *ca_certificate(void)
{
	struct sv pem = authority_pem(authority);
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	return x;
}

/* The client trusts the CA unless it `pins`; name, its SNI, may be NULL. */
void link_up(struct link *l, const char *name, bool pins)
{
	X509 *ca = ca_certificate();

	*l = (struct link){ 0 };
	pki_sockets(l->fds);
	l->ctx = pki_context(false);
	SSL_CTX_set_verify(l->ctx, SSL_VERIFY_PEER, NULL);
	if (!pins)
		X509_STORE_add_cert(SSL_CTX_get_cert_store(l->ctx), ca);
	X509_free(ca);
	l->peer = pki_peer(l->ctx, l->fds[1], false);
	if (name) {
		char sni[256];

		snprintf(sni, sizeof sni, "%s", name);
		SSL_set_tlsext_host_name(l->peer, sni);
		SSL_set1_host(l->peer, name);
	}
	l->t = tls_server_accept(server, l->fds[0], &l->why);
}

void link_down(struct link *l)
{
	tls_free(l->t);
	SSL_free(l->peer);
	SSL_CTX_free(l->ctx);
	close(l->fds[0]);
	close(l->fds[1]);
	ERR_clear_error();
}

/* Both sides step until ours is done, has failed, or wants a certificate. */
enum tls_status shake(struct link *l)
{
	for (int i = 0; i < 20; i++) {
		int r = SSL_do_handshake(l->peer);

		l->status = tls_handshake(l->t, &l->why);
		if (l->status == TLS_OK ? r == 1 : l->status != TLS_WANT_READ)
			break;
	}
	return l->status;
}

int certify(struct link *l, const char *name)
{
	auto_buf struct buf der = buf_new(4096);

	if (authority_sign(authority, sv_str(name), &der, &l->why) < 0)
		return -1;
	return tls_use_certificate(l->t, sv_str(name), buf_sv(&der), &l->why);
}

bool says(const struct link *l, const char *text)
{
	struct sv msg = sv_str(l->why.msg);
	bool found = sv_find_sv(msg, sv_str(text)) < msg.n;

	if (!found)
		printf("# it says: %s\n", l->why.msg);
	return found;
}

void open_link(struct link *l)
{
	link_up(l, "a.example", false);
	shake(l);
	if (!tls_use_cached(l->t, SV("a.example")) &&
	    certify(l, "a.example") < 0)
		abort();
	if (shake(l) != TLS_OK)
		abort();
}

void link_start(void)
{
	struct err e = { 0 };

	server = tls_server_new(&e);
	authority = authority_new(&e);
	if (!server || !authority ||
	    authority_set_key(authority, tls_server_spki(server), &e) < 0)
		abort();
}

void link_stop(void)
{
	tls_server_free(server);
	authority_free(authority);
}
