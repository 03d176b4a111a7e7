/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origin's side of TLS, for dial.
 *
 * TLS 1.2 and 1.3; the chain must end in a root of the bundles, at security
 * level 2 (no SHA-1, no RSA below 2048 bits), and the certificate must be for
 * the host by its subject alternative names: the common name never counts, nor
 * does a wildcard inside a label.  There is no way to switch this off.
 *
 * The bundles are mapped when they are added, so that dial may confine itself
 * afterwards, and indexed at the first handshake; only the roots that a chain
 * asks for are parsed and kept.  Sessions are resumed per host, never across.
 *
 *	t = tls_client_connect(c, fd, host, h2, e);
 *	tls_handshake(t, e) until TLS_OK: the host is verified;
 *	TLS_FAILED: *e is precise: "the certificate of h expired on ..."
 */
#ifndef TLS_CLIENT_H
#define TLS_CLIENT_H

#include "tls.h"

struct tls_client;

/* Needs no file, before or afterwards, but the bundles. */
must_check struct tls_client *tls_client_new(struct err *e);
/* After all its connections are freed. */
void tls_client_free(struct tls_client *c);

/*
 * Adds a PEM bundle, at most 16 MiB; fd is borrowed and no longer needed
 * afterwards.  Without any, no host verifies.
 */
must_check int tls_client_roots(struct tls_client *c, int fd, struct err *e);

/*
 * fd is borrowed, non-blocking, connected, and outlives the connection.  host
 * is a canonical DNS name: lower case, no final dot, not an address.  HTTP/2 is
 * offered only with h2: see tls_is_h2().
 */
must_check struct tls *tls_client_connect(struct tls_client *c, int fd,
					  struct sv host, bool h2,
					  struct err *e);

#endif
