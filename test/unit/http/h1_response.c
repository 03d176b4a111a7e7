/* SPDX-License-Identifier: Apache-2.0 */
/* Response heads of origins, and what the agent gets of them. */
#include "h1_response.h"

#include "own.h"
#include "tap.h"

static ssize_t parse(struct sv in, const char *method, struct arena *a,
		     struct h1_response *ret)
{
	*a = arena_new(1 << 20);
	return h1_parse_response(in, sv_str(method), a, ret);
}

#define OK "HTTP/1.1 200 OK\r\n"

static const struct {
	const char *method, *in;
	unsigned status, body;
	uint64_t length;
	bool close;
	const char *out;
} accepted[] = {
	{ "GET", OK "Content-Length: 5\r\nX-A: b\r\n\r\n", 200,
	  HTTP_BODY_LENGTH, 5, false,
	  "HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: 5\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ "GET", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", 404,
	  HTTP_BODY_LENGTH, 0, false,
	  "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ "GET", OK "Transfer-Encoding: chunked\r\nTrailer: x\r\n\r\n", 200,
	  HTTP_BODY_CHUNKED, 0, false,
	  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ "GET", OK "\r\n", 200, HTTP_BODY_CLOSE, 0, true,
	  "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" },
	{ "GET", "HTTP/1.0 200 Fine\r\nContent-Length: 1\r\n\r\n", 200,
	  HTTP_BODY_LENGTH, 1, true,
	  "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: keep-alive\r\n"
	  "\r\n" },
	{ "HEAD", OK "Content-Length: 123456789012\r\n\r\n", 200,
	  HTTP_BODY_NONE, 0, false,
	  "HTTP/1.1 200 OK\r\ncontent-length: 123456789012\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ "HEAD", OK "Transfer-Encoding: chunked\r\n\r\n", 200, HTTP_BODY_NONE,
	  0, false, "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\n\r\n" },
	{ "GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, HTTP_BODY_NONE, 0,
	  false,
	  "HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n" },
	{ "GET", "HTTP/1.1 204 x\r\nContent-Length: 7\r\n\r\n", 204,
	  HTTP_BODY_NONE, 0, true,
	  "HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n" },
	{ "GET", "HTTP/1.1 304 x\r\nContent-Length: 7\r\nETag: \"a\"\r\n\r\n",
	  304, HTTP_BODY_NONE, 0, false,
	  "HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ "GET", "HTTP/1.1 100 Continue\r\n\r\n", 100, HTTP_BODY_NONE, 0, false,
	  "HTTP/1.1 100 Continue\r\n\r\n" },
	{ "GET", "HTTP/1.1 102 x\r\n\r\n", 102, HTTP_BODY_NONE, 0, false,
	  "HTTP/1.1 102 \r\n\r\n" },
	{ "GET", OK "Transfer-Encoding: Chunked\r\n\r\n", 200,
	  HTTP_BODY_CHUNKED, 0, false,
	  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"
	  "connection: keep-alive\r\n\r\n" },
	{ "GET", "HTTP/1.1 103 x\r\nLink: </a>\r\n\r\n", 103, HTTP_BODY_NONE, 0,
	  false, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" },
	{ "GET", "HTTP/1.1 101 x\r\nUPGRADE: WebSocket\r\nConnection: Upgrade"
	  "\r\nX: y\r\n\r\n", 101, HTTP_BODY_CLOSE, 0, true,
	  "HTTP/1.1 101 Switching Protocols\r\nx: y\r\nconnection: upgrade\r\n"
	  "upgrade: websocket\r\n\r\n" },
	{ "GET", OK "Content-Length: 0\r\nConnection: close, X-Hop\r\n"
	  "X-Hop: 1\r\nKeep-Alive: 1\r\nAlt-Svc: h3=\":443\"\r\n"
	  "Upgrade: h2\r\nProxy-Authenticate: Basic\r\nSet-Cookie: a\r\n"
	  "Set-Cookie: b\r\n\r\n", 200, HTTP_BODY_LENGTH, 0, true,
	  "HTTP/1.1 200 OK\r\nset-cookie: a\r\nset-cookie: b\r\n"
	  "content-length: 0\r\nconnection: keep-alive\r\n\r\n" },
};

static void test_response_accepted_is_written_anew(void)
{
	for (size_t i = 0; i < countof(accepted); i++) {
		auto_arena struct arena a;
		auto_buf struct buf b = buf_new(65536);
		struct h1_response r;
		ssize_t n = parse(sv_str(accepted[i].in), accepted[i].method,
				  &a, &r);

		if (n < 0)
			printf("# %zu: %s\n", i, r.reason);
		CHECK_INT(n, strlen(accepted[i].in));
		if (n <= 0)
			continue;
		CHECK_INT(r.response.status, accepted[i].status);
		CHECK_INT(r.response.body, accepted[i].body);
		CHECK_INT(r.response.length, accepted[i].length);
		CHECK_INT(r.response.close, accepted[i].close);
		h1_write_response_head(&b, &r.response, true);
		CHECK_SV(buf_sv(&b), accepted[i].out);
	}
}

static const struct sv refused[] = {
	SV("HTTP/1.1 200 OK\nContent-Length: 0\n\n"),
	SV("HTTP/1.1 200 OK\rContent-Length: 0\r\r"),
	SV("http/1.1 200 OK\r\n\r\n"), SV("HTTP/1.2 200 OK\r\n\r\n"),
	SV("HTTP/2 200\r\n\r\n"), SV("HTTP/1.1  200 OK\r\n\r\n"),
	SV("HTTP/1.1 20 OK\r\n\r\n"), SV("HTTP/1.1 2000 OK\r\n\r\n"),
	SV("HTTP/1.1 600 OK\r\n\r\n"), SV("HTTP/1.1 099 OK\r\n\r\n"),
	SV("HTTP/1.1 +20 OK\r\n\r\n"), SV("HTTP/1.1 200OK\r\n\r\n"),
	SV("HTTP/1.1 200 O\0K\r\n\r\n"), SV("HTTP/1.1 101 x\r\n\r\n"),
	SV("HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n"),
	SV("HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
	SV("HTTP/1.0 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"),
	SV("HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
	   "Content-Length: 0\r\n\r\n"),
	SV("<html>"), SV("\r\n" OK "\r\n"),
	SV("ICY 200 OK\r\n\r\n"),
	SV(OK "X: a\r\n b\r\n\r\n"), SV(OK "X : a\r\n\r\n"),
	SV(OK "X\r\n\r\n"), SV(OK "X: a\0b\r\n\r\n"), SV(OK "X: a\rb\r\n\r\n"),
	SV(OK " X: a\r\n\r\n"), SV(OK "X Y: a\r\n\r\n"),
	SV(OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"),
	SV(OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"),
	SV(OK "Content-Length: 1, 1\r\n\r\n"), SV(OK "Content-Length: x\r\n\r\n"),
	SV(OK "Content-Length: -1\r\n\r\n"),
	SV(OK "Content-Length: 99999999999999999999\r\n\r\n"),
	SV(OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
	SV(OK "Transfer-Encoding: gzip, chunked\r\n\r\n"),
	SV(OK "Transfer-Encoding: identity\r\n\r\n"),
	SV(OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n"),
	SV("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
};

static void test_response_of_two_readings_is_refused(void)
{
	for (size_t i = 0; i < countof(refused); i++) {
		auto_arena struct arena a;
		struct h1_response r;
		ssize_t n = parse(refused[i], "GET", &a, &r);

		if (n != H1_BAD)
			printf("# not refused: %.*s\n", SV_FMT(refused[i]));
		CHECK_INT(n, H1_BAD);
		CHECK(n == H1_BAD && r.reason);
	}
}

static void test_response_cut_anywhere_needs_more(void)
{
	struct sv whole = SV(OK "X: y\r\nContent-Length: 18\r\n\r\n");

	for (size_t n = 0; n < whole.n; n++) {
		auto_arena struct arena a;
		struct h1_response r;

		CHECK_INT(parse(sv_head(whole, n), "GET", &a, &r), H1_MORE);
	}
}

static void test_response_endless_head_is_refused(void)
{
	auto_buf struct buf b = buf_new(1 << 20);
	auto_arena struct arena a;
	struct h1_response r;

	buf_puts(&b, OK);
	while (b.n < HTTP_HEAD_MAX)
		buf_puts(&b, "X: y\r\n");
	CHECK_INT(parse(buf_sv(&b), "GET", &a, &r), H1_BAD);
}

int main(void)
{
	RUN(test_response_accepted_is_written_anew);
	RUN(test_response_of_two_readings_is_refused);
	RUN(test_response_cut_anywhere_needs_more);
	RUN(test_response_endless_head_is_refused);
	return tap_done();
}
