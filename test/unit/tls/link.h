/* SPDX-License-Identifier: Apache-2.0 */
/* A connection between our server's side and a plain OpenSSL client. */
#ifndef TEST_LINK_H
#define TEST_LINK_H

#include <openssl/ssl.h>

#include "authority.h"
#include "server.h"

extern struct tls_server *server;
extern struct authority *authority;

/* One connection: our end, and a plain OpenSSL client. */
struct link {
	int fds[2];
	struct tls *t;
	SSL_CTX *ctx;
	SSL *peer;
	struct err why;
	enum tls_status status;
};

void link_start(void);
void link_stop(void);

/* The client trusts the CA unless it `pins`; name, its SNI, may be NULL. */
void link_up(struct link *l, const char *name, bool pins);
void link_down(struct link *l);
/* Both sides step until ours is done, has failed, or wants a certificate. */
enum tls_status shake(struct link *l);
/* Signs and uses a certificate for name. */
int certify(struct link *l, const char *name);
/* l->why contains text; prints it otherwise. */
bool says(const struct link *l, const char *text);
/* A link whose handshake is over. */
void open_link(struct link *l);

#endif
