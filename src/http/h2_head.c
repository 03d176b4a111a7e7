/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request heads of HTTP/2: see h2_head.h.
 *
 * The request goes on as HTTP/1.1, so every byte that could mean something
 * there is judged as if it had come so: the fields of this hop by the same
 * code, and what is left by the same last check.  In HTTP/2 nothing frames a
 * message but its frames; a field that claims to is refused (RFC 9113, 8.2.2).
 */
#include "h2_head.h"

#include "canonical.h"
#include "field.h"
#include "own.h"
#include "target.h"
#include "websocket.h"

enum { TARGET_MAX = HTTP_PATH_MAX + 1 + HTTP_QUERY_MAX };

struct pseudo {
	struct sv method, scheme, authority, path, protocol;
	/* .p NULL: none */
};

void h2_list_add(struct h2_list *l, struct arena *a, struct sv name,
		 struct sv value)
{
	struct http_fields *f = &l->fields;
	struct http_field *field;

	if (l->why.reason)
		return;
	/* The overhead that SETTINGS_MAX_HEADER_LIST_SIZE counts. */
	l->bytes += name.n + value.n + 32;
	if (l->bytes > HTTP_HEAD_MAX) {
		(void)h1_refuse(&l->why, 431, "the head is longer than 65536 "
					      "bytes");
		return;
	}
	if (f->n == H2_FIELDS_MAX) {
		(void)h1_refuse(&l->why, 431, "more than 256 fields");
		return;
	}
	field = arena_push(a, &f->v, &f->n, &l->cap);
	if (field)
		*field = (struct http_field){ arena_dup(a, name),
					      arena_dup(a, value) };
	if (!field || !field->name.p || !field->value.p)
		(void)h1_refuse(&l->why, 431, "the head needs too much memory");
}

static int pseudo_take(const struct http_field *f, struct pseudo *ret,
		       struct h1_refusal *why)
{
	struct sv *to;

	if (sv_eq(f->name, SV(":method")))
		to = &ret->method;
	else if (sv_eq(f->name, SV(":scheme")))
		to = &ret->scheme;
	else if (sv_eq(f->name, SV(":authority")))
		to = &ret->authority;
	else if (sv_eq(f->name, SV(":path")))
		to = &ret->path;
	else if (sv_eq(f->name, SV(":protocol")))
		to = &ret->protocol;
	else
		return h1_refuse(why, 400, "an unknown pseudo-header field");
	if (to->p)
		return h1_refuse(why, 400, "a pseudo-header field is doubled");
	*to = f->value;
	return 0;
}

/* What frames messages in HTTP/1 has no place here. */
int h2_field_check(const struct http_field *f, struct h1_refusal *why)
{
	static const struct sv forbidden[] = {
		SV("connection"), SV("keep-alive"), SV("proxy-connection"),
		SV("transfer-encoding"), SV("upgrade"), SV("http2-settings"),
	};

	if (!is_field_name(f->name))
		return h1_refuse(why, 400, "a field name is not a lower-case "
					   "token");
	if (!is_field_value(f->value))
		return h1_refuse(why, 400, "a field value has a control "
					   "character or blanks at its ends");
	for (size_t i = 0; i < countof(forbidden); i++)
		if (field_is_alias(f->name, forbidden[i]))
			return h1_refuse(why, 400, "a field of HTTP/1 that "
						   "HTTP/2 forbids");
	if (sv_eq(f->name, SV("te")) && !sv_eq(f->value, SV("trailers")))
		return h1_refuse(why, 400, "TE is not \"trailers\"");
	return 0;
}

/* Pseudo-header fields come first; they leave the list. */
static int list_split(struct http_fields *f, struct pseudo *ret,
		      struct h1_refusal *why)
{
	size_t n = 0;

	while (n < f->n && f->v[n].name.n && f->v[n].name.p[0] == ':')
		if (pseudo_take(&f->v[n++], ret, why) < 0)
			return -1;
	for (size_t i = n; i < f->n; i++) {
		if (f->v[i].name.n && f->v[i].name.p[0] == ':')
			return h1_refuse(why, 400, "a pseudo-header field "
						   "behind another field");
		if (h2_field_check(&f->v[i], why) < 0)
			return -1;
	}
	if (n)
		f->v += n;
	f->n -= n;
	return 0;
}

/* Crumbs are one field in HTTP/1 (RFC 9113, 8.2.3). */
static int cookies_join(struct http_fields *f, struct arena *a,
			struct h1_refusal *why)
{
	struct http_field *first = NULL;
	size_t kept = 0, n = 0, at = 0;
	char *text = NULL;

	for (size_t i = 0; i < f->n; i++)
		if (sv_eq(f->v[i].name, SV("cookie")))
			n += f->v[i].value.n + 2;
	if (n)
		text = arena_alloc(a, n);
	if (n && !text)
		return h1_refuse(why, 431, "the head needs too much memory");
	for (size_t i = 0; i < f->n; i++) {
		struct http_field field = f->v[i];

		if (!sv_eq(field.name, SV("cookie"))) {
			f->v[kept++] = field;
			continue;
		}
		if (first) {
			text[at++] = ';';
			text[at++] = ' ';
		}
		if (field.value.n)
			memcpy(text + at, field.value.p, field.value.n);
		at += field.value.n;
		if (!first) {
			first = &f->v[kept++];
			*first = field;
		}
		first->value = sv_of(text, at);
	}
	f->n = kept;
	return 0;
}

static int authority_agree(struct sv raw, const struct h1_inlet *inlet,
			   struct h1_refusal *why)
{
	struct authority a;
	const char *reason = authority_parse_for(inlet->host, raw, &a);

	if (reason)
		return h1_refuse(why, reason == target_literal ? 403 : 400,
				 reason);
	if (!sv_eq(a.host, inlet->host))
		return h1_refuse(why, 421, "the authority is another name than "
					   "the one that this connection is for");
	if (a.port == 0)
		a.port = scheme_port(inlet->scheme);
	if (a.port != inlet->port)
		return h1_refuse(why, 421, "the authority has another port than "
					   "the one that this connection is for");
	return 0;
}

static int target_take(const struct pseudo *p, const struct h1_inlet *inlet,
		       struct arena *a, struct http_request *r,
		       struct h1_refusal *why)
{
	struct sv scheme = inlet->scheme == HTTP_TLS ? SV("https") : SV("http");
	struct target t;
	const char *reason;

	if (!p->method.p || !is_token(p->method))
		return h1_refuse(why, 400, "the method is not a token");
	if (p->method.n > HTTP_METHOD_MAX)
		return h1_refuse(why, 501, "the method is longer than 32 "
					   "bytes");
	if (sv_eq(p->method, SV("CONNECT")))
		return h1_refuse(why, 501, "CONNECT is for a proxy, and this "
					   "is none");
	if (sv_eq(p->method, SV("TRACE")) || sv_eq(p->method, SV("TRACK")))
		return h1_refuse(why, 501, "the method TRACE is never carried");
	if (!sv_eq(p->scheme, scheme))
		return h1_refuse(why, 400, "the scheme is another than the "
					   "connection's");
	if (p->path.n > TARGET_MAX)
		return h1_refuse(why, 414, "the path is too long");
	if (!p->path.p)
		return h1_refuse(why, 400, "there is no path");
	reason = target_parse(p->path, TARGET_ORIGIN, a, &t);
	if (reason)
		return h1_refuse(why, 400, reason);
	*r = (struct http_request){
		.scheme = inlet->scheme, .host = inlet->host,
		.port = inlet->port, .method = p->method, .path = t.path,
		.has_query = t.has_query, .query = t.query, .h2 = true,
	};
	return 0;
}

/* RFC 8441: the GET that it would be in HTTP/1. */
static int protocol_take(struct pseudo *p, bool ended, struct h1_refusal *why)
{
	if (!p->protocol.p)
		return 0;
	if (!sv_eq(p->method, SV("CONNECT")))
		return h1_refuse(why, 400, "a protocol without CONNECT");
	if (!sv_eq(p->protocol, SV("websocket")))
		return h1_refuse(why, 501, "a protocol that is not carried");
	if (ended)
		return h1_refuse(why, 400, "a WebSocket that ends with its "
					   "head");
	p->method = SV("GET");
	return 0;
}

static int upgrade_take(const struct h1_framing *framing,
			struct http_fields *f, struct http_request *r,
			struct h1_refusal *why)
{
	struct sv unused;
	const char *reason = websocket_take(f, false, &unused);

	if (reason)
		return h1_refuse(why, 400, reason);
	if (framing->has_length)
		return h1_refuse(why, 400, "a WebSocket has a length");
	r->upgrade = true;
	return 0;
}

static int body_take(const struct h1_framing *f, bool ended,
		     struct http_request *r, struct h1_refusal *why)
{
	if (ended && f->length)
		return h1_refuse(why, 400, "a Content-Length, but no body");
	if (f->has_length || (ended && h1_expects_body(r->method))) {
		r->body = HTTP_BODY_LENGTH;
		r->length = f->length;
	} else if (!ended) {
		r->body = HTTP_BODY_CHUNKED;
	}
	r->expects_continue = f->wants_continue && !ended &&
			      (!f->has_length || f->length);
	return 0;
}

int h2_parse_request(struct h2_list *list, bool ended,
		     const struct h1_inlet *inlet, struct arena *a,
		     struct http_request *ret)
{
	struct h1_refusal *why = &list->why;
	struct http_fields f = list->fields;
	struct h1_framing framing = { 0 };
	struct pseudo p = { 0 };
	struct http_request r;
	const char *reason;

	if (why->reason || list_split(&f, &p, why) < 0 ||
	    protocol_take(&p, ended, why) < 0 ||
	    target_take(&p, inlet, a, &r, why) < 0 ||
	    cookies_join(&f, a, why) < 0 ||
	    h1_framing_take(&f, &framing, why) < 0 ||
	    (p.protocol.p ? upgrade_take(&framing, &f, &r, why) :
			    body_take(&framing, ended, &r, why)) < 0)
		return -1;
	if (!p.authority.p && !framing.host.p)
		return h1_refuse(why, 400, "there is no authority");
	/* Each of them that is there: an origin might read either. */
	if ((p.authority.p && authority_agree(p.authority, inlet, why) < 0) ||
	    (framing.host.p && authority_agree(framing.host, inlet, why) < 0))
		return -1;
	r.trailers = framing.wants_trailers && !r.upgrade;
	r.fields = f;
	reason = request_check(&r);
	if (reason)
		return h1_refuse(why, 400, reason);
	*ret = r;
	return 0;
}
