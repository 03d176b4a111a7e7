/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first message of a TLS client (RFC 8446, 4.1.2; RFC 6066, 3), read and
 * left as it is: pure.
 *
 * For connections that are carried without being opened.  Whatever is not plainly
 * well-formed is BAD: the host that it is for must read the same name as this.
 */
#ifndef HTTP_CLIENT_HELLO_H
#define HTTP_CLIENT_HELLO_H

#include "err.h"
#include "sv.h"

enum {
	CLIENT_HELLO_MAX = 16384,	/* the message, without its records */
	/* With the records' heads: a client may cut it into several. */
	CLIENT_HELLO_BYTES_MAX = 20480,
	CLIENT_HELLO_NAME_MAX = 255,
};

enum client_hello_result {
	CLIENT_HELLO_BAD = -1,	/* `fault` says why */
	CLIENT_HELLO_MORE = 0,
	CLIENT_HELLO_WHOLE,
};

struct client_hello {
	const char *fault;	/* a constant sentence */
	bool has_name;
	bool has_ech;	/* the name that is meant may be another, encrypted */
	uint8_t name_n;
	char name[CLIENT_HELLO_NAME_MAX];	/* as it was sent, no NUL */
};

static inline struct sv client_hello_name(const struct client_hello *h)
{
	return sv_of(h->name, h->name_n);
}

/* in is all that the client has sent so far, from its first byte. */
must_check enum client_hello_result client_hello_parse(struct sv in,
						       struct client_hello *ret);

/* Why a connection to host must not be carried; NULL: it may.  h is WHOLE. */
const char *client_hello_fault(const struct client_hello *h, struct sv host);

#endif
