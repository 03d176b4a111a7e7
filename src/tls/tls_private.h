/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder know of a connection. */
#ifndef TLS_PRIVATE_H
#define TLS_PRIVATE_H

#include <openssl/ssl.h>

#include "socket.h"
#include "tls.h"

struct tls {
	SSL *ssl;			/* app data: this */
	struct socket socket;
	struct tls_server *server;	/* borrowed; NULL on the client's side */
	struct tls_client *client;	/* borrowed; NULL on the server's side */
	bool drained;		/* the last read found nothing whole */
	bool broken;		/* a fatal error: not even close_notify */
	bool cut;		/* the socket ended without close_notify */
	bool has_read;		/* at least one byte */
	int alert;		/* the peer's fatal alert, or -1 */
	/* The server's SNI as it was sent; the client's canonical host,
	 * terminated. */
	size_t name_n;
	char name[256];
	/* server */
	bool has_hello, has_ech, has_certificate, has_alpn_clash;
	enum tls_alert refusal;
	/* client: why the chain was refused, the first reason; NULL: it is not */
	struct err *verdict;	/* owned */
};

/* Starts libssl, and ignores SIGPIPE. */
must_check int tls_start_(struct err *e);
/* The settings that both sides share. */
must_check int tls_context_(SSL_CTX *ctx, struct err *e);
/* A connection of ctx over fd, its sides and state still unset. */
must_check struct tls *tls_new_(SSL_CTX *ctx, int fd, struct err *e);
/* What a host has offered to be resumed is not: a connection to it failed. */
void tls_client_forget_(struct tls *t);

#endif
