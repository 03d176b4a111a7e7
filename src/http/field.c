/* SPDX-License-Identifier: Apache-2.0 */
/* Header fields: see field.h. */
#include "field.h"

#include "own.h"

bool is_token_char(char c)
{
	return is_alpha(c) || is_digit(c) ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool is_token(struct sv v)
{
	for (size_t i = 0; i < v.n; i++)
		if (!is_token_char(v.p[i]))
			return false;
	return v.n > 0;
}

bool is_field_name(struct sv v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] >= 'A' && v.p[i] <= 'Z')
			return false;
	return is_token(v);
}

bool is_field_value(struct sv v)
{
	for (size_t i = 0; i < v.n; i++) {
		uint8_t c = (uint8_t)v.p[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return sv_trim(v).n == v.n;
}

/* To those who make a variable of a name. */
static bool is_separator(char c)
{
	return !is_alpha(c) && !is_digit(c);
}

bool field_is_alias(struct sv a, struct sv b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (a.p[i] != b.p[i] &&
		    !(is_separator(a.p[i]) && is_separator(b.p[i])))
			return false;
	return true;
}

bool field_is_misspelt(struct sv name)
{
	for (size_t i = 0; i < name.n; i++)
		if (is_separator(name.p[i]) && name.p[i] != '-')
			return field_is_hop(name) || field_is_protected(name);
	return false;
}

static bool name_in(struct sv name, const struct sv *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (field_is_alias(name, list[i]))
			return true;
	return false;
}

bool field_is_hop(struct sv name)
{
	/* The first two are not, but speak of another way to the origin, most
	 * often by QUIC: only TCP leaves the sandbox.  "Close" is reserved (RFC
	 * 9110, 18.4): the next hop would take it for the field that our own
	 * "connection: close" nominates. */
	static const struct sv hop[] = {
		SV("alt-svc"), SV("alt-used"), SV("close"), SV("connection"),
		SV("content-length"), SV("expect"), SV("host"),
		SV("http2-settings"), SV("keep-alive"),
		SV("proxy-authenticate"), SV("proxy-authentication-info"),
		SV("proxy-authorization"), SV("proxy-connection"), SV("te"),
		SV("trailer"), SV("transfer-encoding"), SV("upgrade"),
	};

	return name_in(name, hop, countof(hop));
}

bool field_is_override(struct sv name)
{
	/* Each makes some framework read another method, path or host than
	 * the one that was decided. */
	static const struct sv override[] = {
		SV("forwarded"), SV("x-envoy-original-path"),
		SV("x-forwarded-host"), SV("x-forwarded-method"),
		SV("x-forwarded-path"), SV("x-forwarded-server"),
		SV("x-forwarded-uri"), SV("x-host"),
		SV("x-http-host-override"), SV("x-http-method"),
		SV("x-http-method-override"), SV("x-method-override"),
		SV("x-original-host"), SV("x-original-method"),
		SV("x-original-uri"), SV("x-original-url"),
		SV("x-rewrite-uri"), SV("x-rewrite-url"),
	};

	return name_in(name, override, countof(override));
}

bool field_is_credential(struct sv name)
{
	/* Whatever is in one of them, some origin takes for who is asking. */
	static const struct sv credential[] = {
		SV("api-key"), SV("apikey"), SV("authorization"),
		SV("deploy-token"), SV("job-token"), SV("private-token"),
		SV("x-access-token"), SV("x-api-key"), SV("x-api-token"),
		SV("x-auth-key"), SV("x-auth-token"), SV("x-authorization"),
		SV("x-goog-api-key"), SV("x-token"), SV("x-vault-token"),
	};

	return name_in(name, credential, countof(credential));
}

bool field_is_protected(struct sv name)
{
	static const struct sv protected[] = {
		SV("api-key"), SV("authorization"), SV("cache-control"),
		SV("content-encoding"), SV("content-range"),
		SV("content-type"), SV("cookie"), SV("if-match"),
		SV("if-none-match"), SV("origin"), SV("range"), SV("referer"),
		SV("set-cookie"), SV("user-agent"), SV("x-api-key"),
		SV("x-goog-api-key"),
	};

	return name_in(name, protected, countof(protected));
}

bool field_is_trailer(struct sv name)
{
	return !field_is_hop(name) && !field_is_protected(name) &&
	       !field_is_override(name) &&
	       !sv_eq(name, SV("www-authenticate")) &&
	       !sv_eq(name, SV("location"));
}

struct sv http_field_get(const struct http_fields *f, struct sv name)
{
	for (size_t i = 0; i < f->n; i++)
		if (sv_eq(f->v[i].name, name))
			return f->v[i].value;
	return (struct sv){ 0 };
}

bool list_next(struct sv *rest, struct sv *ret)
{
	while (rest->n) {
		size_t comma = sv_find(*rest, ',');
		struct sv item = sv_trim(sv_head(*rest, comma));

		*rest = sv_from(*rest, comma + 1);
		if (item.n) {
			*ret = item;
			return true;
		}
	}
	return false;
}

bool list_has(struct sv list, struct sv token)
{
	struct sv item;

	while (list_next(&list, &item))
		if (sv_eq_nocase(item, token))
			return true;
	return false;
}
