/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared part of HTTP/1 heads: see h1_head.h.
 *
 * Lines end in CRLF and in nothing else; a carriage return or line feed
 * anywhere else is refused as soon as it is seen, so that a client that ends
 * its lines otherwise gets an answer and does not wait for ever.
 */
#include "h1_head.h"

#include "field.h"
#include "h1_request.h"

enum { LENGTH_DIGITS_MAX = 18 };

int h1_refuse(struct h1_refusal *r, uint16_t status, const char *reason)
{
	if (!r->reason)
		*r = (struct h1_refusal){ status, reason };
	return -1;
}

ssize_t h1_head_length(struct sv in)
{
	size_t at = 0;

	for (;;) {
		struct sv rest = sv_of(in.p + at, in.n - at);
		size_t n = sv_find(rest, '\n');
		size_t cr = sv_find(sv_head(rest, n), '\r');

		/* The only CR of a line is the one before its LF. */
		if (n == rest.n)
			return cr + 1 < n ? H1_BAD : H1_MORE;
		if (cr + 1 != n)
			return H1_BAD;
		at += n + 1;
		if (cr == 0)
			return (ssize_t)at;
	}
}

struct sv h1_line(struct sv *head)
{
	size_t n = sv_find_sv(*head, SV("\r\n"));
	struct sv line = sv_head(*head, n);

	*head = sv_from(*head, n + 2);
	return line;
}

/* One line to a field. */
static int field_parse(struct sv line, struct http_field *ret,
		       struct h1_refusal *why)
{
	size_t colon = sv_find(line, ':');
	struct sv name = sv_head(line, colon);
	struct sv value;
	char *lower = (char *)(uintptr_t)name.p;

	if (line.p[0] == ' ' || line.p[0] == '\t')
		return h1_refuse(why, 400, "a field is folded over lines");
	if (colon == line.n)
		return h1_refuse(why, 400, "a field has no colon");
	if (!is_token(name))
		return h1_refuse(why, 400, "a field name is not a token");
	value = sv_trim(sv_from(line, colon + 1));
	if (!is_field_value(value))
		return h1_refuse(why, 400,
				 "a field value has a control character");
	for (size_t i = 0; i < name.n; i++)
		lower[i] = ascii_lower(lower[i]);
	*ret = (struct http_field){ name, value };
	return 0;
}

int h1_fields_parse(struct sv head, struct arena *a, struct http_fields *ret,
		    struct h1_refusal *why)
{
	struct http_fields f = { 0 };
	size_t cap = 0;

	for (;;) {
		struct sv line = h1_line(&head);
		struct http_field *field;

		if (line.n == 0)
			break;
		if (f.n == HTTP_FIELDS_MAX)
			return h1_refuse(why, 431, "more than 128 fields");
		field = arena_push(a, &f.v, &f.n, &cap);
		if (!field)
			return h1_refuse(why, 431,
					 "the head needs too much memory");
		if (field_parse(line, field, why) < 0)
			return -1;
	}
	*ret = f;
	return 0;
}

static int length_take(struct sv value, struct h1_framing *ret,
		       struct h1_refusal *why)
{
	if (ret->has_length)
		return h1_refuse(why, 400, "more than one Content-Length");
	if (value.n > LENGTH_DIGITS_MAX ||
	    !sv_to_u64(value, UINT64_MAX, &ret->length))
		return h1_refuse(why, 400, "Content-Length is not a plain "
					   "number of at most 18 digits");
	ret->has_length = true;
	return 0;
}

/* One field of this hop. */
static int hop_take(const struct http_field *f, struct h1_framing *ret,
		    struct h1_refusal *why)
{
	if (sv_eq(f->name, SV("content-length")))
		return length_take(f->value, ret, why);
	if (sv_eq(f->name, SV("transfer-encoding"))) {
		if (ret->chunked)
			return h1_refuse(why, 400,
					 "more than one Transfer-Encoding");
		if (!sv_eq(f->value, SV("chunked")))
			return h1_refuse(why, 501, "Transfer-Encoding is not "
						   "exactly \"chunked\"");
		ret->chunked = true;
	} else if (sv_eq(f->name, SV("host"))) {
		if (ret->host.p)
			return h1_refuse(why, 400, "more than one Host");
		ret->host = f->value;
	} else if (sv_eq(f->name, SV("expect"))) {
		if (!sv_eq_nocase(f->value, SV("100-continue")))
			return h1_refuse(why, 417, "Expect is not "
						   "\"100-continue\"");
		ret->wants_continue = true;
	} else if (sv_eq(f->name, SV("te"))) {
		ret->wants_trailers |= list_has(f->value, SV("trailers"));
	} else if (sv_eq(f->name, SV("upgrade"))) {
		ret->wants_websocket |= list_has(f->value, SV("websocket"));
	}
	return 0;
}

/* Connection: what it says, and which fields it nominates. */
static int connection_take(const struct http_fields *f, struct h1_framing *ret,
			   struct h1_refusal *why)
{
	for (size_t i = 0; i < f->n; i++) {
		struct sv rest = f->v[i].value, option;

		if (!sv_eq(f->v[i].name, SV("connection")))
			continue;
		while (list_next(&rest, &option)) {
			if (!is_token(option))
				return h1_refuse(why, 400, "Connection has an "
						 "option that is no token");
			ret->wants_close |= sv_eq_nocase(option, SV("close"));
			ret->wants_upgrade |= sv_eq_nocase(option,
							   SV("upgrade"));
		}
	}
	return 0;
}

/* Does some Connection field name it, as one that ends here? */
static bool is_nominated(const struct http_fields *f, struct sv name)
{
	for (size_t i = 0; i < f->n; i++)
		if (sv_eq(f->v[i].name, SV("connection")) &&
		    list_has(f->v[i].value, name))
			return !field_is_protected(name);
	return false;
}

int h1_framing_take(struct http_fields *f, struct h1_framing *ret,
		    struct h1_refusal *why)
{
	struct h1_framing framing = { 0 };
	size_t kept = 0;

	if (connection_take(f, &framing, why) < 0)
		return -1;
	for (size_t i = 0; i < f->n; i++) {
		const struct http_field *field = &f->v[i];

		/* "content_length" and the like: one variable with the other
		 * to an origin behind a gateway interface. */
		if (field_is_misspelt(field->name))
			return h1_refuse(why, 400, "a field name has another "
					 "character for a hyphen");
		if (field_is_hop(field->name) &&
		    hop_take(field, &framing, why) < 0)
			return -1;
	}
	framing.wants_websocket &= framing.wants_upgrade;
	/* Nominations are read from fields that go themselves: mark first. */
	for (size_t i = 0; i < f->n; i++)
		if (!field_is_hop(f->v[i].name) &&
		    is_nominated(f, f->v[i].name))
			f->v[i].name = (struct sv){ 0 };
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].name.n && !field_is_hop(f->v[i].name))
			f->v[kept++] = f->v[i];
	f->n = kept;
	*ret = framing;
	return 0;
}

bool h1_expects_body(struct sv method)
{
	return sv_eq(method, SV("POST")) || sv_eq(method, SV("PUT")) ||
	       sv_eq(method, SV("PATCH"));
}

int h1_version(struct sv v)
{
	if (sv_eq(v, SV("HTTP/1.1")))
		return 1;
	if (sv_eq(v, SV("HTTP/1.0")))
		return 0;
	return v.n == 8 && sv_starts(v, SV("HTTP/")) && is_digit(v.p[5]) &&
	       v.p[6] == '.' && is_digit(v.p[7]) ? -2 : -1;
}
