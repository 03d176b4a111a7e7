/* SPDX-License-Identifier: Apache-2.0 */
/* Where a proxy is: see proxy_url.h. */
#include "proxy_url.h"

#include <arpa/inet.h>

#include "hostpattern.h"
#include "own.h"

static const char full[] = "the policy is too large";

/* %XX is one byte; what is no text cannot be a login. */
static const char *decode(struct sv v, struct arena *a, struct sv *ret)
{
	char *p = arena_alloc(a, v.n + 1);
	size_t n = 0;

	if (!p)
		return full;
	for (size_t i = 0; i < v.n; i++) {
		int c = (unsigned char)v.p[i];

		if (c == '%') {
			int high = hex_value(i + 1 < v.n ? v.p[i + 1] : 0);
			int low = hex_value(i + 2 < v.n ? v.p[i + 2] : 0);

			c = high < 0 || low < 0 ? 0 : high * 16 + low;
			i += 2;
		}
		if (c <= ' ' || c > '~')
			return "the proxy's login is not visible ASCII";
		p[n++] = (char)c;
	}
	*ret = sv_of(p, n);
	return NULL;
}

static const char *take_login(struct sv v, struct arena *a,
			      struct proxy_url *ret)
{
	size_t colon = sv_find(v, ':');
	const char *fault = decode(sv_head(v, colon), a, &ret->user);

	if (!fault)
		fault = decode(sv_from(v, colon + 1), a, &ret->password);
	if (!fault && (ret->user.n == 0 || ret->password.n == 0))
		fault = "the proxy's login needs a user and a password";
	if (!fault && sv_find(ret->user, ':') < ret->user.n)
		fault = "a colon in the user of the proxy's login";
	ret->has_login = true;
	return fault;
}

/* The one form of an address; NULL when v is none. */
static const char *take_address(int family, struct sv v, struct arena *a,
				struct proxy_url *ret)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t address[16];

	if (v.n >= sizeof text)
		return "expected an address";
	memcpy(text, v.p, v.n);
	text[v.n] = '\0';
	if (inet_pton(family, text, address) != 1 ||
	    !inet_ntop(family, address, text, sizeof text))
		return "expected an address";
	ret->host = arena_dup(a, sv_str(text));
	return ret->host.p ? NULL : full;
}

static const char *take_host(struct sv v, struct arena *a,
			     struct proxy_url *ret)
{
	if (v.n && take_address(AF_INET, v, a, ret) == NULL)
		return NULL;
	ret->host = hostpattern_lower(a, v);
	if (!ret->host.p)
		return full;
	/* What only looks like an address is neither. */
	return hostpattern_name_fault(ret->host);
}

/* HOST:PORT */
static const char *take_place(struct sv v, struct arena *a,
			      struct proxy_url *ret)
{
	bool six = v.n && v.p[0] == '[';
	size_t end = six ? sv_find(v, ']') : sv_find(v, ':');
	struct sv rest = sv_from(v, six ? end + 1 : end);
	const char *fault;
	uint64_t port;

	if (six)
		fault = take_address(AF_INET6, sv_of(v.p + 1, end - 1), a, ret);
	else
		fault = take_host(sv_head(v, end), a, ret);
	if (fault)
		return fault;
	/* Clients differ in what they would take for it. */
	if (rest.n == 0 || rest.p[0] != ':')
		return "the proxy's port is missing";
	if (!sv_to_u64(sv_from(rest, 1), UINT16_MAX, &port) || port == 0)
		return "expected a port from 1 to 65535 behind the proxy";
	ret->port = (uint16_t)port;
	return NULL;
}

const char *proxy_url_parse(struct sv text, struct arena *a,
			    struct proxy_url *ret)
{
	size_t scheme = sv_find_sv(text, SV("://"));
	struct sv rest = scheme < text.n ? sv_from(text, scheme + 3) : text;
	size_t at = rest.n;
	const char *fault;

	*ret = (struct proxy_url){ 0 };
	if (scheme < text.n &&
	    !sv_eq_nocase(sv_head(text, scheme), SV("http")))
		return "only an http:// proxy can be used";
	if (rest.n && rest.p[rest.n - 1] == '/')
		rest.n--;
	/* The last one: a password may hold others. */
	for (size_t i = 0; i < rest.n; i++)
		if (rest.p[i] == '@')
			at = i;
	if (at >= rest.n)
		return take_place(rest, a, ret);
	fault = take_login(sv_head(rest, at), a, ret);
	return fault ? fault : take_place(sv_from(rest, at + 1), a, ret);
}
