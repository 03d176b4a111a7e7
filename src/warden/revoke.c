/* SPDX-License-Identifier: Apache-2.0 */
/* The user takes a secret away from a run: see warden.h. */
#include "record.h"
#include "renewal.h"

int warden_revoke(struct warden *w, struct sv name, struct err *e)
{
	struct credential *c = credential_set_find(&w->credentials, name);

	if (!c)
		return err_kind(e, ERR_POLICY, "this run has no secret %.*s",
				SV_FMT(name));
	if (c->is_revoked)
		return 0;
	/* It takes a right away, so it is done even where it cannot be
	 * recorded. */
	c->is_revoked = true;
	if (record_revoked(w, c->rule->name, e) < 0)
		return -1;
	return renewal_cancel(w, c, e);
}
