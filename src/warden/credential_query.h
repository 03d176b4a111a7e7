/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials in a query: which of its keys carry one, and which may.
 *
 * What replaces a placeholder must know that the origin will read the pair as it
 * is written; what looks for the agent's own values must fear every reading.
 */
#ifndef WARDEN_CREDENTIAL_QUERY_H
#define WARDEN_CREDENTIAL_QUERY_H

#include "credential_set.h"

/* The placeholder is the value of the key, which is there once however the query
 * is read. */
bool credential_query_carries(struct sv query, struct sv key,
			      const struct credential *c);
/* In one of its readings the query has that key. */
bool credential_query_may_have(struct sv query, struct sv key);

/* Is the key's value replaced or added? */
bool credential_query_is_edited(const struct credential_use *use,
				struct sv key);
/* Is the pair, as it is written, the one whose placeholder is replaced? */
bool credential_query_is_edited_pair(const struct credential_use *use,
				     struct sv pair);

/* Beside what is edited there may be a value of the agent's own, of a key that is
 * for credentials alone. */
bool credential_query_has_other(const struct credential_set *s, struct sv query,
				const struct credential_use *use);

#endif
