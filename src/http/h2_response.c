/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Response heads of HTTP/2: see h2_response.h.
 *
 * As with requests, what is forwarded could end in HTTP/1, so every field is
 * judged as if it had come so.
 */
#include "h2_response.h"

#include "field.h"
#include "own.h"

static int status_take(struct http_fields *f, uint16_t *ret,
		       struct h1_refusal *why)
{
	uint64_t code;

	if (f->n == 0 || !sv_eq(f->v[0].name, SV(":status")))
		return h1_refuse(why, 502, "there is no status");
	if (f->v[0].value.n != 3 || !sv_to_u64(f->v[0].value, 599, &code) ||
	    code < 100)
		return h1_refuse(why, 502, "the status is not 100 to 599");
	if (code == 101)
		return h1_refuse(why, 502, "a switch of protocols in HTTP/2");
	*ret = (uint16_t)code;
	f->v++;
	f->n--;
	return 0;
}

static int regular_take(const struct http_fields *f, struct h1_refusal *why)
{
	if (f->n > HTTP_FIELDS_MAX)
		return h1_refuse(why, 502, "more than 128 fields");
	for (size_t i = 0; i < f->n; i++)
		if (h2_field_check(&f->v[i], why) < 0)
			return -1;
	return 0;
}

static int body_take(const struct h1_framing *f, bool ended, struct sv method,
		     struct http_response *r, struct h1_refusal *why)
{
	bool bodiless = r->status < 200 || r->status == 204 ||
			r->status == 304 || sv_eq(method, SV("HEAD"));

	if (r->status < 200 && ended)
		return h1_refuse(why, 502, "an interim head that ends it");
	if (bodiless)
		return 0;
	if (ended && f->length)
		return h1_refuse(why, 502, "a Content-Length, but no body");
	if (f->has_length || ended) {
		r->body = HTTP_BODY_LENGTH;
		r->length = f->length;
	} else {
		r->body = HTTP_BODY_CHUNKED;
	}
	return 0;
}

int h2_parse_response(struct h2_list *list, bool ended, struct sv method,
		      struct arena *a, struct http_response *ret)
{
	struct h1_refusal *why = &list->why;
	struct http_fields f = list->fields;
	struct http_response r = { 0 };
	struct h1_framing framing = { 0 };

	if (why->reason || status_take(&f, &r.status, why) < 0 ||
	    regular_take(&f, why) < 0 ||
	    h1_framing_take(&f, &framing, why) < 0 ||
	    body_take(&framing, ended, method, &r, why) < 0)
		return -1;
	r.fields = f;
	if (sv_eq(method, SV("HEAD")) && framing.has_length &&
	    r.status >= 200 && r.status != 204 && r.status != 304 &&
	    h1_keep_length(framing.length, a, &r.fields, why) < 0)
		return -1;
	*ret = r;
	return 0;
}

int h2_parse_trailers(struct h2_list *list, struct http_fields *ret)
{
	struct http_fields f = list->fields;
	size_t kept = 0;

	if (list->why.reason || regular_take(&f, &list->why) < 0)
		return -1;
	for (size_t i = 0; i < f.n; i++)
		if (field_is_trailer(f.v[i].name))
			f.v[kept++] = f.v[i];
	f.n = kept;
	*ret = f;
	return 0;
}
