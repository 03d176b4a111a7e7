/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `via proxy`: the HTTP proxy that this network has, through which every
 * connection to an origin is made, whatever it carries; the names of a `reach`
 * alone are not for it.
 *
 * A request is decided as ever, before the proxy hears of it.  Its password goes
 * into vault, and from there to dial.
 */
#ifndef WARDEN_PROXY_H
#define WARDEN_PROXY_H

#include "buf.h"
#include "messages.h"
#include "policy.h"

struct credential_set;
struct warden;

struct proxy {
	struct arena arena;
	struct sv host;			/* .n is 0: there is none */
	uint16_t port;
	bool by_name;			/* names are the proxy's to look up */
	struct sv user;			/* .n is 0: without a login */
	struct secret_rule login;	/* where the password comes from */
	struct buf password;		/* of the environment's; wiped */
	struct sv exceptions;		/* no_proxy, with the environment's */
};

/* rule is borrowed.  Without a URL in it, the environment is read. */
must_check int proxy_init(struct proxy *p, const struct proxy_rule *rule,
			  struct err *e);
void proxy_fini(struct proxy *p);	/* accepts a zeroed one */

/* The password becomes the set's. */
must_check int proxy_give_login(struct proxy *p, struct credential_set *s,
				struct err *e);
/* For dial, which waits for the password of a login ... */
void proxy_put_start(const struct proxy *p, struct msg_DIAL_START *m);
/* ... that vault sends it now, if there is one; both know each other. */
must_check int proxy_grant_login(struct warden *w, struct err *e);
/* The proxy of a connection to m->host, if it has one. */
void proxy_put_connect(const struct proxy *p, struct msg_CONNECT *m);

#endif
