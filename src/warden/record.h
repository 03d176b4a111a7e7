/* SPDX-License-Identifier: Apache-2.0 */
/* What warden writes into the audit trail; fields in docs/audit-format.md. */
#ifndef WARDEN_RECORD_H
#define WARDEN_RECORD_H

#include "match.h"
#include "match_relay.h"
#include "warden.h"

/* Every one returns -1 when it could not be written: then do not act. */
must_check int record_request(struct warden *w, const struct msg_REQUEST *m,
			      const struct answer *answer,
			      const struct credential_use *use,
			      struct err *e);
must_check int record_relay(struct warden *w, const struct msg_OPEN *m,
			    const struct relay_answer *answer, struct err *e);
must_check int record_refused(struct warden *w, const struct msg_REFUSED *m,
			      struct err *e);
/* A name that was not made inside, and the statement that says so. */
must_check int record_guard(struct warden *w, struct sv path, struct sv rule,
			    struct err *e);
/* A name that runs something outside was made, where it is the agent's. */
must_check int record_made(struct warden *w, struct sv path, struct err *e);
/* What appeared on the host, has been hidden inside, or made read-only, and the
 * statement that says so. */
must_check int record_appeared(struct warden *w, struct sv path, struct sv rule,
			       bool read_only, struct err *e);
/* At the end: how many of those are there, and their paths, NUL between. */
must_check int record_left(struct warden *w, int count, struct sv paths,
			   struct err *e);
/* Somebody calls a published port. */
must_check int record_published(struct warden *w, uint16_t port,
				struct sv from, struct err *e);
/* A placeholder where it is never replaced. */
struct violation {
	uint32_t conn, id;
	const struct credential *credential;	/* NULL: of another run */
	struct sv where;
	struct sv name;		/* of the field or key, if it was in one */
	struct sv host;
};
must_check int record_violation(struct warden *w, const struct violation *v,
				struct err *e);
/* Somebody outside has taken a secret away. */
must_check int record_revoked(struct warden *w, struct sv name, struct err *e);
/* A secret was to have another value.  because: "age" or "401", the latter of host.
 * error says why it has none; else changed. */
struct renewed {
	struct sv secret, host, error;
	const char *because;
	bool changed;
};
must_check int record_renewal(struct warden *w, const struct renewed *r,
			      struct err *e);
must_check int record_connected(struct warden *w,
				const struct msg_CONNECTED *m, struct err *e);
must_check int record_done(struct warden *w, const struct msg_DONE *m,
			   struct err *e);
must_check int record_fault(struct warden *w, const char *who, struct sv text,
			    struct err *e);

#endif
