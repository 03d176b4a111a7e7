/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request heads: see h1_request.h.
 *
 * The head is copied into the arena once it is complete; everything after that
 * works on the copy.  What is accepted is written out again from struct
 * http_request, so a parser behind us never sees the agent's own bytes, and
 * what two parsers could read differently is refused here.
 */
#include "h1_request.h"

#include "canonical.h"
#include "field.h"
#include "h1_head.h"
#include "target.h"
#include "websocket.h"

/* The longest request line: method, absolute target, version. */
enum { LINE_MAX_BYTES = HTTP_METHOD_MAX + 8 + HTTP_HOST_MAX + 6 +
			HTTP_PATH_MAX + 1 + HTTP_QUERY_MAX + 10 };

/* What a head that is not complete can be refused for already. */
static int partial_check(struct sv in, struct h1_refusal *why)
{
	size_t line = sv_find(in, '\r');

	for (size_t i = 0; i < in.n && i <= HTTP_METHOD_MAX; i++) {
		if (in.p[i] == ' ' && i > 0)
			break;
		if (!is_token_char(in.p[i]))
			return h1_refuse(why, 400, "this is not HTTP");
		if (i == HTTP_METHOD_MAX)
			return h1_refuse(why, 501, "the method is longer than "
						   "32 bytes");
	}
	if (line > LINE_MAX_BYTES)
		return h1_refuse(why, 414, "the request line is too long");
	if (in.n >= HTTP_HEAD_MAX)
		return h1_refuse(why, 431, "the head is longer than 65536 "
					   "bytes");
	return 0;
}

/* Splits "METHOD SP target SP version". */
static int line_parse(struct sv line, struct http_request *r, bool *http10,
		      struct sv *target, struct h1_refusal *why)
{
	size_t first = sv_find(line, ' ');
	struct sv rest = sv_from(line, first + 1);
	size_t second = sv_find(rest, ' ');
	int version = h1_version(sv_from(rest, second + 1));

	r->method = sv_head(line, first);
	*target = sv_head(rest, second);
	if (!is_token(r->method) || first == line.n)
		return h1_refuse(why, 400, "the method is not a token");
	if (r->method.n > HTTP_METHOD_MAX)
		return h1_refuse(why, 501, "the method is longer than 32 "
					   "bytes");
	if (version == -2)
		return h1_refuse(why, 505, "the version is neither HTTP/1.1 "
					   "nor HTTP/1.0");
	if (version < 0)
		return h1_refuse(why, 400, "the request line is malformed");
	if (sv_eq(r->method, SV("TRACE")) || sv_eq(r->method, SV("TRACK")))
		return h1_refuse(why, 501, "the method TRACE is never carried");
	*http10 = version == 0;
	return 0;
}

static int target_refuse(struct h1_refusal *why, const char *reason)
{
	return h1_refuse(why, reason == target_literal ? 403 : 400, reason);
}

/* The Host field must say what the connection or the target says. */
static int host_agree(const struct h1_framing *framing, struct h1_request *h,
		      struct h1_refusal *why)
{
	struct http_request *r = &h->request;
	struct authority a;
	const char *reason;

	if (!framing->host.p) {
		if (h->is_http10)
			return 0;
		return h1_refuse(why, 400, "there is no Host");
	}
	reason = authority_parse_for(r->host, framing->host, &a);
	if (reason)
		return target_refuse(why, reason);
	if (!sv_eq(a.host, r->host))
		return h1_refuse(why, 400, "Host is another name than the one "
					   "that this connection is for");
	/* Tunnels are for a port that the target always names. */
	if (a.port == 0)
		a.port = h->is_connect ? r->port : scheme_port(r->scheme);
	if (a.port != r->port)
		return h1_refuse(why, 400, "Host has another port than the one "
					   "that this connection is for");
	return 0;
}

/* Target, then scheme, host and port by the inlet it came in on. */
static int target_take(struct sv raw, const struct h1_inlet *inlet,
		       struct arena *a, struct h1_request *h,
		       struct h1_refusal *why)
{
	struct http_request *r = &h->request;
	unsigned accepted = inlet->proxy ? TARGET_ABSOLUTE : TARGET_ORIGIN;
	struct target t;
	const char *reason;

	h->is_connect = sv_eq(r->method, SV("CONNECT"));
	if (h->is_connect && !inlet->proxy)
		return h1_refuse(why, 501, "CONNECT is for a proxy, and this "
					   "is none");
	if (h->is_connect)
		accepted = TARGET_AUTHORITY;
	reason = target_parse(raw, accepted, a, &t);
	if (reason)
		return target_refuse(why, reason);
	r->path = t.path;
	r->has_query = t.has_query;
	r->query = t.query;
	if (!inlet->proxy) {
		r->scheme = inlet->scheme;
		r->host = inlet->host;
		r->port = inlet->port;
		return 0;
	}
	if (t.form == TARGET_ABSOLUTE && t.scheme == HTTP_TLS)
		return h1_refuse(why, 400, "https through a proxy needs "
					   "CONNECT");
	r->scheme = h->is_connect ? HTTP_TLS : HTTP_PLAIN;
	r->host = arena_dup(a, t.authority.host);
	r->port = t.authority.port ? t.authority.port : 80;
	if (!r->host.p)
		return h1_refuse(why, 431, "the head needs too much memory");
	return 0;
}

static int body_take(const struct h1_framing *f, struct h1_request *h,
		     struct h1_refusal *why)
{
	struct http_request *r = &h->request;

	if (f->chunked && f->has_length)
		return h1_refuse(why, 400, "both Transfer-Encoding and "
					   "Content-Length");
	if (f->chunked && h->is_http10)
		return h1_refuse(why, 400, "Transfer-Encoding in HTTP/1.0");
	if (h->is_connect && (f->chunked || f->length))
		return h1_refuse(why, 400, "CONNECT has a body");
	if (f->chunked) {
		r->body = HTTP_BODY_CHUNKED;
	} else if (f->has_length || h1_expects_body(r->method)) {
		r->body = HTTP_BODY_LENGTH;
		r->length = f->length;
	}
	if (h->is_connect)
		r->body = HTTP_BODY_NONE;
	r->expects_continue = f->wants_continue && !h->is_http10 &&
			      (f->chunked || f->length);
	/* Kept-alive HTTP/1.0 is not worth its ambiguities. */
	r->close = f->wants_close || h->is_http10;
	r->trailers = f->wants_trailers && !h->is_http10;
	return 0;
}

/* Any other upgrade is not taken up, and the request is answered as it is. */
static int upgrade_take(const struct h1_framing *f, struct h1_request *h,
			struct h1_refusal *why)
{
	struct http_request *r = &h->request;
	const char *reason;

	if (!f->wants_websocket || h->is_http10 || h->is_connect)
		return 0;
	r->upgrade = true;
	r->trailers = false;
	if (r->body == HTTP_BODY_LENGTH && r->length == 0)
		r->body = HTTP_BODY_NONE;
	reason = websocket_take(&r->fields, true, &h->websocket_key);
	return reason ? h1_refuse(why, 400, reason) : 0;
}

/* head: one whole head, of the arena and writable. */
static int head_parse(struct sv head, const struct h1_inlet *inlet,
		      struct arena *a, struct h1_request *h,
		      struct h1_refusal *why)
{
	struct http_request *r = &h->request;
	struct h1_framing framing;
	struct sv target;
	struct sv line = h1_line(&head);
	const char *reason;

	if (line.n > LINE_MAX_BYTES)
		return h1_refuse(why, 414, "the request line is too long");
	if (line_parse(line, r, &h->is_http10, &target, why) < 0 ||
	    h1_fields_parse(head, a, &r->fields, why) < 0 ||
	    h1_framing_take(&r->fields, &framing, why) < 0 ||
	    target_take(target, inlet, a, h, why) < 0 ||
	    host_agree(&framing, h, why) < 0 ||
	    body_take(&framing, h, why) < 0 ||
	    upgrade_take(&framing, h, why) < 0)
		return -1;
	if (h->is_connect)
		return 0;
	/* What is left to refuse is refused by the same code that the decider
	 * runs again: overriding fields, doubled ones, sizes. */
	reason = request_check(r);
	return reason ? h1_refuse(why, 400, reason) : 0;
}

ssize_t h1_parse_request(struct sv in, const struct h1_inlet *inlet,
			 struct arena *a, struct h1_request *ret)
{
	struct h1_request h = { 0 };
	struct h1_refusal why = { 0 };
	size_t skipped = sv_starts(in, SV("\r\n")) ? 2 : 0;
	ssize_t n;
	struct sv head;

	if (in.n == 0 || sv_eq(in, SV("\r")))
		return H1_MORE;
	/* One empty line before a request is tolerated (RFC 9112, 2.2). */
	in = sv_from(in, skipped);
	n = h1_head_length(sv_head(in, HTTP_HEAD_MAX));
	if (n == H1_BAD)
		(void)h1_refuse(&why, 400, "a line does not end in CRLF");
	else if (n == H1_MORE && in.n == 0)
		return H1_MORE;
	else if (n == H1_MORE && partial_check(in, &why) == 0)
		return H1_MORE;
	if (n > 0) {
		head = arena_dup(a, sv_of(in.p, (size_t)n));
		if (!head.p)
			(void)h1_refuse(&why, 431, "the head needs too much "
						   "memory");
		else if (head_parse(head, inlet, a, &h, &why) == 0) {
			*ret = h;
			return (ssize_t)skipped + n;
		}
	}
	*ret = (struct h1_request){ .status = why.status,
				    .reason = why.reason };
	return H1_BAD;
}
