/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/edge/page.c. */
#include "page.h"

#include "tap.h"

static struct buf out;

static struct sv render(const struct page *p)
{
	out.max = PAGE_MAX * 4;
	buf_reset(&out);
	page_put(&out, p);
	return buf_sv(&out);
}

static bool has(struct sv v, const char *what)
{
	return sv_find_sv(v, sv_str(what)) < v.n;
}

static struct sv head_of(struct sv v)
{
	return sv_head(v, sv_find_sv(v, SV("\r\n\r\n")));
}

static void test_denial_says_it_everywhere(void)
{
	struct page p = {
		.status = 403, .request = SV("GET https://a.example/x"),
		.reason = SV("no rule allows GET a.example/x"),
		.allow_with = SV("allow GET a.example/x"),
	};
	struct sv v = render(&p);

	CHECK(sv_starts(v, SV("HTTP/1.1 403 Forbidden by stockade: no rule"
			      " allows GET a.example/x\r\n")));
	CHECK(has(v, "\r\nContent-Type: application/json\r\n"));
	CHECK(has(v, "\r\nStockade-Denied: no-rule-allows-get-a-example-x\r\n"));
	CHECK(has(v, "\"rule\": null"));
	CHECK(has(v, "\"allow_with\": \"allow GET a.example/x\""));
	CHECK(has(v, "add the line in allow_with"));
	CHECK(!has(head_of(v), "Connection:"));
}

static void test_what_is_quoted_cannot_split_the_head(void)
{
	struct page p = { .status = 403,
			  .reason = SV("a\r\nX: y\r\n\r\nb\x1b\xff\0c") };
	struct sv v = render(&p);

	CHECK(!has(head_of(v), "\r\nX:"));
	CHECK(!has(v, "\x1b"));
	CHECK(!has(v, "\xff"));
	CHECK(has(v, "\r\nStockade-Denied: a-x-y-b-c\r\n"));
}

static void test_a_limit_is_a_denial(void)
{
	struct page p = { .status = 429, .reason = SV("limit reached") };
	struct sv v = render(&p);

	CHECK(sv_starts(v, SV("HTTP/1.1 429 Too Many Requests by stockade:"
			      " limit reached\r\n")));
	CHECK(has(v, "\r\nStockade-Denied: limit-reached\r\n"));
	CHECK(has(v, "\"error\": \"denied by stockade\""));
}

static void test_head_only_and_close(void)
{
	struct page p = { .status = 502, .reason = SV("x"), .head_only = true,
			  .close = true };
	struct sv v = render(&p);

	CHECK(sv_ends(v, SV("\r\nConnection: close\r\n\r\n")));
	CHECK(!has(v, "Content-Length: 0"));
	CHECK(!has(v, "Stockade-Denied"));
}

static void test_git_reads_plain_text(void)
{
	struct page p = { .status = 403, .plain = true, .reason = SV("why\n"),
			  .rule = SV("deny * a.example/**") };
	struct sv v = render(&p);

	CHECK(page_wants_plain(SV("git/2.39.5")));
	CHECK(page_wants_plain(SV("Go-http-client/2.0")));
	CHECK(!page_wants_plain(SV("curl/8")));
	CHECK(has(v, "\r\nContent-Type: text/plain\r\n"));
	CHECK(has(v, "denied by stockade: why\\x0a\n"));
	CHECK(has(v, "rule: deny * a.example/**\n"));
}

static void test_oversized_quotes_leave_a_valid_answer(void)
{
	static char huge[8000];
	struct page p = { .status = 403, .reason = sv_of(huge, sizeof huge),
			  .allow_with = sv_of(huge, sizeof huge) };
	struct sv v;

	memset(huge, 0x01, sizeof huge);
	v = render(&p);
	CHECK(!out.full);
	CHECK(v.n < 1024);
	CHECK(sv_ends(v, SV("{\"error\": \"denied by stockade\"}\n")));
}

static void test_a_call_of_grpc_is_told_in_one_line(void)
{
	struct page p = { .status = 403, .reason = SV("50% of\r\n\xc3"),
			  .allow_with = SV("allow POST a.example/x") };

	buf_reset(&out);
	page_put_grpc_message(&out, &p);
	CHECK(sv_eq(buf_sv(&out),
		    SV("denied by stockade: 50%25 of%0D%0A%C3; allowed with: "
		       "allow POST a.example/x")));
	CHECK(page_grpc_status(&p) == 7);
	p.status = 429;
	CHECK(page_grpc_status(&p) == 8);
	p.status = 400;
	CHECK(page_grpc_status(&p) == 13);
	p.status = 502;
	CHECK(page_grpc_status(&p) == 14);
	CHECK(page_wants_grpc(SV("application/grpc")));
	CHECK(page_wants_grpc(SV("application/grpc+proto")));
	CHECK(!page_wants_grpc(SV("application/grpc-web")));
	CHECK(!page_wants_grpc(SV("application/json")));
	CHECK(!page_wants_grpc(SV("")));
}

int main(void)
{
	RUN(test_denial_says_it_everywhere);
	RUN(test_what_is_quoted_cannot_split_the_head);
	RUN(test_a_limit_is_a_denial);
	RUN(test_head_only_and_close);
	RUN(test_git_reads_plain_text);
	RUN(test_a_call_of_grpc_is_told_in_one_line);
	RUN(test_oversized_quotes_leave_a_valid_answer);
	buf_free(&out);
	return tap_done();
}
