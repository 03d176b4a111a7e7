/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that get another value while the run lasts: `renew TIME`.
 *
 *	old	  a request is decided that carries a value older than TIME
 *	rejected  an origin has answered 401 to one
 *	     |
 *	the command runs, outside; requests that are decided from now on carry
 *	what it prints, and wait for that with their claim
 *	     |
 *	it has ended well: vault has its output, and says whether that will do
 *	     |
 *	whoever waits goes on: with the new value, or the old one
 *
 * A command that fails, hangs or prints what is no value changes nothing, and
 * nobody waits for one for more than RENEWAL_PATIENCE_MS.  Each run of it is on
 * record.
 *
 * An agent can provoke 401s as it likes, and whoever takes dial over can claim
 * them.  So the time between two runs for that cause doubles with each, up to
 * RENEWAL_WAIT_MOST_MS; so it does between two that failed.
 */
#ifndef WARDEN_RENEWAL_H
#define WARDEN_RENEWAL_H

#include "conn.h"

enum {
	RENEWAL_PATIENCE_MS = 5000,	/* less than dial waits for a lease */
	RENEWAL_COMMAND_MS = 30000,	/* as at the start */
	RENEWAL_WAIT_MS = 10000,
	RENEWAL_WAIT_MOST_MS = 15 * 60 * 1000,
};

/* A request is about to be sent with that: is some of it too old? */
must_check int renewal_look(struct warden *w, const struct credential_use *use,
			    struct err *e);
/* The origin of c's request has answered 401. */
must_check int renewal_rejected(struct warden *w, const struct conn *c,
				struct err *e);
/* Does the claim of c's request have to wait? */
bool renewal_is_awaited(const struct warden *w, const struct conn *c);
/* vault's. */
must_check int renewal_on_answer(struct warden *w, const struct msg_RENEWED *m,
				 struct err *e);
/* It was revoked. */
must_check int renewal_cancel(struct warden *w, struct credential *c,
			      struct err *e);
/* Kills and reaps what runs. */
void renewal_end_all(struct warden *w);

#endif
