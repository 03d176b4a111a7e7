/* SPDX-License-Identifier: Apache-2.0 */
/* allow, ask, deny and reach: statements about the network. */
#include <arpa/inet.h>

#include "hostpattern.h"
#include "own.h"
#include "query.h"
#include "text_form.h"
#include "urlpattern.h"
#include "words.h"

enum { METHOD_MAX = 32, METHODS_MAX = 32, RULE_TEXT_MAX = 2000 };

static bool is_method_char(char c)
{
	return (c >= 'A' && c <= 'Z') || is_digit(c) ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static int parse_method(const struct statement *s, const struct word *w,
			struct sv method, struct err *e)
{
	bool lower = false;

	if (method.n == 0 || method.n > METHOD_MAX)
		return statement_error(s, w, e,
			"a list of methods has no empty entries: GET,HEAD");
	for (size_t i = 0; i < method.n; i++) {
		lower |= method.p[i] >= 'a' && method.p[i] <= 'z';
		if (!is_method_char(method.p[i]) && !is_alpha(method.p[i]))
			return statement_error(s, w, e,
				"expected methods (GET,HEAD or *), found \"%.*s\"",
				WORD_FMT(w->text));
	}
	if (lower)
		return statement_error(s, w, e,
			"methods are case-sensitive: expected upper case or *, found \"%.*s\"",
			WORD_FMT(method));
	return 0;
}

/* Sorted, each once; none stands for any. */
static int parse_methods(const struct statement *s, const struct word *w,
			 struct arena *a, struct rule *r, struct err *e)
{
	struct sv rest = w->text;
	size_t cap = 0;

	if (sv_eq(rest, SV("*")))
		return 0;
	for (;;) {
		struct sv method = sv_head(rest, sv_find(rest, ','));
		size_t i = 0;

		if (parse_method(s, w, method, e) < 0)
			return -1;
		if (sv_eq(method, SV("*")))
			return statement_error(s, w, e,
				"`*` is any method and stands alone");
		while (i < r->methods_n &&
		       text_form_order(r->methods[i], method) < 0)
			i++;
		if (i == r->methods_n || !sv_eq(r->methods[i], method)) {
			if (r->methods_n == METHODS_MAX)
				return statement_error(s, w, e,
						       "too many methods");
			if (!arena_push(a, &r->methods, &r->methods_n, &cap))
				return statement_full(s, e);
			memmove(&r->methods[i + 1], &r->methods[i],
				(r->methods_n - 1 - i) * sizeof *r->methods);
			r->methods[i] = method;
		}
		if (method.n == rest.n)
			return 0;
		rest = sv_from(rest, method.n + 1);
	}
}

static bool to_port(struct sv v, uint16_t *ret)
{
	uint64_t n;

	if (!sv_to_u64(v, 65535, &n) || n == 0)
		return false;
	*ret = (uint16_t)n;
	return true;
}

/* HOST[:PORT], the part in front of the path. */
static int parse_authority(const struct statement *s, const struct word *w,
			   struct sv text, struct arena *a,
			   struct target *ret, struct err *e)
{
	struct sv host = sv_head(text, sv_find(text, ':'));
	const char *fault;

	if (text.n && text.p[0] == '[')
		host = text;
	if (host.n < text.n &&
	    !to_port(sv_from(text, host.n + 1), &ret->port))
		return statement_error(s, w, e,
				       "expected a port from 1 to 65535 behind the colon");
	ret->host = hostpattern_lower(a, host);
	if (!ret->host.p)
		return statement_full(s, e);
	fault = hostpattern_fault(ret->host);
	return fault ? statement_error(s, w, e, "%s", fault) : 0;
}

static int set_other_reading(const struct statement *s, struct arena *a,
			     struct target *t, struct err *e)
{
	char *out = arena_alloc(a, t->path.n);

	if (!out)
		return statement_full(s, e);
	t->path_other = urlpattern_other_reading(t->path, out);
	if (t->path_other.p && !urlpattern_is_clean(t->path_other))
		t->path_other = (struct sv){ 0 };
	return 0;
}

int word_target(const struct statement *s, const struct word *w,
		struct sv text, struct arena *a, struct target *ret,
		struct err *e)
{
	struct target t = { .path = SV("/**") };
	size_t query_at = sv_find(text, '?');
	struct sv before = sv_head(text, query_at);
	size_t path_at = sv_find(before, '/');
	const char *fault = NULL;

	if (sv_find_sv(before, SV("://")) < before.n)
		return statement_error(s, w, e,
			"write HOST[:PORT]/PATH, without the scheme");
	if (sv_find(before, '@') < path_at)
		return statement_error(s, w, e,
			"write HOST[:PORT]/PATH, without a user");
	if (sv_find(text, '#') < text.n)
		return statement_error(s, w, e,
				       "a request has no fragment (#...)");
	if (parse_authority(s, w, sv_head(before, path_at), a, &t, e) < 0)
		return -1;
	if (path_at < before.n)
		fault = urlpattern_canonical(sv_from(before, path_at), a,
					     &t.path);
	if (!fault && query_at < text.n) {
		t.has_query = true;
		fault = query_canonical(sv_from(text, query_at + 1), a,
					&t.query);
	}
	if (fault)
		return statement_error(s, w, e, "%s", fault);
	if (set_other_reading(s, a, &t, e) < 0)
		return -1;
	*ret = t;
	return 0;
}

static int parse_rule(const struct statement *s, enum verdict effect,
		      struct policy *p, struct err *e)
{
	const struct word *methods = statement_word(s, 1, "the method", e);
	const struct word *where;
	struct rule r = { .effect = effect, .origin = s->origin };
	struct rule *kept;
	struct target t;

	if (!methods)
		return -1;
	if (words_is_relay(methods->text))
		return word_relay(s, effect, p, e);
	if (parse_methods(s, methods, &p->arena, &r, e) < 0)
		return -1;
	where = statement_word(s, 2, "the host", e);
	if (!where || statement_end(s, 3, e) < 0 ||
	    word_target(s, where, where->text, &p->arena, &t, e) < 0)
		return -1;
	r.host = t.host;
	r.port = t.port;
	r.path = t.path;
	r.path_other = t.path_other;
	r.has_query = t.has_query;
	r.query = t.query;
	if (text_form_rule(&r, &p->arena) < 0)
		return statement_full(s, e);
	if (r.text.n > RULE_TEXT_MAX)
		return statement_error(s, where, e, "a rule has at most %d bytes",
				       RULE_TEXT_MAX);
	kept = arena_push(&p->arena, &p->rules, &p->rules_n, &p->rules_cap);
	if (!kept)
		return statement_full(s, e);
	*kept = r;
	return 0;
}

int word_allow(const struct statement *s, struct policy *p, struct err *e)
{
	return parse_rule(s, VERDICT_ALLOW, p, e);
}

int word_ask(const struct statement *s, struct policy *p, struct err *e)
{
	return parse_rule(s, VERDICT_ASK, p, e);
}

int word_deny(const struct statement *s, struct policy *p, struct err *e)
{
	return parse_rule(s, VERDICT_DENY, p, e);
}

/* What no name may be mapped to: see prefixes below. */
static bool is_forbidden(int family, const uint8_t *address)
{
	static const struct {
		int family;
		uint8_t bytes[16];
		unsigned bits;
	} ranges[] = {
		/* This network, link-local with the metadata services, and
		 * the metadata addresses outside of it; multicast. */
		{ AF_INET, { 0 }, 8 },
		{ AF_INET, { 169, 254 }, 16 },
		{ AF_INET, { 168, 63, 129, 16 }, 32 },
		{ AF_INET, { 100, 100, 100, 200 }, 32 },
		{ AF_INET, { 192, 0, 0, 192 }, 32 },
		{ AF_INET, { 224 }, 3 },
		/* Unspecified; v4 in v6 clothes; link-local; multicast; the
		 * clouds' metadata addresses. */
		{ AF_INET6, { 0 }, 127 },
		{ AF_INET6, { [10] = 0xff, [11] = 0xff }, 96 },
		{ AF_INET6, { 0xfe, 0x80 }, 10 },
		{ AF_INET6, { 0xff }, 8 },
		{ AF_INET6, { 0xfd, 0x00, 0x0e, 0xc2 }, 32 },
		{ AF_INET6, { 0xfd, 0x20, 0x00, 0xce }, 32 },
		{ AF_INET6, { 0xfd, 0x00, 0x00, 0xc1 }, 32 },
	};
	static const uint8_t loopback6[16] = { [15] = 1 };

	if (family == AF_INET6 && memcmp(address, loopback6, 16) == 0)
		return false;
	for (size_t i = 0; i < countof(ranges); i++) {
		unsigned whole = ranges[i].bits / 8;
		unsigned rest = ranges[i].bits % 8;
		uint8_t mask = (uint8_t)(0xff00U >> rest);

		if (ranges[i].family == family &&
		    memcmp(address, ranges[i].bytes, whole) == 0 &&
		    (rest == 0 || ((address[whole] ^ ranges[i].bytes[whole]) &
				   mask) == 0))
			return true;
	}
	return false;
}

/* ADDRESS:PORT in the one form that prints and parses the same. */
static int parse_via(const struct statement *s, const struct word *w,
		     struct arena *a, struct sv *ret, struct err *e)
{
	bool six = w->text.n && w->text.p[0] == '[';
	size_t close = sv_find(w->text, ']');
	struct sv host = six ? sv_head(sv_from(w->text, 1),
				       close ? close - 1 : 0) :
			       sv_head(w->text, sv_find(w->text, ':'));
	struct sv rest = sv_from(w->text, host.n + (six ? 2 : 0));
	int family = six ? AF_INET6 : AF_INET;
	char text[INET6_ADDRSTRLEN];
	auto_buf struct buf b = buf_new(INET6_ADDRSTRLEN + 16);
	uint8_t address[16];
	uint16_t port;

	if (host.n >= sizeof text || rest.n < 2 || rest.p[0] != ':' ||
	    !to_port(sv_from(rest, 1), &port))
		return statement_error(s, w, e,
			"expected ADDRESS:PORT, as 127.0.0.1:8080 or [::1]:8080");
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	if (inet_pton(family, text, address) != 1 ||
	    !inet_ntop(family, address, text, sizeof text))
		return statement_error(s, w, e,
				       "\"%.*s\" is no literal address",
				       WORD_FMT(host));
	if (is_forbidden(family, address))
		return statement_error(s, w, e,
			"no name may lead to %s (link-local, metadata or special)",
			text);
	buf_printf(&b, six ? "[%s]:%u" : "%s:%u", text, port);
	*ret = arena_dup(a, buf_sv(&b));
	return ret->p ? 0 : statement_full(s, e);
}

int word_reach(const struct statement *s, struct policy *p, struct err *e)
{
	const struct word *name = statement_word(s, 1, "the name", e);
	const struct word *via, *address;
	struct reach r = { .origin = s->origin };
	struct reach *kept;
	struct target t;

	if (!name)
		return -1;
	if (sv_starts(name->text, SV("unix:")))
		return word_socket(s, p, e);
	via = statement_word(s, 2, "`via`", e);
	if (!via)
		return -1;
	if (!sv_eq(via->text, SV("via")))
		return statement_error(s, via, e,
				       "expected `via`, found \"%.*s\"",
				       WORD_FMT(via->text));
	address = statement_word(s, 3, "the address", e);
	if (!address || statement_end(s, 4, e) < 0 ||
	    word_target(s, name, name->text, &p->arena, &t, e) < 0)
		return -1;
	if (t.host.p[0] == '*' || sv_find(name->text, '/') < name->text.n ||
	    t.has_query)
		return statement_error(s, name, e,
				       "expected one name, without wildcard and path");
	if (sv_eq(t.host, SV("localhost")) && t.port == 0)
		return statement_error(s, name, e, "name the port that it has "
				       "inside: localhost:PORT");
	r.host = t.host;
	r.port = t.port;
	if (sv_starts(address->text, SV("unix:"))) {
		if (word_socket_path(s, address, p, &r.socket, e) < 0)
			return -1;
	} else if (parse_via(s, address, &p->arena, &r.via, e) < 0) {
		return -1;
	}
	if (text_form_reach(&r, &p->arena) < 0)
		return statement_full(s, e);
	kept = arena_push(&p->arena, &p->reaches, &p->reaches_n,
			  &p->reaches_cap);
	if (!kept)
		return statement_full(s, e);
	*kept = r;
	return 0;
}
