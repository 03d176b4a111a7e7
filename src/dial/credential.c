/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials into requests: see credential.h. */
#include "credential.h"

#include "base64.h"
#include "field.h"
#include "own.h"

static bool is_visible(struct sv v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] <= ' ' || v.p[i] > '~')
			return false;
	return v.n > 0;
}

/* The index of the only field of that name. */
static int only_field(const struct http_fields *f, struct sv name,
		      size_t *ret, struct err *e)
{
	size_t found = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (!field_is_alias(f->v[i].name, name))
			continue;
		found++;
		*ret = i;
	}
	if (found != 1 || !sv_eq(f->v[*ret].name, name))
		return err_kind(e, ERR_PROTO, "the field of a credential is "
				"there %zu times, not once", found);
	return 0;
}

/* The fields without those called name, and room for one more. */
static int fields_without(const struct http_fields *f, struct sv name,
			  struct arena *a, struct http_fields *ret,
			  struct err *e)
{
	struct http_field *v = arena_alloc(a, (f->n + 1) * sizeof(*v));
	size_t n = 0;

	if (!v)
		return err_kind(e, ERR_LIMIT, "out of memory");
	for (size_t i = 0; i < f->n; i++)
		if (!field_is_alias(f->v[i].name, name))
			v[n++] = f->v[i];
	*ret = (struct http_fields){ v, n };
	return 0;
}

/* text with the one placeholder in it replaced. */
static int put_replaced(struct buf *b, struct sv text, struct sv placeholder,
			struct sv value, struct err *e)
{
	size_t at = sv_find_sv(text, placeholder);
	struct sv rest;

	if (at == text.n)
		return err_kind(e, ERR_PROTO, "the placeholder is not in its "
				"field");
	rest = sv_from(text, at + placeholder.n);
	if (sv_find_sv(rest, placeholder) < rest.n)
		return err_kind(e, ERR_PROTO, "the placeholder is in its field "
				"more than once");
	buf_put(b, sv_head(text, at));
	buf_put(b, value);
	buf_put(b, rest);
	return 0;
}

/* "Basic " and base64 of user ":" password. */
static void put_basic(struct buf *b, struct sv user, struct sv password,
		      struct sv *ret)
{
	size_t plain = b->n, start;

	buf_put(b, user);
	buf_putc(b, ':');
	buf_put(b, password);
	start = b->n;
	buf_puts(b, "Basic ");
	/* Reserved beforehand, so what is read does not move. */
	buf_put_base64(b, sv_of(b->p + plain, start - plain));
	*ret = sv_from(buf_sv(b), start);
}

/* The user of "Basic base64(user:placeholder)". */
static int basic_user(struct sv value, struct sv placeholder,
		      struct buf *plain, struct sv *ret, struct err *e)
{
	struct sv text;
	size_t colon;

	if (!sv_eq_nocase(sv_head(value, 6), SV("basic ")) ||
	    !buf_put_unbase64(plain, sv_trim(sv_from(value, 6))))
		return err_kind(e, ERR_PROTO, "the field of a credential is "
				"not basic authentication");
	text = buf_sv(plain);
	colon = sv_find(text, ':');
	if (!sv_eq(sv_from(text, colon + 1), placeholder))
		return err_kind(e, ERR_PROTO, "the password is not the "
				"placeholder");
	*ret = sv_head(text, colon);
	return 0;
}

/* The new value of the field, in scratch. */
static int new_value(const struct edit *edit, struct sv value, struct sv old,
		     struct buf *scratch, struct sv *ret, struct err *e)
{
	auto_buf struct buf plain = buf_new(HTTP_HEAD_MAX);
	size_t start = scratch->n;
	struct sv user = edit->prefix;

	switch (edit->form) {
	case EDIT_REPLACE:
		if (put_replaced(scratch, old, edit->placeholder, value,
				 e) < 0)
			return -1;
		*ret = sv_from(buf_sv(scratch), start);
		break;
	case EDIT_ADD:
		buf_put(scratch, edit->prefix);
		buf_put(scratch, value);
		*ret = sv_from(buf_sv(scratch), start);
		break;
	case EDIT_BASIC:
		if (basic_user(old, edit->placeholder, &plain, &user, e) < 0)
			return -1;
		put_basic(scratch, user, value, ret);
		break;
	case EDIT_ADD_BASIC:
		put_basic(scratch, user, value, ret);
		break;
	case EDIT_MASK:
	case EDIT_QUERY:
	case EDIT_ADD_QUERY:
	default:
		return err_kind(e, ERR_PROTO, "an edit of an unknown form");
	}
	return buf_check(scratch, "credential", e);
}

/* Where the value of KEY=placeholder begins, the only one; or the query's end. */
static size_t pair_value(struct sv query, const struct edit *edit)
{
	size_t at = sv_find_sv(query, edit->placeholder);
	struct sv front = sv_head(query, at);
	struct sv rest = sv_from(query, at + edit->placeholder.n);

	if ((rest.n && rest.p[0] != '&') ||
	    sv_find_sv(rest, edit->placeholder) < rest.n ||
	    !sv_ends(front, SV("=")))
		return query.n;
	front.n--;
	if (!sv_ends(front, edit->field))
		return query.n;
	front.n -= edit->field.n;
	return front.n == 0 || sv_ends(front, SV("&")) ? at : query.n;
}

static int apply_query(const struct edit *edit, struct sv value,
		       struct http_request *r, struct buf *scratch,
		       struct err *e)
{
	size_t start = scratch->n, at = r->query.n;

	if (edit->form == EDIT_QUERY) {
		at = pair_value(r->query, edit);
		if (at == r->query.n)
			return err_kind(e, ERR_PROTO, "the placeholder is not "
					"in its place in the query");
	}
	buf_put(scratch, sv_head(r->query, at));
	if (edit->form == EDIT_ADD_QUERY) {
		if (r->query.n)
			buf_putc(scratch, '&');
		buf_put(scratch, edit->field);
		buf_putc(scratch, '=');
	}
	buf_put_percent(scratch, value);
	buf_put(scratch, sv_from(r->query, at + edit->placeholder.n));
	if (buf_check(scratch, "credential", e) < 0)
		return -1;
	r->query = sv_from(buf_sv(scratch), start);
	r->has_query = true;
	return 0;
}

static int apply_field(const struct edit *edit, struct sv value,
		       struct http_fields *f, struct arena *a,
		       struct buf *scratch, struct err *e)
{
	struct http_fields out;
	struct sv old = { 0 }, text;
	size_t at = 0;

	if (edit->form == EDIT_REPLACE || edit->form == EDIT_BASIC) {
		if (only_field(f, edit->field, &at, e) < 0)
			return -1;
		old = f->v[at].value;
	}
	if (new_value(edit, value, old, scratch, &text, e) < 0 ||
	    fields_without(f, edit->field, a, &out, e) < 0)
		return -1;
	out.v[out.n++] = (struct http_field){ edit->field, text };
	*f = out;
	return 0;
}

int credential_apply(const struct edit *edit, struct sv value,
		     struct http_request *r, struct arena *a,
		     struct buf *scratch, struct err *e)
{
	bool swaps = edit->form == EDIT_REPLACE || edit->form == EDIT_BASIC ||
		     edit->form == EDIT_QUERY;

	if (!is_visible(value))
		return err_kind(e, ERR_PROTO, "a credential is not visible "
				"ASCII");
	if (edit->form == EDIT_MASK)
		return 0;
	if (swaps && edit->placeholder.n == 0)
		return err_kind(e, ERR_PROTO, "an edit without placeholder");
	if (!scratch->p && !buf_reserve(scratch, scratch->max))
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (edit_is_of_query(edit))
		return apply_query(edit, value, r, scratch, e);
	return apply_field(edit, value, &r->fields, a, scratch, e);
}

int credential_shape(struct http_fields *f, struct arena *a, struct err *e)
{
	static const struct sv unwanted[] = {
		SV("range"), SV("if-range"), SV("accept-encoding"),
	};
	struct http_fields out = *f;

	for (size_t i = 0; i < countof(unwanted); i++)
		if (fields_without(&out, unwanted[i], a, &out, e) < 0)
			return -1;
	out.v[out.n++] = (struct http_field){ SV("accept-encoding"),
					      SV("identity") };
	*f = out;
	return 0;
}
