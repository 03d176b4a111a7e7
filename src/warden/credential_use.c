/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request does with credentials: see credential_set.h.
 *
 * A secret owns one field of its host's requests, or one key of their queries.
 * There, over TLS, the placeholder is replaced; in any other place, and at any
 * other host, it stays a placeholder, which is harmless, and is recorded as a
 * violation.  A value of the agent's own in that place, or in another that is for
 * credentials, would let it speak to an allowed host as somebody else, so it is
 * refused; that in the field itself is replaced where the rule says `add`.
 */
#include "base64.h"
#include "credential_query.h"
#include "credential_set.h"
#include "cur.h"
#include "field.h"
#include "own.h"
#include "stray.h"

enum { SCHEME_MAX = 16 };

/* The field, or with SECRET_QUERY the key. */
static struct sv owned_place(const struct secret_rule *rule)
{
	switch (rule->form) {
	case SECRET_HEADER:
		return rule->header;
	case SECRET_QUERY:
		return rule->key;
	case SECRET_COOKIE:
		return SV("cookie");
	case SECRET_BEARER:
	case SECRET_BASIC:
		break;
	}
	return SV("authorization");
}

/* "Basic base64(user:placeholder)" with the rule's user. */
static bool is_basic(const struct credential *c, struct sv value)
{
	auto_buf struct buf plain = buf_new(HTTP_HEAD_MAX);
	struct sv user = c->rule->user, text;

	if (!sv_eq_nocase(sv_head(value, 6), SV("basic ")) ||
	    !buf_put_unbase64(&plain, sv_trim(sv_from(value, 6))))
		return false;
	text = buf_sv(&plain);
	return sv_starts(text, user) && text.n > user.n &&
	       text.p[user.n] == ':' &&
	       sv_eq(sv_from(text, user.n + 1), credential_placeholder(c));
}

/* "Bearer ", "token " and the like: one word, in which no credential has room. */
static bool is_scheme(struct sv v)
{
	if (v.n < 2 || v.n > SCHEME_MAX + 1 || v.p[v.n - 1] != ' ')
		return false;
	for (size_t i = 0; i + 1 < v.n; i++)
		if (!is_alpha(v.p[i]) && v.p[i] != '-')
			return false;
	return true;
}

/* The form in which the field's value carries the placeholder, or 0.  Beside it
 * there is no room: an origin may take the first of two credentials. */
static enum edit_form form_of(const struct credential *c, struct sv value)
{
	struct sv mark = credential_placeholder(c), front;

	if (c->rule->form == SECRET_BASIC)
		return is_basic(c, value) ? EDIT_BASIC : 0;
	if (!sv_ends(value, mark))
		return 0;
	front = sv_head(value, value.n - mark.n);
	if (c->rule->form == SECRET_COOKIE)
		return sv_eq(front, c->rule->prefix) ? EDIT_REPLACE : 0;
	return front.n == 0 || is_scheme(front) ||
	       (c->rule->form == SECRET_HEADER &&
		sv_eq(front, c->rule->prefix)) ? EDIT_REPLACE : 0;
}

static void add_edit(struct credential_use *use, const struct credential *c,
		     enum edit_form form)
{
	const struct secret_rule *rule = c->rule;
	struct edit *edit = &use->edits[use->n];

	if (use->n == EDITS_MAX) {
		use->too_many = true;
		return;
	}
	*edit = (struct edit){ .form = form, .field = owned_place(rule) };
	if (form == EDIT_REPLACE || form == EDIT_BASIC || form == EDIT_QUERY)
		edit->placeholder = credential_placeholder(c);
	else if (form == EDIT_ADD_BASIC)
		edit->prefix = rule->user;
	else if (form == EDIT_ADD && rule->form == SECRET_BEARER)
		edit->prefix = SV("Bearer ");
	else if (form == EDIT_ADD)
		edit->prefix = rule->prefix;
	use->credentials[use->n++] = c;
}

bool credential_use_is_edited(const struct credential_use *use,
			      struct sv field)
{
	for (size_t i = 0; i < use->n; i++)
		if (use->edits[i].form != EDIT_MASK &&
		    !edit_is_of_query(&use->edits[i]) &&
		    field_is_alias(use->edits[i].field, field))
			return true;
	return false;
}

static void swap_query(const struct credential *c, struct sv key,
		       const struct http_request *r, struct credential_use *use)
{
	if (r->has_query && !credential_query_is_edited(use, key) &&
	    credential_query_carries(r->query, key, c))
		add_edit(use, c, EDIT_QUERY);
}

static void swap_field(const struct credential *c, struct sv field,
		       const struct http_request *r, struct credential_use *use)
{
	struct sv value = http_field_get(&r->fields, field);
	enum edit_form form = value.p && !credential_use_is_edited(use, field) ?
			      form_of(c, value) : 0;

	if (form)
		add_edit(use, c, form);
}

/* First those whose placeholder is in its place ... */
static void swap(const struct credential_set *s, const struct question *q,
		 const struct http_request *r, struct credential_use *use)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct credential *c = &s->v[i];
		struct sv place = owned_place(c->rule);

		if (c->absent || !match_secret(c->rule, q))
			continue;
		if (c->rule->form == SECRET_QUERY)
			swap_query(c, place, r, use);
		else
			swap_field(c, place, r, use);
	}
}

/* ... then those that are added ... */
static void add(const struct credential_set *s, const struct question *q,
		const struct http_request *r, struct credential_use *use)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct credential *c = &s->v[i];
		struct sv place = owned_place(c->rule);

		if (!c->rule->add || c->absent || !match_secret(c->rule, q))
			continue;
		/* Out of a query nothing is taken: who reads which of two? */
		if (c->rule->form == SECRET_QUERY) {
			if (!credential_query_is_edited(use, place) &&
			    !credential_query_may_have(r->query, place))
				add_edit(use, c, EDIT_ADD_QUERY);
		} else if (!credential_use_is_edited(use, place)) {
			add_edit(use, c, c->rule->form == SECRET_BASIC ?
						 EDIT_ADD_BASIC : EDIT_ADD);
		}
	}
}

/* Nothing but a placeholder, of whichever secret: it is nobody's credential. */
static bool is_blank(const struct credential_set *s, struct sv value)
{
	for (size_t i = 0; i < s->n; i++)
		if (form_of(&s->v[i], value))
			return true;
	return false;
}

static bool is_key_usurped(const struct secret_rule *rule, struct sv query,
			   const struct credential_use *use)
{
	return rule->form == SECRET_QUERY &&
	       !credential_query_is_edited(use, rule->key) &&
	       credential_query_may_have(query, rule->key);
}

static bool is_field_usurped(const struct credential_set *s,
			     const struct secret_rule *rule,
			     const struct http_field *f,
			     const struct credential_use *use)
{
	if (credential_use_is_edited(use, f->name))
		return false;
	return (rule->form != SECRET_QUERY &&
		field_is_alias(f->name, owned_place(rule))) ||
	       (field_is_credential(f->name) && !is_blank(s, f->value));
}

/* ... and what the agent itself wrote, in their place or beside them: the origin
 * may go by any of it. */
static void find_usurped(const struct credential_set *s,
			 const struct question *q, const struct http_request *r,
			 struct credential_use *use)
{
	const struct credential *last = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct credential *c = &s->v[i];

		if (c->absent || !match_secret(c->rule, q))
			continue;
		last = c;
		for (size_t k = 0; k < r->fields.n; k++)
			if (is_field_usurped(s, c->rule, &r->fields.v[k], use))
				use->usurped = c;
		if (r->query.n && is_key_usurped(c->rule, r->query, use))
			use->usurped = c;
	}
	/* Whichever secret it is that is for this request. */
	if (last && r->query.n && credential_query_has_other(s, r->query, use))
		use->usurped = last;
}

static bool is_used(const struct credential_use *use,
		    const struct credential *c)
{
	for (size_t i = 0; i < use->n; i++)
		if (use->credentials[i] == c)
			return true;
	return false;
}

/* Beside those, the rest of what this origin has ever been told: it may have kept
 * a value, and hand it out in answer to a request that carries none. */
static void mask(const struct credential_set *s, const struct question *q,
		 struct credential_use *use)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct credential *c = &s->v[i];

		if (!c->absent && !is_used(use, c) &&
		    match_secret_origin(c->rule, q))
			add_edit(use, c, EDIT_MASK);
	}
}

void credential_set_use(const struct credential_set *s,
			const struct question *q,
			const struct http_request *r,
			struct credential_use *ret)
{
	*ret = (struct credential_use){ 0 };
	if (s->n == 0)
		return;
	if (q->tls) {
		swap(s, q, r, ret);
		add(s, q, r, ret);
		find_usurped(s, q, r, ret);
		mask(s, q, ret);
	}
	stray_find(s, r, ret);
}

void credential_set_redact(const struct credential_set *s, struct sv text,
			   struct buf *ret)
{
	while (text.n) {
		struct cur values = cur_of(buf_sv(&s->values));
		size_t hit = text.n, hit_n = 0;

		while (values.rest.n && !values.bad) {
			struct sv value = cur_sv(&values, SIZE_MAX);
			size_t at = sv_find_sv(text, value);

			if (at < hit) {
				hit = at;
				hit_n = value.n;
			}
		}
		buf_put(ret, sv_head(text, hit));
		if (hit_n)
			buf_puts(ret, "[secret]");
		text = sv_from(text, hit + hit_n);
	}
}
