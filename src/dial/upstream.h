/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to an origin, plain or TLS, that both look the same.
 *
 * It serves one origin (scheme, host, port), for one user at a time: a relay, or
 * the exchange to which the pool lends it (pool.h).  Nothing is read or written
 * behind the user's back: `ready` says that it is worth trying again.
 */
#ifndef DIAL_UPSTREAM_H
#define DIAL_UPSTREAM_H

#include "client.h"
#include "loop.h"
#include "request.h"

enum { UPSTREAM_SECRETS_MAX = 64 };

enum upstream_status {
	UPSTREAM_FAILED = 0,	/* *e says why; close it */
	UPSTREAM_OK,
	UPSTREAM_AGAIN,		/* nothing moved: `ready` will say when */
	UPSTREAM_EOF,		/* a clean end: everything has arrived */
	UPSTREAM_CUT,		/* an end that may have lost something */
};

struct lease;
struct tunnel;

struct upstream {
	struct loop *loop;	/* NULL while closed */
	int fd;			/* owned */
	struct watch watch;	/* of fd; not watched after a hang-up that
				   nobody is interested in */
	struct tunnel *tunnel;	/* owned; while a proxy connects (tunnel.h) */
	struct tls *tls;	/* NULL for plain HTTP */
	enum http_scheme scheme;
	char host[HTTP_HOST_MAX + 1];
	uint16_t port;
	uint32_t read_needs, write_needs;	/* epoll events, after AGAIN */
	bool reading, writing;	/* what the user waits for */
	void (*ready)(struct upstream *u);	/* set by the user */
	void *user;
	struct lease *lease;	/* owned; what its host may be told, or NULL */
	bool offers_h2;		/* in the handshake */
	struct h2_origin *h2;	/* owned by the pool; NULL: HTTP/1.1 */
	/* The rest is the pool's. */
	struct origin *origin;
	struct upstream *newer, *older;	/* of those that are idle */
	bool is_idle;
	struct upstream *next_h2;	/* of its origin, that offer it */
	bool is_known;		/* what it speaks */
	unsigned users;		/* exchanges to which it is lent */
	uint64_t idle_since_ms;
	size_t secrets_n;
	char secrets[UPSTREAM_SECRETS_MAX];
};

/* u is closed; takes fd on success. */
must_check int upstream_open(struct upstream *u, struct loop *l, int fd,
			     const struct http_request *to, struct err *e);
void upstream_close(struct upstream *u);	/* accepts a closed one */
static inline bool upstream_is_open(const struct upstream *u)
{
	return u->loop != NULL;
}

/* TLS only: OK once the host is verified. */
must_check enum upstream_status upstream_handshake(struct upstream *u,
						   struct tls_client *c,
						   struct err *e);
must_check enum upstream_status upstream_read(struct upstream *u, char *p,
					      size_t max, size_t *ret_n,
					      struct err *e);
/* Writes a first part of v; after AGAIN the next call starts with the same. */
must_check enum upstream_status upstream_write(struct upstream *u, struct sv v,
					       size_t *ret_n, struct err *e);
/* Tells the origin that there is no more; what it still sends can be read.
 * AGAIN: once more, when `ready` says so. */
enum upstream_status upstream_shut(struct upstream *u);
/*
 * Between two exchanges: has the origin neither ended the connection nor said
 * anything?  What it says unasked could only be taken for the next answer.
 */
bool upstream_is_quiet(struct upstream *u);
/* Which of the two `ready` is to be called for. */
void upstream_await(struct upstream *u, bool reading, bool writing);

#endif
