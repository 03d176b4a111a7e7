/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's side of TLS, for edge.
 *
 * One context and one P-256 key for the process; certificates for that key
 * come from vault, one for each name.  A handshake stops at TLS_WANT_CERT when
 * the ClientHello has been read and nothing has been answered yet.  Then:
 *
 *	name = validated tls_sni(t), or if that is empty the name known
 *	       from elsewhere (CONNECT, the synthetic address);
 *	if (tls_use_cached(t, name))
 *		goto tls_handshake();
 *	ask vault to sign name; on its answer
 *		tls_use_certificate(t, name, der, e), tls_handshake();
 *
 * or tls_refuse(t, alert), tls_handshake(), which then sends that alert and
 * fails.  The same way works where nothing is intercepted at all: accept, read
 * the name for the record, refuse.
 *
 * TLS 1.2 and 1.3, AEAD and forward secrecy only; no tickets, no resumption:
 * each connection of the agent proves itself anew.  ALPN: h2 when it is
 * offered, or else http/1.1; nothing when nothing is; otherwise
 * no_application_protocol(120).
 */
#ifndef TLS_SERVER_H
#define TLS_SERVER_H

#include "tls.h"

struct tls_server;

/* Makes the key: about 0.1 ms.  Needs no file, before or afterwards. */
must_check struct tls_server *tls_server_new(struct err *e);
/* After all its connections are freed. */
void tls_server_free(struct tls_server *s);
/* DER SubjectPublicKeyInfo of the key, for LEAF_KEY. */
struct sv tls_server_spki(const struct tls_server *s);

/* fd is borrowed, non-blocking, and outlives the connection. */
must_check struct tls *tls_server_accept(struct tls_server *s, int fd,
					 struct err *e);

/*
 * From TLS_WANT_CERT on: the name in the ClientHello as it was sent, not
 * validated, not even for NUL; empty when there is none.  A malformed or second
 * one was refused already, and so is another one after HelloRetryRequest.
 */
struct sv tls_sni(const struct tls *t);
/* The ClientHello carries ECH, real or grease; we never answer to it. */
bool tls_has_ech(const struct tls *t);

/* Uses the certificate that an earlier connection got for name, if any. */
must_check bool tls_use_cached(struct tls *t, struct sv name);
/*
 * Uses der and keeps it for later connections; it must be for our key.  name
 * is the caller's canonical name.  At most 1024 names are kept.
 */
must_check int tls_use_certificate(struct tls *t, struct sv name,
				   struct sv der, struct err *e);
/* The next tls_handshake() sends this alert and fails. */
void tls_refuse(struct tls *t, enum tls_alert alert);

/*
 * After TLS_FAILED or TLS_CUT of a handshake: the client rejected our
 * certificate (it pins one, or brings its own roots).  *e says so too.
 */
bool tls_is_distrusted(const struct tls *t);
/*
 * After TLS_CUT of a handshake or of the first read: the client hung up on our
 * certificate without a word, as Node and GnuTLS do when they do not trust it;
 * others may have other reasons.
 */
bool tls_is_doubted(const struct tls *t);

#endif
