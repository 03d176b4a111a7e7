/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warden: decides, records, and hands out descriptors.
 *
 * It parses nothing but the messages of the table.  The helpers do not exist
 * before they are needed: vault starts before the command when the policy
 * speaks of TLS or names a secret, edge with the first packet out of the
 * sandbox, dial and resolve with the first request that is allowed.  A helper
 * that ends, by whatever cause, or does not answer (pulse.c) is not started
 * again: the network of the run has ended.  edge stays, if it is not the one,
 * and says so to whoever asks.
 */
#ifndef WARDEN_WARDEN_H
#define WARDEN_WARDEN_H

#include "budget.h"
#include "channel.h"
#include "credential_set.h"
#include "helper.h"
#include "policy.h"
#include "proxy.h"
#include "trail.h"

struct conn;

enum { WARDEN_BUCKETS = 2048 };

struct warden {
	struct loop *loop;		/* borrowed */
	const struct policy *policy;	/* borrowed */
	struct trail *trail;		/* borrowed */
	struct credential_set credentials;
	struct budgets budgets;
	struct proxy proxy;		/* of the network that we are in */

	struct helper edge, vault, dial, resolve;
	struct timer pulse;
	bool pulse_is_fast;
	bool intercept;			/* TLS is opened: vault has a CA */
	struct buf ca_pem;		/* from READY */
	bool vault_ready;
	struct { bool asked, answered; struct msg_FOUND found; } search;
	struct timer vault_timer;

	/* The sandbox's sockets, until edge has them. */
	int listener_fd, dns_fd;
	struct watch listener_watch, dns_watch;

	struct conn *conns[WARDEN_BUCKETS];
	size_t conns_n;
	uint64_t connecting;		/* CONNECTs without an answer */
	uint64_t allowed, denied, violations;
	bool over;			/* the command has ended: nothing begins */
	struct err fault;		/* kind ERR_NONE while all is well */
	/* Something that no request may follow: the run must end. */
	void (*failed)(struct warden *w);
};

/*
 * Opens the policy's secret sources, makes the placeholders and starts vault
 * when the policy needs it.  Wipes the values of `from env` sources from this
 * process's environment: call it before anything is cloned.
 */
must_check int warden_init(struct warden *w, struct loop *l,
			   const struct policy *p, struct trail *t,
			   struct seal *seal, struct err *e);
/* All that vault was asked before the command is answered. */
static inline bool warden_has_vault(const struct warden *w)
{
	return w->vault_ready && (!w->search.asked || w->search.answered);
}
/* Waits for vault's "ready" (with a limit); nothing to do without vault. */
must_check int warden_await_vault(struct warden *w, struct err *e);
/* Before that: has vault look for the values in what the agent will be able to
 * read.  Nothing to do where there is no vault. */
must_check int warden_search(struct warden *w, struct sv text, struct err *e);
/* After it: is one there?  Which, and at which byte. */
bool warden_has_found(const struct warden *w, struct sv *ret_name,
		      size_t *ret_at);
/* Takes the sandbox's sockets; edge starts with the first packet. */
must_check int warden_serve(struct warden *w, int listener_fd, int dns_fd,
			    struct err *e);
/* No request that is decided from now on carries that secret.  Recorded; what was
 * decided before goes on.  An error: there is none of that name, or, though it is
 * done, it could not be recorded. */
must_check int warden_revoke(struct warden *w, struct sv name, struct err *e);
/* The command has ended: records what the helpers still have to say of it, for a
 * fraction of a second at most. */
void warden_hear_out(struct warden *w);
/* Ends the helpers and waits for them. */
void warden_fini(struct warden *w);

/* For the files of this folder. */
int warden_start_edge(struct warden *w, struct err *e);
int warden_start_origin_side(struct warden *w, struct err *e);
/* edge is not read while what is said because of it has no room. */
void warden_pace(struct warden *w);
/* pulse.c: asks the helpers for a sign of life, from now on; more often while
 * something is under way. */
void pulse_start(struct warden *w);
void pulse_hurry(struct warden *w);

int warden_on_edge(struct channel *c, struct msg *m, struct err *e);
int warden_on_vault(struct channel *c, struct msg *m, struct err *e);
int warden_on_dial(struct channel *c, struct msg *m, struct err *e);
int warden_on_resolve(struct channel *c, struct msg *m, struct err *e);

#endif
