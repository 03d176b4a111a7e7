/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of every kind, and the other end of a connection, made with
 * OpenSSL directly: the tests' independent side.
 */
#ifndef TEST_PKI_H
#define TEST_PKI_H

#include <openssl/ssl.h>

#include "tls.h"

struct pki {
	X509 *x;
	EVP_PKEY *key;
};

/* What a certificate is like; zero is a good server certificate. */
struct pki_spec {
	const char *cn;		/* default "host" of its issuer's tests */
	const char *san;	/* as in openssl.cnf; "" for none at all */
	const char *eku;	/* default "serverAuth"; "" for none */
	const char *constraints;	/* default: not a CA */
	const char *critical_oid;	/* an unknown critical extension */
	int from_days, to_days;	/* default -1 and 30 */
	int rsa_bits;		/* default: P-256 */
	const char *digest;	/* default SHA256 */
	bool nul_in_san;	/* "good.example\0.evil.example" */
};

/* Signed by issuer, or by itself when that is NULL. */
struct pki *pki_make(const struct pki_spec *spec, const struct pki *issuer);
void pki_free(struct pki *p);
/* A memfd with the PEM of the n certificates. */
int pki_bundle_fd(struct pki *const *list, unsigned n);

/* Two connected non-blocking sockets. */
void pki_sockets(int ret_fds[2]);
/* A plain OpenSSL peer over fd; everything is allowed to it. */
SSL_CTX *pki_context(bool is_server);
SSL *pki_peer(SSL_CTX *ctx, int fd, bool is_server);

#endif
