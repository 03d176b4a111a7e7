/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request heads: what is refused, each beside what is not; what is accepted,
 * written out as an origin would get it.
 */
#include "h1_request.h"

#include "canonical.h"
#include "h1_response.h"
#include "own.h"
#include "tap.h"

static const struct h1_inlet tls = {
	.scheme = HTTP_TLS, .host = { "h.test", 6 }, .port = 443,
};
static const struct h1_inlet plain = {
	.scheme = HTTP_PLAIN, .host = { "h.test", 6 }, .port = 8080,
};
static const struct h1_inlet proxy = { .proxy = true };

static ssize_t parse(struct sv in, const struct h1_inlet *inlet, struct arena *a,
		     struct h1_request *ret)
{
	*a = arena_new(1 << 20);
	return h1_parse_request(in, inlet, a, ret);
}

#define H "Host: h.test\r\n"
#define GET "GET / HTTP/1.1\r\n" H
#define POST "POST / HTTP/1.1\r\n" H
#define END "\r\n"

/* in, and what the origin gets. */
static const struct {
	const struct h1_inlet *inlet;
	const char *in, *out;
} accepted[] = {
	{ &tls, GET END,
	  "GET / HTTP/1.1\r\nhost: h.test\r\nconnection: keep-alive\r\n\r\n" },
	{ &tls, "\r\n" GET END,
	  "GET / HTTP/1.1\r\nhost: h.test\r\nconnection: keep-alive\r\n\r\n" },
	{ &tls, "GET /%7e%2fx?a=%2e HTTP/1.1\r\nhOsT:H.TEST.:443\r\n"
	  "X-A:  b\tc \r\nAccept:\r\n" END,
	  "GET /~%2Fx?a=%2e HTTP/1.1\r\nhost: h.test\r\nx-a: b\tc\r\n"
	  "accept: \r\nconnection: keep-alive\r\n\r\n" },
	{ &plain, "GET /? HTTP/1.1\r\nHost: h.test:8080\r\n" END,
	  "GET /? HTTP/1.1\r\nhost: h.test:8080\r\nconnection: keep-alive\r\n"
	  "\r\n" },
	{ &proxy, "GET http://A.test HTTP/1.1\r\nHost: a.test\r\n" END,
	  "GET / HTTP/1.1\r\nhost: a.test\r\nconnection: keep-alive\r\n\r\n" },
	{ &proxy, "GET http://a.test:81/b HTTP/1.1\r\nHost: a.test:81\r\n" END,
	  "GET /b HTTP/1.1\r\nhost: a.test:81\r\nconnection: keep-alive\r\n"
	  "\r\n" },
	/* framing is written anew */
	{ &tls, POST "Content-Length: 3\r\n" END "abc",
	  "POST / HTTP/1.1\r\nhost: h.test\r\ncontent-length: 3\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ &tls, POST "Transfer-Encoding: chunked\r\n" END,
	  "POST / HTTP/1.1\r\nhost: h.test\r\ntransfer-encoding: chunked\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ &tls, POST END,
	  "POST / HTTP/1.1\r\nhost: h.test\r\ncontent-length: 0\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ &tls, GET "Content-Length: 5\r\n" END,
	  "GET / HTTP/1.1\r\nhost: h.test\r\ncontent-length: 5\r\n"
	  "connection: keep-alive\r\n\r\n" },
	/* what ends at this hop goes, and what it names; what the agent can
	 * do with trailers is said anew */
	{ &tls, GET "Connection: close, X-Hop, Authorization, Cookie\r\n"
	  "X-Hop: 1\r\nAuthorization: k\r\nCookie: c\r\nKeep-Alive: 5\r\n"
	  "Proxy-Connection: x\r\nProxy-Authorization: x\r\nTE: trailers\r\n"
	  "Trailer: x\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n" END,
	  "GET / HTTP/1.1\r\nhost: h.test\r\nauthorization: k\r\ncookie: c\r\n"
	  "te: trailers\r\nconnection: te, keep-alive\r\n\r\n" },
	{ &tls, GET "Connection: Host, Content-Length\r\n"
	  "Content-Length: 1\r\n" END,
	  "GET / HTTP/1.1\r\nhost: h.test\r\ncontent-length: 1\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ &tls, "M-SEARCH /x HTTP/1.0\r\n" H END,
	  "M-SEARCH /x HTTP/1.1\r\nhost: h.test\r\nconnection: keep-alive\r\n"
	  "\r\n" },
	{ &tls, GET "X_Plain_Name: 1\r\n" END,
	  "GET / HTTP/1.1\r\nhost: h.test\r\nx_plain_name: 1\r\n"
	  "connection: keep-alive\r\n\r\n" },
};

static void test_request_accepted_is_written_anew(void)
{
	for (size_t i = 0; i < countof(accepted); i++) {
		auto_arena struct arena a;
		auto_buf struct buf b = buf_new(65536);
		struct h1_request h;
		struct sv in = sv_str(accepted[i].in);
		ssize_t n = parse(in, accepted[i].inlet, &a, &h);

		if (n < 0)
			printf("# %zu: %s\n", i, h.reason);
		CHECK(n > 0);
		if (n <= 0)
			continue;
		CHECK(sv_ends(sv_head(in, (size_t)n), SV("\r\n\r\n")));
		CHECK(request_is_canonical(&h.request));
		h1_write_request(&b, &h.request);
		CHECK_SV(buf_sv(&b), accepted[i].out);
	}
}

static const struct {
	const struct h1_inlet *inlet;
	unsigned status;
	struct sv in;
} refused[] = {
	/* line ends and bytes */
	{ &tls, 400, SV("GET / HTTP/1.1\nHost: h.test\n\n") },
	{ &tls, 400, SV("GET / HTTP/1.1\rHost: h.test\r\r") },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: h.test\n\r\n") },
	{ &tls, 400, SV(GET "X: a\nY: b\r\n" END) },
	{ &tls, 400, SV(GET "X: a\rY: b\r\n" END) },
	{ &tls, 400, SV(GET "X: a\0b\r\n" END) },
	{ &tls, 400, SV(GET "X: a\x7f" "b\r\n" END) },
	{ &tls, 400, SV(GET "X: a\r\n b\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\n Host: h.test\r\n" END) },
	{ &tls, 400, SV(GET "X\r\n" END) },
	{ &tls, 400, SV(GET ": x\r\n" END) },
	{ &tls, 400, SV(GET "X : y\r\n" END) },
	{ &tls, 400, SV(GET "X\t: y\r\n" END) },
	{ &tls, 400, SV(GET "X Y: z\r\n" END) },
	{ &tls, 400, SV(GET "X\xff: z\r\n" END) },
	{ &tls, 400, SV(GET "X\0: z\r\n" END) },
	{ &tls, 400, SV(GET "X(: z\r\n" END) },
	{ &tls, 400, SV("\r\n\r\n" GET END) },
	{ &tls, 400, SV("\n" GET END) },
	{ &tls, 400, SV(" " GET END) },
	{ &tls, 400, SV("\x16\x03\x01\0\x05\x01\0\0\x01\0") },
	{ &tls, 400, SV("\x05\x01\0") },
	/* the request line */
	{ &tls, 400, SV("GET /\r\n\r\n") },
	{ &tls, 400, SV("GET  / HTTP/1.1\r\n" H END) },
	{ &tls, 400, SV("GET /  HTTP/1.1\r\n" H END) },
	{ &tls, 400, SV("GET\t/\tHTTP/1.1\r\n" H END) },
	{ &tls, 400, SV("GET / HTTP/1.1 \r\n" H END) },
	{ &tls, 400, SV("GET / HTTP/1.1 x\r\n" H END) },
	{ &tls, 400, SV("GET / HTTP/01.1\r\n" H END) },
	{ &tls, 400, SV("GET / http/1.1\r\n" H END) },
	{ &tls, 400, SV("GET / HTTP/1.\r\n" H END) },
	{ &tls, 505, SV("GET / HTTP/1.2\r\n" H END) },
	{ &tls, 505, SV("GET / HTTP/2.0\r\n" H END) },
	{ &tls, 505, SV("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") },
	{ &tls, 400, SV("get / HTTP/1.1\r\n" H END) },
	{ &tls, 400, SV("GeT / HTTP/1.1\r\n" H END) },
	{ &tls, 400, SV("G\x0b" "ET / HTTP/1.1\r\n" H END) },
	{ &tls, 400, SV("\xc7" "ET / HTTP/1.1\r\n" H END) },
	{ &tls, 501, SV("TRACE / HTTP/1.1\r\n" H END) },
	{ &tls, 501, SV("TRACK / HTTP/1.1\r\n" H END) },
	{ &tls, 501, SV("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n" H
			END) },
	{ &tls, 400, SV("GET /a/../b HTTP/1.1\r\n" H END) },
	{ &tls, 400, SV("GET * HTTP/1.1\r\n" H END) },
	{ &tls, 400, SV("OPTIONS * HTTP/1.1\r\n" H END) },
	{ &tls, 400, SV("GET http://h.test/ HTTP/1.1\r\n" H END) },
	{ &proxy, 400, SV("GET / HTTP/1.1\r\n" H END) },
	{ &proxy, 400, SV("GET https://h.test/ HTTP/1.1\r\n" H END) },
	{ &proxy, 403, SV("GET http://10.0.0.1/ HTTP/1.1\r\n"
			  "Host: 10.0.0.1\r\n" END) },
	/* Host */
	{ &tls, 400, SV("GET / HTTP/1.1\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: \r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: evil.test\r\n" END) },
	{ &tls, 400, SV(GET "Host: h.test\r\n" END) },
	{ &tls, 400, SV(GET "Host: evil.test\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: evil.test\r\n" H END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: h.test, evil.test\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost : evil.test\r\n" H END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: h.test\r\n evil\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: u@h.test\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: h.test\0evil\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: h.test/x\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: h.test:444\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: h.test:0443\r\n" END) },
	{ &tls, 400, SV("GET / HTTP/1.1\r\nHost: h.test:65979\r\n" END) },
	{ &tls, 403, SV("GET / HTTP/1.1\r\nHost: 1.2.3.4\r\n" END) },
	{ &plain, 400, SV("GET / HTTP/1.1\r\nHost: h.test\r\n" END) },
	{ &proxy, 400, SV("GET http://a.test/ HTTP/1.1\r\n" H END) },
	{ &proxy, 400, SV("GET http://h.test:81/ HTTP/1.1\r\n" H END) },
	/* Content-Length */
	{ &tls, 400, SV(POST "Content-Length: \r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: +0\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: -1\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 0x10\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 1 0\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 000\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 0, 0\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 1a\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length:\x0b" "0\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 18446744073709551616\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 1000000000000000000\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 1\r\nContent-Length: 1\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 1\r\nContent-Length: 2\r\n" END) },
	{ &tls, 400, SV(POST "Content_Length: 1\r\n" END) },
	/* Transfer-Encoding */
	{ &tls, 400, SV(POST "Transfer-Encoding: chunked\r\n"
			"Content-Length: 4\r\n" END) },
	{ &tls, 400, SV(POST "Content-Length: 4\r\n"
			"Transfer-Encoding: chunked\r\n" END) },
	{ &tls, 400, SV(POST "Transfer-Encoding: chunked\r\n"
			"Transfer-Encoding: chunked\r\n" END) },
	{ &tls, 400, SV("POST / HTTP/1.0\r\n" H
			"Transfer-Encoding: chunked\r\n" END) },
	{ &tls, 501, SV(POST "Transfer-Encoding: identity\r\n" END) },
	{ &tls, 501, SV(POST "Transfer-Encoding: xchunked\r\n" END) },
	{ &tls, 501, SV(POST "Transfer-Encoding: gzip, chunked\r\n" END) },
	{ &tls, 501, SV(POST "Transfer-Encoding: chunked, identity\r\n" END) },
	{ &tls, 501, SV(POST "Transfer-Encoding: \"chunked\"\r\n" END) },
	{ &tls, 501, SV(POST "Transfer-Encoding: , chunked\r\n" END) },
	{ &tls, 501, SV(POST "Transfer-Encoding: chunked;q=1\r\n" END) },
	{ &tls, 501, SV(POST "Transfer-Encoding: cHuNkEd\r\n" END) },
	{ &tls, 501, SV(POST "Transfer-Encoding:\r\n" END) },
	{ &tls, 400, SV(POST "Transfer-Encoding: chunked\0\r\n" END) },
	{ &tls, 400, SV(POST "Transfer-Encoding: \x0b" "chunked\r\n" END) },
	{ &tls, 400, SV(POST "Transfer-Encoding : chunked\r\n" END) },
	{ &tls, 400, SV(POST "Transfer_Encoding: chunked\r\n" END) },
	{ &tls, 400, SV(POST "Transfer-Encoding:\r\n chunked\r\n" END) },
	{ &tls, 501, SV(POST "Connection: Transfer-Encoding\r\n"
			"Transfer-Encoding: x\r\n" END) },
	/* what would override what is decided */
	{ &tls, 400, SV(POST "X-HTTP-Method-Override: DELETE\r\n" END) },
	{ &tls, 400, SV(POST "X-HTTP-Method: DELETE\r\n" END) },
	{ &tls, 400, SV(POST "X-Method-Override: DELETE\r\n" END) },
	{ &tls, 400, SV(POST "X_HTTP_Method_Override: DELETE\r\n" END) },
	{ &tls, 400, SV(GET "X-Original-URL: /x\r\n" END) },
	{ &tls, 400, SV(GET "X-Rewrite-URL: /x\r\n" END) },
	{ &tls, 400, SV(GET "X-Forwarded-Host: evil.test\r\n" END) },
	{ &tls, 400, SV(GET "Authorization: a\r\nAuthorization: b\r\n" END) },
	{ &tls, 400, SV(GET "x_api_key: a\r\n" END) },
	/* the rest */
	{ &tls, 417, SV(POST "Expect: 200-ok\r\n" END) },
	{ &tls, 400, SV(GET "Connection: a b\r\n" END) },
	{ &tls, 501, SV("CONNECT h.test:443 HTTP/1.1\r\n" H END) },
	{ &proxy, 400, SV("CONNECT h.test HTTP/1.1\r\n" H END) },
	{ &proxy, 400, SV("CONNECT h.test:443/ HTTP/1.1\r\n" H END) },
	{ &proxy, 400, SV("CONNECT http://h.test:443 HTTP/1.1\r\n" H END) },
	{ &proxy, 400, SV("CONNECT u@h.test:443 HTTP/1.1\r\n" H END) },
	{ &proxy, 400, SV("CONNECT h.test\0.evil:443 HTTP/1.1\r\n" H END) },
	{ &proxy, 403, SV("CONNECT 127.0.0.1:443 HTTP/1.1\r\n"
			  "Host: 127.0.0.1:443\r\n" END) },
	{ &proxy, 403, SV("CONNECT [::1%lo]:443 HTTP/1.1\r\n" H END) },
	{ &proxy, 400, SV("CONNECT h.test:443 HTTP/1.1\r\n"
			  "Host: evil.test:443\r\n" END) },
	{ &proxy, 400, SV("CONNECT h.test:443 HTTP/1.1\r\n" H
			  "Content-Length: 5\r\n" END) },
};

static void test_request_of_two_readings_is_refused(void)
{
	for (size_t i = 0; i < countof(refused); i++) {
		auto_arena struct arena a;
		struct h1_request h;
		ssize_t n = parse(refused[i].in, refused[i].inlet, &a, &h);

		if (n != H1_BAD) {
			printf("# not refused: %.*s\n", SV_FMT(refused[i].in));
			CHECK_INT(n, H1_BAD);
			continue;
		}
		CHECK(h.reason != NULL);
		if (h.status != refused[i].status)
			printf("# %.*s: %s\n", SV_FMT(refused[i].in), h.reason);
		CHECK_INT(h.status, refused[i].status);
	}
}

static void test_request_cut_anywhere_needs_more(void)
{
	struct sv whole = SV("\r\nPOST /a?b HTTP/1.1\r\nHost: h.test\r\n"
			     "X: y\r\nContent-Length: 18\r\n\r\n");

	for (size_t n = 0; n < whole.n; n++) {
		auto_arena struct arena a;
		struct h1_request h;

		CHECK_INT(parse(sv_head(whole, n), &tls, &a, &h), H1_MORE);
	}
}

static void test_request_body_starts_behind_the_head(void)
{
	struct sv in = SV(POST "Content-Length: 3\r\n\r\nabcGET /x");
	auto_arena struct arena a;
	struct h1_request h;
	ssize_t n = parse(in, &tls, &a, &h);

	CHECK(n > 0);
	CHECK_SV(sv_from(in, (size_t)n), "abcGET /x");
	CHECK_INT(h.request.body, HTTP_BODY_LENGTH);
	CHECK_INT(h.request.length, 3);
	CHECK(!h.request.close);
}

static void test_request_flags_say_what_the_agent_wants(void)
{
	auto_arena struct arena a, b, c, d, e;
	struct h1_request h;

	CHECK(parse(SV(GET "Upgrade: WebSocket\r\nConnection: upgrade\r\n"
		       "Sec-WebSocket-Version: 13\r\n"
		       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		       END), &tls, &a, &h) > 0);
	CHECK(h.request.upgrade && !h.request.close);
	CHECK_SV(h.websocket_key, "dGhlIHNhbXBsZSBub25jZQ==");
	CHECK_INT(h.request.fields.n, 0);
	CHECK(parse(SV(GET "Upgrade: h2c\r\n" END), &tls, &b, &h) > 0);
	CHECK(!h.request.upgrade);
	CHECK(parse(SV(POST "Expect: 100-Continue\r\nContent-Length: 2\r\n"
		       END), &tls, &c, &h) > 0);
	CHECK(h.request.expects_continue);
	CHECK(parse(SV(GET "Connection: CLOSE\r\n" END), &tls, &d, &h) > 0);
	CHECK(h.request.close && !h.request.expects_continue && !h.is_http10);
	CHECK(parse(SV("GET / HTTP/1.0\r\n" H "Connection: keep-alive\r\n"
		       END), &tls, &e, &h) > 0);
	CHECK(h.request.close && h.is_http10);
}

static void test_request_connect_names_host_and_port(void)
{
	auto_arena struct arena a, b;
	struct h1_request h;

	CHECK(parse(SV("CONNECT H.test:8443 HTTP/1.1\r\nHost: h.test:8443\r\n"
		       "Connection: close\r\n" END), &proxy, &a, &h) > 0);
	CHECK(h.is_connect);
	CHECK_SV(h.request.host, "h.test");
	CHECK_INT(h.request.port, 8443);
	CHECK_INT(h.request.body, HTTP_BODY_NONE);
	CHECK(parse(SV("CONNECT h.test:443 HTTP/1.0\r\n\r\n"), &proxy, &b,
		    &h) > 0);
	CHECK(h.is_connect);
}

/* A head of `before`, n times fill, `after`. */
static ssize_t parse_filled(const char *before, size_t n, const char *fill,
			    const char *after, struct h1_request *h)
{
	auto_arena struct arena a = arena_new(1 << 20);
	auto_buf struct buf b = buf_new(1 << 20);

	buf_puts(&b, before);
	for (size_t i = 0; i < n; i++)
		buf_puts(&b, fill);
	buf_puts(&b, after);
	return h1_parse_request(buf_sv(&b), &tls, &a, h);
}

static void test_request_sizes_are_bounded(void)
{
	struct h1_request h;

	CHECK(parse_filled(GET, 127, "X: y\r\n", END, &h) > 0);
	CHECK(parse_filled(GET, 128, "X: y\r\n", END, &h) == H1_BAD);
	CHECK_INT(h.status, 431);
	CHECK(parse_filled(GET "X: ", 60000, "a", "\r\n" END, &h) > 0);
	CHECK(parse_filled(GET "X: ", 70000, "a", "\r\n" END, &h) == H1_BAD);
	CHECK_INT(h.status, 431);
	CHECK(parse_filled("GET /", 8000, "a", " HTTP/1.1\r\n" H END, &h) > 0);
	CHECK(parse_filled("GET /", 9000, "a", " HTTP/1.1\r\n" H END, &h) ==
	      H1_BAD);
	CHECK_INT(h.status, 400);
	CHECK(parse_filled("GET /", 40000, "a", "", &h) == H1_BAD);
	CHECK_INT(h.status, 414);
	CHECK(parse_filled("", 9000, "G", "", &h) == H1_BAD);
	CHECK_INT(h.status, 501);
}

static void test_request_arena_too_small_is_refused(void)
{
	auto_arena struct arena a = arena_new(64);
	struct h1_request h;

	CHECK_INT(h1_parse_request(SV(GET "X-Long: aaaaaaaaaaaaaaaaaaaaaaaa\r\n"
				      END), &tls, &a, &h), H1_BAD);
	CHECK_INT(h.status, 431);
}

int main(void)
{
	RUN(test_request_accepted_is_written_anew);
	RUN(test_request_of_two_readings_is_refused);
	RUN(test_request_cut_anywhere_needs_more);
	RUN(test_request_body_starts_behind_the_head);
	RUN(test_request_flags_say_what_the_agent_wants);
	RUN(test_request_connect_names_host_and_port);
	RUN(test_request_sizes_are_bounded);
	RUN(test_request_arena_too_small_is_refused);
	return tap_done();
}
