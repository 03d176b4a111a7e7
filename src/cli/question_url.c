/* SPDX-License-Identifier: Apache-2.0 */
/* URLs and endpoints of questions: see question_url.h. */
#include "question_url.h"

#include "buf.h"
#include "own.h"
#include "target.h"

bool question_has_scheme(struct sv word)
{
	size_t at = sv_find_sv(word, SV("://"));

	return at < word.n && sv_find(sv_head(word, at), ' ') == at;
}

static const char *parse(struct sv scheme, struct sv rest, struct arena *a,
			 struct question *q)
{
	auto_buf struct buf whole = buf_new(1 << 16);
	struct target t;
	struct sv kept;
	const char *fault;

	buf_put(&whole, scheme);
	buf_put(&whole, rest);
	kept = whole.full ? (struct sv){ 0 } : arena_dup(a, buf_sv(&whole));
	if (!kept.p)
		return "the URL is too long";
	fault = target_parse(kept, TARGET_ABSOLUTE, a, &t);
	if (fault)
		return fault;
	q->tls = t.scheme == HTTP_TLS;
	q->host = arena_dup(a, t.authority.host);
	q->port = t.authority.port ? t.authority.port : scheme_port(t.scheme);
	q->path = t.path;
	q->has_query = t.has_query;
	q->query = t.query;
	return q->host.p ? NULL : "the URL is too long";
}

static bool take_scheme(struct sv *url, struct sv scheme)
{
	if (!sv_eq_nocase(sv_head(*url, scheme.n), scheme))
		return false;
	*url = sv_from(*url, scheme.n);
	return true;
}

const char *question_url(struct sv method, struct sv url, struct arena *a,
			 struct question *ret, bool *ret_websocket)
{
	struct sv scheme = SV("");

	*ret_websocket = true;
	if (take_scheme(&url, SV("wss://"))) {
		scheme = SV("https://");
	} else if (take_scheme(&url, SV("ws://"))) {
		scheme = SV("http://");
	} else {
		*ret_websocket = false;
		if (!question_has_scheme(url))
			scheme = SV("https://");
	}
	ret->method = *ret_websocket && !method.n ? SV("GET") : method;
	if (*ret_websocket && !sv_eq(ret->method, SV("GET")))
		return "a WebSocket is opened by GET and nothing else";
	return parse(scheme, url, a, ret);
}

const char *question_endpoint(struct sv text, struct arena *a,
			      struct relay_question *ret)
{
	struct question target = { 0 };
	const char *fault;

	(void)take_scheme(&text, ret->kind == RELAY_TLS ? SV("tls://") :
							   SV("tcp://"));
	/* No port is 0 here, and what a URL could add is not taken. */
	if (sv_find(text, '/') < text.n || sv_find(text, '?') < text.n ||
	    sv_find(text, '#') < text.n)
		return "expected HOST:PORT";
	if (ret->kind == RELAY_TCP && sv_find(text, ':') == text.n)
		return "expected a port: tcp HOST:PORT";
	fault = parse(SV("https://"), text, a, &target);
	ret->host = target.host;
	ret->port = target.port;
	return fault;
}
