/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials in a query: see credential_query.h. */
#include "credential_query.h"

#include "own.h"
#include "query.h"

/* KEY=VALUE, and whatever else there is, as a pattern. */
static void put_pattern(struct buf *b, struct sv key, struct sv value)
{
	buf_put(b, key);
	buf_putc(b, '=');
	buf_put(b, value);
	buf_puts(b, "&*");
}

bool credential_query_carries(struct sv query, struct sv key,
			      const struct credential *c)
{
	auto_buf struct buf b = buf_new(256);

	put_pattern(&b, key, credential_placeholder(c));
	return !b.full && query_difference(buf_sv(&b), query) == NULL;
}

bool credential_query_may_have(struct sv query, struct sv key)
{
	auto_buf struct buf b = buf_new(256);

	put_pattern(&b, key, SV("*"));
	return b.full || query_may_have(buf_sv(&b), query);
}

bool credential_query_is_edited(const struct credential_use *use,
				struct sv key)
{
	for (size_t i = 0; i < use->n; i++)
		if (edit_is_of_query(&use->edits[i]) &&
		    sv_eq(use->edits[i].field, key))
			return true;
	return false;
}

bool credential_query_is_edited_pair(const struct credential_use *use,
				     struct sv pair)
{
	size_t at = sv_find(pair, '=');

	for (size_t i = 0; i < use->n; i++)
		if (use->edits[i].form == EDIT_QUERY &&
		    sv_eq(sv_head(pair, at), use->edits[i].field) &&
		    sv_eq(sv_from(pair, at + 1), use->edits[i].placeholder))
			return true;
	return false;
}

/* Nothing but a placeholder, of whichever secret: it is nobody's credential. */
static bool is_blank(const struct credential_set *s, struct sv query,
		     struct sv key)
{
	for (size_t i = 0; i < s->n; i++)
		if (credential_query_carries(query, key, &s->v[i]))
			return true;
	return false;
}

bool credential_query_has_other(const struct credential_set *s, struct sv query,
				const struct credential_use *use)
{
	static const struct sv keys[] = {
		SV("access_token"), SV("api_key"), SV("apikey"), SV("api-key"),
		SV("auth_token"), SV("job_token"), SV("oauth_token"),
		SV("private_token"),
	};

	for (size_t i = 0; i < countof(keys); i++)
		if (!credential_query_is_edited(use, keys[i]) &&
		    credential_query_may_have(query, keys[i]) &&
		    !is_blank(s, query, keys[i]))
			return true;
	return false;
}
