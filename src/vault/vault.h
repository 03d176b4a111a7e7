/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vault: the one process that holds the CA's key and the secrets.
 *
 * It parses nothing but our own messages, and the files that entries are taken
 * from (keyfile.h).  warden starts it, and has it lease
 * values to dial (lease.c), which cannot ask; edge has certificates signed
 * (sign.c).  Until everything is there and the vault is confined, edge is not
 * listened to.
 */
#ifndef VAULT_VAULT_H
#define VAULT_VAULT_H

#include "authority.h"
#include "channel.h"
#include "loop.h"
#include "secrets.h"

/* Bytes: what all the requests carry that can be under way. */
enum { VAULT_DUE_MAX = 4 << 20 };

struct source;

struct vault {
	struct loop *loop;
	struct channel warden, edge, dial;
	struct authority *authority;	/* NULL unless want_ca */
	struct source *sources;		/* still being read */
	struct secret secrets[SECRETS_MAX];
	/* What each was before, the newest first. */
	struct secret past[SECRETS_MAX][SECRET_PAST_MAX];
	unsigned n_secrets;
	unsigned n_wanted;		/* sources that were announced */
	unsigned n_complete;
	struct buf due;			/* what dial is still to be leased */
	struct buf absent;		/* optional entries that no file has */
	struct sv searched;		/* mapped; waits for the values */
	bool started, ready, has_search;
	int status;			/* of the process */
};

/* Ends the process: says why to warden, if it is there to hear. */
void vault_fail(struct vault *v, const struct err *e);
/* To edge; what it asks next waits until it has read it. */
int vault_answer(struct vault *v, const struct msg *m, struct err *e);
/* After each step of the set-up: confines and says READY after the last. */
void vault_check_ready(struct vault *v);

/* sources.c */
int vault_on_source(struct vault *v, struct msg *m, struct err *e);
void vault_drop_sources(struct vault *v);

/* search.c: SEARCH, once; it is done when the values are there. */
int vault_on_search(struct vault *v, struct msg *m, struct err *e);
int vault_search(struct vault *v, struct err *e);
void vault_drop_search(struct vault *v);

/* sign.c: LEAF_KEY and SIGN */
int vault_on_edge(struct channel *c, struct msg *m, struct err *e);

/* renew.c: RENEW */
int vault_on_renew(struct vault *v, struct msg *m, struct err *e);

/* lease.c: GRANT */
int vault_on_grant(struct vault *v, const struct msg_GRANT *g, struct err *e);
void vault_lease_due(struct channel *dial);	/* it takes more */
int vault_on_dial(struct channel *c, struct msg *m, struct err *e);

#endif
