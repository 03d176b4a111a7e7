/* SPDX-License-Identifier: Apache-2.0 */
/* Where a proxy is, as people and environments write it. */
#ifndef POLICY_PROXY_URL_H
#define POLICY_PROXY_URL_H

#include "arena.h"

struct proxy_url {
	struct sv host;		/* lower case: a name or, bare, an address */
	uint16_t port;
	bool has_login;
	struct sv user, password;	/* decoded; the arena's */
};

/*
 * "http://[USER:PASSWORD@]HOST:PORT[/]", with or without its scheme.  NULL, or a
 * sentence that says what is wrong, which quotes nothing: there may be a password
 * in the text.
 */
const char *proxy_url_parse(struct sv text, struct arena *a,
			    struct proxy_url *ret);

#endif
