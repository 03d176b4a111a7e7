/* SPDX-License-Identifier: Apache-2.0 */
/* The second look: each single deviation from a good request is seen. */
#include "canonical.h"

#include "own.h"
#include "tap.h"

static struct http_field fields[] = {
	{ { "accept", 6 }, { "*/*", 3 } },
	{ { "authorization", 13 }, { "Bearer x", 8 } },
};

static struct http_request good(void)
{
	return (struct http_request){
		.scheme = HTTP_TLS, .host = SV("h.test"), .port = 443,
		.method = SV("POST"), .path = SV("/a%2Fb"), .has_query = true,
		.query = SV("q=1"), .fields = { fields, countof(fields) },
		.body = HTTP_BODY_LENGTH, .length = 3,
	};
}

static void test_request_good_is_canonical(void)
{
	struct http_request r = good();

	CHECK(request_is_canonical(&r));
	r.body = HTTP_BODY_CHUNKED;
	r.length = 0;
	r.has_query = false;
	r.query = (struct sv){ 0 };
	CHECK(request_is_canonical(&r));
}

static void test_request_url_has_the_port_unless_usual(void)
{
	auto_buf struct buf url = buf_new(100);
	struct http_request r = good();

	request_put_url(&r, &url);
	CHECK(sv_eq(buf_sv(&url), SV("https://h.test/a%2Fb?q=1")));
	buf_reset(&url);
	r.scheme = HTTP_PLAIN;
	r.has_query = false;
	request_put_url(&r, &url);
	CHECK(sv_eq(buf_sv(&url), SV("http://h.test:443/a%2Fb")));
}

#define DEVIATES(change)                                 \
	do {                                             \
		struct http_request r = good();          \
		change;                                  \
		CHECK(!request_is_canonical(&r));        \
	} while (0)

static void test_request_deviation_is_seen(void)
{
	DEVIATES(r.scheme = 0);
	DEVIATES(r.scheme = 3);
	DEVIATES(r.port = 0);
	DEVIATES(r.host = SV(""));
	DEVIATES(r.host = SV("H.test"));
	DEVIATES(r.host = SV("h.test."));
	DEVIATES(r.host = SV("h.test:443"));
	DEVIATES(r.host = SV("127.0.0.1"));
	DEVIATES(r.host = SV("0x7f.1"));
	DEVIATES(r.method = SV(""));
	DEVIATES(r.method = SV("post"));
	DEVIATES(r.method = SV("PO ST"));
	DEVIATES(r.method = SV("CONNECT"));
	DEVIATES(r.method = SV("TRACE"));
	DEVIATES(r.method = SV("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
	DEVIATES(r.path = SV(""));
	DEVIATES(r.path = SV("/a%2fb"));
	DEVIATES(r.path = SV("/a/../b"));
	DEVIATES(r.path = SV("/a?b"));
	DEVIATES(r.path = SV("/%61"));
	DEVIATES(r.query = SV("a b"));
	DEVIATES(r.has_query = false);
	DEVIATES(r.body = HTTP_BODY_CLOSE);
	DEVIATES(r.body = HTTP_BODY_NONE);
	DEVIATES(r.body = HTTP_BODY_CHUNKED);
	DEVIATES(r.body = 9);
}

static void test_request_field_that_may_not_be_is_seen(void)
{
	static const struct http_field bad[] = {
		{ SV("X-A"), SV("") }, { SV(""), SV("") },
		{ SV("x a"), SV("") }, { SV("x\0a"), SV("") },
		{ SV("x-a"), SV("a\r\nb: c") }, { SV("x-a"), SV(" a") },
		{ SV("x-a"), SV("a\0") }, { SV("host"), SV("h.test") },
		{ SV("content-length"), SV("3") }, { SV("connection"), SV("") },
		{ SV("transfer-encoding"), SV("chunked") },
		{ SV("transfer_encoding"), SV("chunked") },
		{ SV("upgrade"), SV("h2c") }, { SV("te"), SV("trailers") },
		{ SV("expect"), SV("100-continue") },
		{ SV("proxy-authorization"), SV("x") },
		{ SV("x-http-method-override"), SV("GET") },
		{ SV("x-original-url"), SV("/") },
		{ SV("authorization"), SV("a second one") },
		{ SV("x_api_key"), SV("k") }, { SV("content.type"), SV("a") },
		{ SV("x.http.method.override"), SV("GET") },
	};

	for (size_t i = 0; i < countof(bad); i++) {
		struct http_field v[3] = { fields[0], fields[1], bad[i] };
		struct http_request r = good();

		r.fields = (struct http_fields){ v, 3 };
		if (request_is_canonical(&r))
			printf("# field %zu is taken\n", i);
		CHECK(!request_is_canonical(&r));
		v[2] = (struct http_field){ SV("x-a"), SV("b") };
		CHECK(request_is_canonical(&r));
	}
}

int main(void)
{
	RUN(test_request_good_is_canonical);
	RUN(test_request_url_has_the_port_unless_usual);
	RUN(test_request_deviation_is_seen);
	RUN(test_request_field_that_may_not_be_is_seen);
	return tap_done();
}
