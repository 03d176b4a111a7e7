/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket below a TLS connection, as OpenSSL sees it.
 *
 * OpenSSL writes each record by itself.  A system call costs as much as
 * encrypting a record, and wakes the peer: so the records of one tls_write() are
 * gathered and leave in one call.  What the kernel does not take at once is kept
 * until it does.
 */
#ifndef TLS_SOCKET_H
#define TLS_SOCKET_H

#include <openssl/bio.h>

#include "buf.h"

enum {
	SOCKET_RECORDS = 5,	/* gathered at most: 64 KiB and their frames */
	SOCKET_PLAIN = 16384,	/* of a record */
	SOCKET_RECORD = SOCKET_PLAIN + 256,	/* with what belongs to it */
};

struct socket {
	int fd;			/* borrowed */
	bool gathers;
	bool eof;
	struct buf kept;	/* records that the kernel has not taken */
	size_t covers;		/* what was to be written, in bytes */
};

/* Of s, which must stay where it is; NULL: no memory. */
BIO *socket_bio(struct socket *s);
/* What is written from now on waits for socket_flush(). */
void socket_gather(struct socket *s);
/* 1 all is written, 0 would block, -1 it failed: errno says how. */
must_check int socket_flush(struct socket *s);
void socket_fini(struct socket *s);

#endif
