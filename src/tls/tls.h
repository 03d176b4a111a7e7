/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One TLS connection over a non-blocking socket: what both sides share.
 *
 * tls_server_accept() (server.h) or tls_client_connect() (client.h) makes it;
 * tls_handshake() is called until it is TLS_OK, then tls_read() and
 * tls_write().  Every call says what it needs to go on:
 *
 *	TLS_OK		done; *ret_n bytes were moved
 *	TLS_WANT_READ	nothing moved: call again when the socket is readable
 *	TLS_WANT_WRITE	nothing moved: call again when it is writable
 *	TLS_WANT_CERT	server only: decide on tls_sni(), see server.h
 *	TLS_EOF		the peer said close_notify: all it sent has arrived
 *	TLS_CUT		the socket ended without: what came may be truncated
 *	TLS_FAILED	*e says why; free the connection
 *
 * OpenSSL holds bytes that the socket no longer shows.  So: read until
 * TLS_WANT_READ, or, after stopping earlier, ask tls_pending() before waiting
 * for the socket.  There is no renegotiation, no compression and no early data.
 */
#ifndef TLS_TLS_H
#define TLS_TLS_H

#include "err.h"
#include "sv.h"

struct tls;

enum tls_status {
	TLS_FAILED = 0,
	TLS_OK,
	TLS_WANT_READ,
	TLS_WANT_WRITE,
	TLS_WANT_CERT,
	TLS_EOF,
	TLS_CUT,
};

/* The alerts by which a handshake is refused (RFC 8446, 6.2). */
enum tls_alert {
	TLS_ALERT_NONE = 0,
	TLS_ALERT_HANDSHAKE_FAILURE = 40,
	TLS_ALERT_ILLEGAL_PARAMETER = 47,
	TLS_ALERT_ACCESS_DENIED = 49,
	TLS_ALERT_DECODE_ERROR = 50,
	TLS_ALERT_INTERNAL_ERROR = 80,
	TLS_ALERT_UNRECOGNIZED_NAME = 112,
};

/* Frees the state only: no alert is sent, the descriptor is the caller's. */
void tls_free(struct tls *t);

must_check enum tls_status tls_handshake(struct tls *t, struct err *e);

/* Reads at most max bytes, max > 0. */
must_check enum tls_status tls_read(struct tls *t, char *p, size_t max,
				    size_t *ret_n, struct err *e);
/*
 * Writes a first part of v, v.n > 0.  After TLS_WANT_* the next call must
 * start with the same bytes (at another address, if need be) and may have more.
 */
must_check enum tls_status tls_write(struct tls *t, struct sv v,
				     size_t *ret_n, struct err *e);
/* Something can be read without waiting for the socket. */
bool tls_pending(const struct tls *t);
/*
 * Says close_notify; TLS_OK when it is out, or when it no longer matters.
 * Does not wait for the peer's.
 */
must_check enum tls_status tls_shutdown(struct tls *t);

/* After the handshake: HTTP/2 was chosen. */
bool tls_is_h2(const struct tls *t);
/* For the record: "TLSv1.3"; "" before the handshake is over. */
const char *tls_version(const struct tls *t);

#endif
