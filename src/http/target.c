/* SPDX-License-Identifier: Apache-2.0 */
/* Names, ports and request targets: see target.h.  Paths are in path.c. */
#include "target.h"

#include "buf.h"
#include "own.h"

const char target_literal[] =
	"an address stands where only a name can be decided on";

static bool is_host_char(char c)
{
	return is_alpha(c) || is_digit(c) || c == '-' || c == '_';
}

const char *host_canonical(struct sv raw, char out[HTTP_HOST_MAX],
			   struct sv *ret)
{
	size_t label = 0;

	if (raw.n && raw.p[raw.n - 1] == '.')
		raw.n--;
	if (raw.n == 0)
		return "the host name is empty";
	if (raw.n > HTTP_HOST_MAX)
		return "the host name is longer than 253 bytes";
	for (size_t i = 0; i < raw.n; i++) {
		char c = raw.p[i];

		if (c == '.') {
			if (label == 0)
				return "the host name has an empty label";
			label = 0;
		} else if (!is_host_char(c)) {
			return "the host name has a character outside "
			       "[a-z0-9_.-]";
		} else if (++label > 63) {
			return "a label of the host name is longer than 63 "
			       "bytes";
		}
	}
	if (label == 0)
		return "the host name has an empty label";
	for (size_t i = 0; i < raw.n; i++)
		out[i] = ascii_lower(raw.p[i]);
	*ret = sv_of(out, raw.n);
	return NULL;
}

bool host_is_literal(struct sv host)
{
	struct sv last;

	if (host.n && host.p[host.n - 1] == '.')
		host.n--;
	if (host.n && host.p[0] == '[')
		return true;
	if (sv_find(host, ':') < host.n)
		return true;
	last = host;
	for (size_t at; (at = sv_find(last, '.')) < last.n;)
		last = sv_from(last, at + 1);
	/* No registry ever had a numeric top level, and inet_aton() takes any
	 * of these for (the end of) an address. */
	if (last.n >= 2 && last.p[0] == '0' && ascii_lower(last.p[1]) == 'x') {
		for (size_t i = 2; i < last.n; i++)
			if (hex_value(last.p[i]) < 0)
				return false;
		return true;
	}
	for (size_t i = 0; i < last.n; i++)
		if (!is_digit(last.p[i]))
			return false;
	return last.n > 0;
}

bool port_parse(struct sv raw, uint16_t *ret)
{
	uint64_t port;

	if (!sv_to_u64(raw, 65535, &port) || port == 0)
		return false;
	*ret = (uint16_t)port;
	return true;
}

uint16_t scheme_port(enum http_scheme scheme)
{
	return scheme == HTTP_TLS ? 443 : 80;
}

const char *authority_parse(struct sv raw, struct authority *ret)
{
	size_t colon = sv_find(raw, ':');
	struct authority a = { 0 };
	const char *why;

	if (raw.n && raw.p[0] == '[')
		return target_literal;
	if (colon < raw.n && !port_parse(sv_from(raw, colon + 1), &a.port))
		return "the port is not a plain number from 1 to 65535";
	why = host_canonical(sv_head(raw, colon), a.text, &a.host);
	if (why)
		return why;
	if (host_is_literal(a.host))
		return target_literal;
	memcpy(ret->text, a.text, a.host.n);
	ret->host = sv_of(ret->text, a.host.n);
	ret->port = a.port;
	return NULL;
}

const char *authority_parse_for(struct sv host, struct sv raw,
				struct authority *ret)
{
	static const struct sv own[] = { SV("127.0.0.1"), SV("[::1]") };
	auto_buf struct buf name = buf_new(64);

	for (size_t i = 0; i < countof(own); i++) {
		struct sv port = sv_from(raw, own[i].n);

		if (!sv_eq(host, SV("localhost")) || !sv_starts(raw, own[i]) ||
		    (port.n && port.p[0] != ':') || port.n > 6)
			continue;
		buf_put(&name, host);
		buf_put(&name, port);
		return authority_parse(buf_sv(&name), ret);
	}
	return authority_parse(raw, ret);
}

/* /path?query */
static const char *origin_parse(struct sv raw, struct arena *a,
				struct target *ret)
{
	size_t mark = sv_find(raw, '?');
	const char *why = path_canonical(sv_head(raw, mark), a, &ret->path);

	if (why)
		return why;
	ret->has_query = mark < raw.n;
	ret->query = ret->has_query ? sv_from(raw, mark + 1)
				    : (struct sv){ 0 };
	return query_check(ret->query);
}

static const char *absolute_parse(struct sv raw, struct arena *a,
				  struct target *ret)
{
	struct sv rest;
	size_t slash;
	const char *why;

	if (sv_eq_nocase(sv_head(raw, 7), SV("http://"))) {
		ret->scheme = HTTP_PLAIN;
		rest = sv_from(raw, 7);
	} else if (sv_eq_nocase(sv_head(raw, 8), SV("https://"))) {
		ret->scheme = HTTP_TLS;
		rest = sv_from(raw, 8);
	} else {
		return "the request target is not of a form that is accepted "
		       "here";
	}
	slash = sv_find(rest, '/');
	/* "http://host?query" is legal and read in two ways: the check of the
	 * authority refuses the '?'. */
	why = authority_parse(sv_head(rest, slash), &ret->authority);
	if (why)
		return why;
	return origin_parse(slash < rest.n ? sv_from(rest, slash) : SV("/"), a,
			    ret);
}

const char *target_parse(struct sv raw, unsigned accepted, struct arena *a,
			 struct target *ret)
{
	struct target t = { .path = SV("/") };
	const char *why;

	if (raw.n == 0)
		return "the request target is empty";
	if (sv_eq(raw, SV("*")) && (accepted & TARGET_ASTERISK)) {
		t.form = TARGET_ASTERISK;
		t.path = (struct sv){ 0 };
		why = NULL;
	} else if (raw.p[0] == '/' && (accepted & TARGET_ORIGIN)) {
		t.form = TARGET_ORIGIN;
		why = origin_parse(raw, a, &t);
	} else if (accepted & TARGET_ABSOLUTE) {
		t.form = TARGET_ABSOLUTE;
		why = absolute_parse(raw, a, &t);
	} else if (accepted & TARGET_AUTHORITY) {
		t.form = TARGET_AUTHORITY;
		why = authority_parse(raw, &t.authority);
		if (!why && t.authority.port == 0)
			why = "the request target has no port";
	} else {
		why = "the request target is not of a form that is accepted "
		      "here";
	}
	if (why)
		return why;
	*ret = t;
	if (t.authority.host.n)
		ret->authority.host.p = ret->authority.text;
	return NULL;
}
