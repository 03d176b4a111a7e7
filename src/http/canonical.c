/* SPDX-License-Identifier: Apache-2.0 */
/* The second look at a canonical request: see canonical.h. */
#include "canonical.h"

#include "field.h"
#include "own.h"
#include "target.h"

static const char *method_check(struct sv method)
{
	if (!is_token(method) || method.n > HTTP_METHOD_MAX)
		return "the method is not a token of at most 32 bytes";
	/* An origin that ignores case would read another method. */
	for (size_t i = 0; i < method.n; i++)
		if (method.p[i] >= 'a' && method.p[i] <= 'z')
			return "the method has a lower-case letter";
	if (sv_eq(method, SV("CONNECT")) || sv_eq(method, SV("TRACE")) ||
	    sv_eq(method, SV("TRACK")) || sv_eq(method, SV("PRI")))
		return "the method is never carried";
	return NULL;
}

const char *host_check(struct sv host)
{
	char text[HTTP_HOST_MAX];
	struct sv canonical;
	const char *why = host_canonical(host, text, &canonical);

	if (why)
		return why;
	if (!sv_eq(host, canonical))
		return "the host name is not in its canonical form";
	return host_is_literal(host) ? target_literal : NULL;
}

/* Fields that an origin may read the first or the last of. */
static bool is_single(struct sv name)
{
	return sv_eq(name, SV("authorization")) ||
	       sv_eq(name, SV("content-type")) ||
	       sv_eq(name, SV("content-encoding"));
}

static const char *fields_check(const struct http_fields *f)
{
	size_t bytes = 0;

	if (f->n > HTTP_FIELDS_MAX)
		return "more than 128 fields";
	for (size_t i = 0; i < f->n; i++) {
		const struct http_field *field = &f->v[i];

		bytes += field->name.n + field->value.n + 4;
		if (bytes > HTTP_HEAD_MAX)
			return "the fields are longer than 65536 bytes";
		if (!is_field_name(field->name))
			return "a field name is not a lower-case token";
		if (!is_field_value(field->value))
			return "a field value has a control character";
		if (field_is_hop(field->name))
			return "a field that ends at this hop";
		if (field_is_override(field->name))
			return "a field would override the method, the host or "
			       "the path";
		if (field_is_misspelt(field->name))
			return "a field name has another character for a "
			       "hyphen";
		if (!is_single(field->name))
			continue;
		for (size_t k = 0; k < i; k++)
			if (sv_eq(f->v[k].name, field->name))
				return "a field that must be single is doubled";
	}
	return NULL;
}

static const char *body_check(const struct http_request *r)
{
	if (r->body != HTTP_BODY_NONE && r->body != HTTP_BODY_LENGTH &&
	    r->body != HTTP_BODY_CHUNKED)
		return "the body has no framing of a request";
	if (r->body != HTTP_BODY_LENGTH && r->length != 0)
		return "a body without a length has one";
	return NULL;
}

static const char *upgrade_check(const struct http_request *r)
{
	if (!r->upgrade)
		return NULL;
	if (!sv_eq(r->method, SV("GET")) || r->body != HTTP_BODY_NONE)
		return "a WebSocket begins with a GET without a body";
	/* They are of one hop: dial writes its own. */
	if (http_field_get(&r->fields, SV("sec-websocket-key")).p ||
	    http_field_get(&r->fields, SV("sec-websocket-version")).p)
		return "a field that ends at this hop";
	return NULL;
}

const char *request_check(const struct http_request *r)
{
	const char *why;

	if (r->scheme != HTTP_PLAIN && r->scheme != HTTP_TLS)
		return "the scheme is unknown";
	if (r->port == 0)
		return "the port is 0";
	if (!r->has_query && r->query.n)
		return "a query that is not there";
	if (!path_is_canonical(r->path))
		return "the path is not canonical";
	why = method_check(r->method);
	if (!why)
		why = host_check(r->host);
	if (!why)
		why = query_check(r->query);
	if (!why)
		why = fields_check(&r->fields);
	if (!why)
		why = body_check(r);
	if (!why)
		why = upgrade_check(r);
	return why;
}

bool request_is_canonical(const struct http_request *r)
{
	return request_check(r) == NULL;
}

void request_put_url(const struct http_request *r, struct buf *ret)
{
	buf_puts(ret, r->scheme == HTTP_TLS ? "https://" : "http://");
	buf_put(ret, r->host);
	if (r->port != scheme_port(r->scheme))
		buf_printf(ret, ":%u", r->port);
	buf_put(ret, r->path);
	if (r->has_query) {
		buf_putc(ret, '?');
		buf_put(ret, r->query);
	}
}
