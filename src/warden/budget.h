/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run may ask for and send: `limit requests`, `upload` and `names`.
 *
 * A request is counted when it is allowed, with the bytes of its head.  Of its
 * body so much is reserved: all of it where its length is known, else a step,
 * and one more whenever dial says DRAW.  What is reserved counts as if it were
 * sent, so that two uploads at once cannot go beyond together; the end of the
 * exchange gives back what was not.  A relay is a request, and all of its bytes are
 * a body of unknown length.
 */
#ifndef WARDEN_BUDGET_H
#define WARDEN_BUDGET_H

#include "buf.h"
#include "match.h"
#include "match_relay.h"
#include "messages.h"
#include "request.h"

struct warden;
struct reservation;

enum { BUDGET_STEP = 256 * 1024 };

/* Of one rule. */
struct budget_use {
	uint64_t used;
	uint64_t reserved;	/* with LIMIT_UPLOAD */
};

struct budgets {
	const struct policy *policy;	/* borrowed */
	struct budget_use *uses;	/* owned; of each of its budgets */
	char **names;			/* owned, each */
	size_t names_n;
	struct reservation *reservations; /* owned list */
};

struct budget_ask {
	uint32_t conn, id;
	struct sv host;
	uint64_t head_bytes;
	enum http_body body;
	uint64_t length;	/* with HTTP_BODY_LENGTH */
	bool by_wildcard;	/* no rule names the host itself */
};

must_check int budgets_init(struct budgets *b, const struct policy *p,
			    struct err *e);
void budgets_fini(struct budgets *b);

/* Counts and reserves, all of it or nothing: then *ret_reached is the limit
 * that is in the way, else NULL.  Fails only without memory. */
must_check int budgets_take(struct budgets *b, const struct budget_ask *ask,
			    const struct budget_rule **ret_reached,
			    struct err *e);
/* What is left of a limit. */
uint64_t budgets_left(const struct budgets *b, const struct budget_rule *r);
/* How much of its body an exchange may send; without a limit UINT64_MAX. */
uint64_t budgets_allowance(struct budgets *b, uint32_t conn,
			   uint32_t id);
/* One step more, as far as there is something left.  ERR_PROTO: for an exchange
 * that has no limit. */
must_check int budgets_more(struct budgets *b, uint32_t conn, uint32_t id,
			    uint64_t *ret_allowance, struct err *e);
/* The exchange is over, or was never begun.  ERR_PROTO: it has sent more than
 * it was allowed to. */
must_check int budgets_settle(struct budgets *b, uint32_t conn, uint32_t id,
			      uint64_t sent, struct err *e);

/* The tightest limit of uploads to a host, and its place; empty without one. */
void budgets_put_limit(const struct budgets *b, struct sv host,
		       struct buf *out);

/* For decision.c: an allowed request is counted, or *answer becomes a denial
 * that names the limit. */
must_check int budget_decide(struct warden *w, const struct msg_REQUEST *m,
			     const struct http_request *r, struct arena *a,
			     struct answer *answer, struct err *e);
/* The same for a relay, which counts as a request. */
must_check int budget_open(struct warden *w, const struct msg_OPEN *m,
			   struct arena *a, struct relay_answer *answer,
			   struct err *e);

#endif
