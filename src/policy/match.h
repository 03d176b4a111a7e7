/* SPDX-License-Identifier: Apache-2.0 */
/* Deciding one canonical request: deny > ask > allow > nothing = deny. */
#ifndef POLICY_MATCH_H
#define POLICY_MATCH_H

#include "policy.h"

struct question {
	bool tls;
	struct sv method, host, path, query;	/* canonical, see request.h */
	bool has_query;
	uint16_t port;
};

struct answer {
	enum verdict verdict;
	const struct rule *rule;	/* the one that decided; NULL: none matched */
	struct sv reason;		/* one sentence, in the arena */
	struct sv allow_with;		/* the statement that would permit it;
					   empty when allowed, or when a deny
					   rule says no */
};

/* ERR_LIMIT only; *ret is a denial then too. */
must_check int match_request(const struct policy *p, const struct question *q,
			     struct arena *a, struct answer *ret,
			     struct err *e);

/* Is the secret's value for this request (TLS, host, port and path)? */
bool match_secret(const struct secret_rule *s, const struct question *q);

/* Does that host know the secret's value, at any path? */
bool match_secret_origin(const struct secret_rule *s,
			 const struct question *q);

/* The reach that covers host and port, or NULL. */
const struct reach *match_reach(const struct policy *p, struct sv host,
				uint16_t port);

/* Label by label; the pattern is "*", "*.suffix" or a name. */
bool match_host(struct sv pattern, struct sv host);

#endif
