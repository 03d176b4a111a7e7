/* SPDX-License-Identifier: Apache-2.0 */
/* Deciding one canonical request: deny > ask > allow > nothing = deny. */
#ifndef POLICY_MATCH_H
#define POLICY_MATCH_H

#include "policy.h"
#include "urlpattern.h"

struct question {
	bool tls;
	struct sv method, host, path, query;	/* canonical, see request.h */
	bool has_query;
	bool bare;		/* of path, and of rules' paths, what is behind a
				   `;` is left out: urlpattern_bare() */
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

/* What of a rule does not fit a request. */
enum match_part {
	MATCH_METHOD = 1, MATCH_PORT = 2, MATCH_QUERY = 4,
	MATCH_HOST = 8,
	MATCH_PUBLIC = 16,	/* `*` is about public names */
	MATCH_PATH = 32,
	MATCH_PATH_OTHER = 64,	/* in the path's other reading */
};
/* The parts in the way; other is the path's other reading, or .p is NULL.  An
 * allow fits each reading by itself: another may fit the other one. */
unsigned match_difference(const struct rule *r, const struct question *q,
			  struct sv other);

/* The same request without parameters in its path, which may be taken out before
 * or after %2F is decoded. */
enum { BARE_READINGS = 2 };
struct bare_reading {
	struct question q;
	char text[URLPATTERN_PATH_MAX];	/* of q.path */
};
/* How many there are; none without parameters. */
size_t match_bare_readings(const struct question *q,
			   struct bare_reading ret[BARE_READINGS]);

/* Is the secret's value for this request (TLS, host, port and path)? */
bool match_secret(const struct secret_rule *s, const struct question *q);

/* Does that host know the secret's value, at any path? */
bool match_secret_origin(const struct secret_rule *s,
			 const struct question *q);

/* The reach that covers host and port, or NULL. */
const struct reach *match_reach(const struct policy *p, struct sv host,
				uint16_t port);

/* Any method, any path: whatever else could pass is denied too. */
bool rule_is_whole_deny(const struct rule *r);
/* Could the rule be about a request to that port, over TLS or not? */
bool rule_may_be_at(const struct rule *r, uint16_t port);

/* Label by label; the pattern is "*", "*.suffix" or a name. */
bool match_host(struct sv pattern, struct sv host);

#endif
