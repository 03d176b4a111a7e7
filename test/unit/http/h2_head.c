/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request heads of HTTP/2: what is refused, each beside what is not; what is
 * accepted, written out as an origin would get it.
 */
#include "h2_head.h"

#include "canonical.h"
#include "h1_response.h"
#include "own.h"
#include "tap.h"

static const struct h1_inlet tls = {
	.scheme = HTTP_TLS, .host = { "h.test", 6 }, .port = 443,
};
static const struct h1_inlet other = {
	.scheme = HTTP_TLS, .host = { "h.test", 6 }, .port = 8443,
};

/* Lines of "name value", each up to its LF. */
static int parse(struct sv in, bool ended, const struct h1_inlet *inlet,
		 struct arena *a, struct h2_list *l, struct http_request *ret)
{
	*a = arena_new(1 << 19);
	*l = (struct h2_list){ 0 };
	while (in.n) {
		struct sv line = sv_cut(&in, '\n');
		struct sv name = sv_cut(&line, ' ');

		h2_list_add(l, a, name, line);
	}
	return h2_parse_request(l, ended, inlet, a, ret);
}

#define M ":method GET\n"
#define S ":scheme https\n"
#define A ":authority h.test\n"
#define P ":path /\n"
#define GET M S A P
#define POST ":method POST\n" S A P
#define SOCKET ":method CONNECT\n:protocol websocket\n" S A P
#define LAST "connection: keep-alive\r\n\r\n"
#define OUT "GET / HTTP/1.1\r\nhost: h.test\r\n"

static const struct {
	const struct h1_inlet *inlet;
	bool ended;
	const char *in, *out;
} accepted[] = {
	{ &tls, true, GET, OUT LAST },
	{ &tls, true, P A S M, OUT LAST },
	{ &tls, true, M S ":authority H.TEST.:443\n"
	  ":path /%7e%2fx?a=%2e\nx-a b\tc\naccept \n",
	  "GET /~%2Fx?a=%2e HTTP/1.1\r\nhost: h.test\r\nx-a: b\tc\r\n"
	  "accept: \r\n" LAST },
	{ &other, true, M S ":authority h.test:8443\n" P,
	  "GET / HTTP/1.1\r\nhost: h.test:8443\r\n" LAST },
	/* the authority in either place, or in both */
	{ &tls, true, M S P "host h.test\n", OUT LAST },
	{ &tls, true, GET "host h.test:443\n", OUT LAST },
	/* a body is framed by frames, and with a length if there is one */
	{ &tls, false, POST, "POST / HTTP/1.1\r\nhost: h.test\r\n"
	  "transfer-encoding: chunked\r\n" LAST },
	{ &tls, false, POST "content-length 3\n", "POST / HTTP/1.1\r\n"
	  "host: h.test\r\ncontent-length: 3\r\n" LAST },
	{ &tls, true, POST, "POST / HTTP/1.1\r\nhost: h.test\r\n"
	  "content-length: 0\r\n" LAST },
	{ &tls, true, POST "content-length 0\n", "POST / HTTP/1.1\r\n"
	  "host: h.test\r\ncontent-length: 0\r\n" LAST },
	{ &tls, false, GET "content-length 5\n", OUT "content-length: 5\r\n"
	  LAST },
	/* crumbs become one cookie, in the place of the first */
	{ &tls, true, GET "cookie a=1\nx-a 1\ncookie b=2\ncookie \n"
	  "cookie c=3\n", OUT "cookie: a=1; b=2; ; c=3\r\nx-a: 1\r\n" LAST },
	/* what ends at this hop goes, or is said anew */
	{ &tls, true, GET "te trailers\ntrailer x\nproxy-authorization x\n"
	  "authorization k\n", OUT "authorization: k\r\n"
	  "te: trailers\r\nconnection: te, keep-alive\r\n\r\n" },
	{ &tls, true, GET "x-te gzip\n", OUT "x-te: gzip\r\n" LAST },
	/* a WebSocket */
	{ &tls, false, SOCKET "sec-websocket-version 13\n"
	  "sec-websocket-key x\nsec-websocket-protocol p\n",
	  OUT "sec-websocket-protocol: p\r\nconnection: upgrade\r\n"
	  "upgrade: websocket\r\n\r\n" },
};

static void test_request_accepted_is_written_as_http_1(void)
{
	for (size_t i = 0; i < countof(accepted); i++) {
		auto_arena struct arena a;
		auto_buf struct buf b = buf_new(65536);
		struct http_request r;
		struct h2_list l;
		int got = parse(sv_str(accepted[i].in), accepted[i].ended,
				accepted[i].inlet, &a, &l, &r);

		if (got < 0)
			printf("# %zu: %s\n", i, l.why.reason);
		CHECK_INT(got, 0);
		if (got < 0)
			continue;
		CHECK(request_is_canonical(&r));
		h1_write_request(&b, &r);
		CHECK_SV(buf_sv(&b), accepted[i].out);
	}
}

static const struct {
	unsigned status;
	struct sv in;
} refused[] = {
	/* pseudo-header fields */
	{ 400, SV("") },
	{ 400, SV(S A P) },
	{ 400, SV(M A P) },
	{ 400, SV(M S A) },
	{ 400, SV(M S P) },
	{ 400, SV(GET M) },
	{ 400, SV(GET A) },
	{ 400, SV(GET P) },
	{ 400, SV(GET S) },
	{ 400, SV(GET ":protocol websocket\n") },
	{ 400, SV(GET ":status 200\n") },
	{ 400, SV(GET ":Method GET\n") },
	{ 400, SV(M S A "x-a 1\n" P) },
	{ 400, SV(GET "x-a 1\n:path /y\n") },
	/* method */
	{ 400, SV(":method get\n" S A P) },
	{ 400, SV(":method G(T\n" S A P) },
	{ 400, SV(":method \n" S A P) },
	{ 400, SV(":method GET /x HTTP/1.1\r\n" S A P) },
	{ 400, SV(":method PRI\n" S A P) },
	{ 501, SV(":method CONNECT\n" S A P) },
	{ 501, SV(":method CONNECT\n" A) },
	{ 501, SV(":method CONNECT\n:protocol connect-udp\n" S A P) },
	{ 400, SV(SOCKET) },
	{ 400, SV(SOCKET "sec-websocket-version 8\n") },
	{ 400, SV(SOCKET "sec-websocket-version 13\ncontent-length 0\n") },
	{ 400, SV(SOCKET ":protocol websocket\nsec-websocket-version 13\n") },
	{ 501, SV(":method TRACE\n" S A P) },
	{ 501, SV(":method AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n" S A P) },
	/* scheme, authority */
	{ 400, SV(M ":scheme http\n" A P) },
	{ 400, SV(M ":scheme HTTPS\n" A P) },
	{ 421, SV(M S ":authority o.test\n" P) },
	{ 421, SV(M S ":authority h.test:80\n" P) },
	{ 421, SV(GET "host o.test\n") },
	{ 421, SV(M S ":authority o.test\n" P "host h.test\n") },
	{ 400, SV(GET "host h.test\nhost h.test\n") },
	{ 400, SV(M S ":authority u@h.test\n" P) },
	{ 400, SV(M S ":authority \n" P) },
	{ 403, SV(M S ":authority 127.0.0.1\n" P) },
	/* path */
	{ 400, SV(M S A ":path \n") },
	{ 400, SV(M S A ":path *\n") },
	{ 400, SV(M S A ":path x\n") },
	{ 400, SV(M S A ":path https://h.test/\n") },
	{ 400, SV(M S A ":path /a/../b\n") },
	{ 400, SV(M S A ":path /a b\n") },
	{ 400, SV(M S A ":path /a HTTP/1.1\r\n") },
	{ 400, SV(M S A ":path /a#b\n") },
	{ 400, SV(M S A ":path /%00\n") },
	/* fields */
	{ 400, SV(GET "X-A 1\n") },
	{ 400, SV(GET " x\n") },
	{ 400, SV(GET "x:y z\n") },
	{ 400, SV(GET "x\0y z\n") },
	{ 400, SV(GET "x\r z\n") },
	{ 400, SV(GET "x a\rb\n") },
	{ 400, SV(GET "x a\0b\n") },
	{ 400, SV(GET "x  a\n") },
	{ 400, SV(GET "x a \n") },
	{ 400, SV(GET "connection close\n") },
	{ 400, SV(GET "keep-alive 5\n") },
	{ 400, SV(GET "proxy-connection x\n") },
	{ 400, SV(GET "transfer-encoding chunked\n") },
	{ 400, SV(GET "transfer_encoding chunked\n") },
	{ 400, SV(GET "upgrade h2c\n") },
	{ 400, SV(GET "http2-settings AAMAAABk\n") },
	{ 400, SV(GET "te gzip\n") },
	{ 400, SV(GET "te trailers, gzip\n") },
	{ 400, SV(GET "content-length 1\ncontent-length 1\n") },
	{ 400, SV(GET "content-length 1, 1\n") },
	{ 400, SV(GET "content-length +1\n") },
	{ 400, SV(GET "content_length 0\n") },
	{ 417, SV(GET "expect 200-ok\n") },
	{ 400, SV(GET "x-http-method-override PUT\n") },
	{ 400, SV(GET "authorization a\nauthorization b\n") },
};

static void test_request_refused(void)
{
	for (size_t i = 0; i < countof(refused); i++) {
		auto_arena struct arena a;
		struct http_request r;
		struct h2_list l;

		CHECK_INT(parse(refused[i].in, false, &tls, &a, &l, &r), -1);
		CHECK_INT(l.why.status, refused[i].status);
		if (l.why.status != refused[i].status)
			printf("# %zu: %s\n", i, l.why.reason);
	}
}

static void test_a_websocket_does_not_end_with_its_head(void)
{
	auto_arena struct arena a, b;
	const struct sv in = SV(SOCKET "sec-websocket-version 13\n");
	struct http_request r;
	struct h2_list l;

	CHECK_INT(parse(in, false, &tls, &a, &l, &r), 0);
	CHECK(r.upgrade && r.body == HTTP_BODY_NONE && r.fields.n == 0);
	CHECK_SV(r.method, "GET");
	CHECK_INT(parse(in, true, &tls, &b, &l, &r), -1);
	CHECK_INT(l.why.status, 400);
}

static void test_a_length_needs_a_body(void)
{
	auto_arena struct arena a, b;
	struct http_request r;
	struct h2_list l;

	CHECK_INT(parse(SV(POST "content-length 1\n"), true, &tls, &a, &l, &r),
		  -1);
	CHECK_INT(parse(SV(POST "content-length 1\n"), false, &tls, &b, &l,
			&r), 0);
}

static void test_continue_only_before_a_body(void)
{
	auto_arena struct arena a, b;
	struct http_request r;
	struct h2_list l;

	CHECK_INT(parse(SV(POST "expect 100-continue\n"), false, &tls, &a, &l,
			&r), 0);
	CHECK(r.expects_continue);
	CHECK_INT(parse(SV(POST "expect 100-continue\n"), true, &tls, &b, &l,
			&r), 0);
	CHECK(!r.expects_continue);
}

static void add_many(struct h2_list *l, struct arena *a, size_t n,
		     struct sv name, struct sv value)
{
	*a = arena_new(1 << 19);
	*l = (struct h2_list){ 0 };
	h2_list_add(l, a, SV(":method"), SV("GET"));
	h2_list_add(l, a, SV(":scheme"), SV("https"));
	h2_list_add(l, a, SV(":authority"), SV("h.test"));
	h2_list_add(l, a, SV(":path"), SV("/"));
	while (n--)
		h2_list_add(l, a, name, value);
}

static int count(size_t n, struct sv name, struct sv value)
{
	auto_arena struct arena a;
	struct http_request r;
	struct h2_list l;

	add_many(&l, &a, n, name, value);
	return h2_parse_request(&l, true, &tls, &a, &r) == 0 ? 0
							     : l.why.status;
}

static void test_a_head_is_bounded(void)
{
	static char big[40000];

	memset(big, 'x', sizeof big);
	CHECK_INT(count(128, SV("a"), SV("")), 0);
	CHECK_INT(count(129, SV("a"), SV("")), 400);
	CHECK_INT(count(252, SV("cookie"), SV("c")), 0);
	CHECK_INT(count(253, SV("cookie"), SV("c")), 431);
	CHECK_INT(count(1, SV("a"), sv_of(big, sizeof big)), 0);
	CHECK_INT(count(2, SV("a"), sv_of(big, sizeof big)), 431);
}

int main(void)
{
	RUN(test_request_accepted_is_written_as_http_1);
	RUN(test_request_refused);
	RUN(test_a_websocket_does_not_end_with_its_head);
	RUN(test_a_length_needs_a_body);
	RUN(test_continue_only_before_a_body);
	RUN(test_a_head_is_bounded);
	return tap_done();
}
