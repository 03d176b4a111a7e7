/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deciding one relay: deny > ask > allow > nothing = deny, as for requests.
 *
 * What denies every request to a host denies these too; what is denied as tls is
 * denied as tcp, which could carry it.
 */
#ifndef POLICY_MATCH_RELAY_H
#define POLICY_MATCH_RELAY_H

#include "policy.h"

struct relay_question {
	enum relay_kind kind;
	struct sv host;			/* canonical */
	uint16_t port;
};

struct relay_answer {
	enum verdict verdict;
	/* Some rule, whatever another says, is for relays of that kind to that
	 * host and port: it is not one for HTTP. */
	bool opaque;
	struct sv rule;			/* the statement that decided, or empty */
	const struct origin *origin;	/* its place */
	struct sv reason, allow_with;	/* as in struct answer */
};

/* ERR_LIMIT only; *ret is a denial then too. */
must_check int match_relay(const struct policy *p,
			   const struct relay_question *q, struct arena *a,
			   struct relay_answer *ret, struct err *e);

/* "tcp" or "tls". */
struct sv relay_kind_word(enum relay_kind kind);

/* Could both patterns mean the same host? */
bool match_overlap(struct sv a, struct sv b);

/*
 * Of all statements together: what is relayed to a host and port is not read,
 * so no other rule and no secret may be about it.
 */
must_check int relays_check(const struct policy *p, struct err *e);

#endif
