/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials into the one place of a request. */
#include "credential.h"

#include "own.h"
#include "tap.h"

#define P "stockade_placeholder_00112233445566778899aabbccddeeff"
#define VALUE "sk-real"

struct case_ {
	struct edit edit;
	struct http_field in[3];
	size_t n;
	const char *want;	/* the field's only value; NULL: refused */
};

#define SWAP(form_, field_) \
	{ .form = (form_), .field = SV(field_), .placeholder = SV(P) }
#define ADD(form_, field_, prefix_) \
	{ .form = (form_), .field = SV(field_), .prefix = SV(prefix_) }

/* base64 of "user:" P, "user:x" and P alone, made by another program. */
#define BASIC_P                                                              \
	"dXNlcjpzdG9ja2FkZV9wbGFjZWhvbGRlcl8wMDExMjIzMzQ0NTU2Njc3ODg5OWFhYmJj" \
	"Y2RkZWVmZg=="
#define BASIC_X "dXNlcjp4"

static const struct case_ cases[] = {
	{ SWAP(EDIT_REPLACE, "x-api-key"),
	  { { SV("x-api-key"), SV(P) } }, 1, VALUE },
	{ SWAP(EDIT_REPLACE, "authorization"),
	  { { SV("accept"), SV("*/*") },
	    { SV("authorization"), SV("Bearer " P ";x") } }, 2,
	  "Bearer " VALUE ";x" },
	{ SWAP(EDIT_REPLACE, "x-api-key"), { { SV("a"), SV("b") } }, 1, NULL },
	{ SWAP(EDIT_REPLACE, "x-api-key"), { { SV("x-api-key"), SV("own") } },
	  1, NULL },
	{ SWAP(EDIT_REPLACE, "x-api-key"),
	  { { SV("x-api-key"), SV(P " " P) } }, 1, NULL },
	{ SWAP(EDIT_REPLACE, "x-api-key"),
	  { { SV("x-api-key"), SV(P) }, { SV("x-api-key"), SV(P) } }, 2, NULL },
	{ SWAP(EDIT_REPLACE, "x-api-key"),
	  { { SV("x-api-key"), SV(P) }, { SV("x_api-key"), SV("own") } }, 2,
	  NULL },
	{ SWAP(EDIT_REPLACE, "x-api-key"), { { SV("x_api_key"), SV(P) } }, 1,
	  NULL },
	{ SWAP(EDIT_BASIC, "authorization"),
	  { { SV("authorization"), SV("bAsIc " BASIC_P) } }, 1,
	  "Basic dXNlcjpzay1yZWFs" },
	{ SWAP(EDIT_BASIC, "authorization"),
	  { { SV("authorization"), SV("Basic " BASIC_X) } }, 1, NULL },
	{ SWAP(EDIT_BASIC, "authorization"),
	  { { SV("authorization"), SV("Bearer " BASIC_P) } }, 1, NULL },
	{ SWAP(EDIT_BASIC, "authorization"),
	  { { SV("authorization"), SV("Basic !!!!") } }, 1, NULL },
	{ SWAP(EDIT_BASIC, "authorization"),
	  { { SV("authorization"), SV("Basic") } }, 1, NULL },
	{ ADD(EDIT_ADD, "authorization", "Bearer "),
	  { { SV("authorization"), SV("own") },
	    { SV("authorization"), SV("again") } }, 2, "Bearer " VALUE },
	{ ADD(EDIT_ADD, "x-api-key", ""),
	  { { SV("x_api_key"), SV("own") } }, 1, VALUE },
	{ ADD(EDIT_ADD, "x-api-key", ""), { { { 0 }, { 0 } } }, 0, VALUE },
	{ ADD(EDIT_ADD_BASIC, "authorization", "user"),
	  { { SV("authorization"), SV("own") } }, 1,
	  "Basic dXNlcjpzay1yZWFs" },
	{ ADD(9, "authorization", "user"), { { SV("a"), SV("b") } }, 1, NULL },
	{ { .form = EDIT_REPLACE, .field = SV("a") },
	  { { SV("a"), SV("b") } }, 1, NULL },
};

static void test_edit_puts_the_value_into_its_one_place(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		auto_arena struct arena a = arena_new(65536);
		auto_buf struct buf scratch = buf_new(CREDENTIAL_ROOM);
		struct case_ c = cases[i];
		struct http_request r = { .fields = { c.in, c.n } };
		struct err e;
		int failed = credential_apply(&c.edit, SV(VALUE), &r, &a,
					      &scratch, &e);
		size_t found = 0;

		if ((failed == 0) != (c.want != NULL))
			printf("# case %zu\n", i);
		CHECK((failed == 0) == (c.want != NULL));
		if (failed < 0) {
			CHECK(r.fields.v == c.in && r.fields.n == c.n);
			CHECK_INT(e.kind, ERR_PROTO);
			continue;
		}
		CHECK_SV(http_field_get(&r.fields, c.edit.field), c.want);
		for (size_t k = 0; k < r.fields.n; k++)
			found += r.fields.v[k].name.n == c.edit.field.n;
		CHECK_INT(found, 1);
	}
}

static void test_edit_puts_the_value_into_the_query(void)
{
	const struct { enum edit_form form; struct sv in; const char *want; }
	rows[] = {
		{ EDIT_QUERY, SV("k=" P), "k=a%2Bb%2F%3D%26-._~" },
		{ EDIT_QUERY, SV("a=1&k=" P "&b"), "a=1&k=a%2Bb%2F%3D%26-._~&b" },
		{ EDIT_QUERY, SV("a=1"), NULL },
		{ EDIT_QUERY, SV("kk=" P), NULL },
		{ EDIT_QUERY, SV("k" P), NULL },
		{ EDIT_QUERY, SV("=" P), NULL },
		{ EDIT_QUERY, SV("k=x" P), NULL },
		{ EDIT_QUERY, SV("k=" P "x"), NULL },
		{ EDIT_QUERY, SV("k=" P "&j=" P), NULL },
		{ EDIT_QUERY, SV(""), NULL },
		{ EDIT_ADD_QUERY, SV("a=1"), "a=1&k=a%2Bb%2F%3D%26-._~" },
		{ EDIT_ADD_QUERY, SV(""), "k=a%2Bb%2F%3D%26-._~" },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		auto_arena struct arena a = arena_new(65536);
		auto_buf struct buf scratch = buf_new(CREDENTIAL_ROOM);
		struct http_request r = { .query = rows[i].in };
		struct edit edit = SWAP(rows[i].form, "k");
		struct err e;

		if (rows[i].form == EDIT_ADD_QUERY)
			edit.placeholder = SV("");
		if (!rows[i].want) {
			CHECK(credential_apply(&edit, SV("a+b/=&-._~"), &r, &a,
					       &scratch, &e) < 0);
			CHECK(r.query.p == rows[i].in.p && !r.has_query);
			continue;
		}
		CHECK(!credential_apply(&edit, SV("a+b/=&-._~"), &r, &a,
					&scratch, &e));
		CHECK(r.has_query);
		CHECK_SV(r.query, rows[i].want);
	}
}

static void test_value_that_is_not_visible_is_refused(void)
{
	static const struct sv bad[] = {
		SV(""), SV("a\r\nb: c"), SV("a\nb"), SV("a\0b"), SV("a b"),
		SV("a\tb"), SV("\xc3\xbc"), SV("a\x7f"),
	};

	for (size_t i = 0; i < countof(bad); i++) {
		auto_arena struct arena a = arena_new(65536);
		auto_buf struct buf scratch = buf_new(CREDENTIAL_ROOM);
		struct edit edit = ADD(EDIT_ADD, "x", "");
		struct http_request r = { 0 };
		struct err e;

		CHECK(credential_apply(&edit, bad[i], &r, &a, &scratch, &e) <
		      0);
		CHECK(!credential_apply(&edit, SV("a~!"), &r, &a, &scratch,
					&e));
	}
}

static void test_several_edits_share_scratch_without_moving_it(void)
{
	auto_arena struct arena a = arena_new(65536);
	auto_buf struct buf scratch = buf_new(256);
	struct edit one = ADD(EDIT_ADD, "a", "1"), two = ADD(EDIT_ADD, "b", "2");
	struct edit basic = ADD(EDIT_ADD_BASIC, "c", "user");
	char long_value[200];
	struct http_request r = { 0 };
	struct err e;
	const char *at;

	memset(long_value, 'x', sizeof(long_value));
	CHECK(!credential_apply(&one, SV("v"), &r, &a, &scratch, &e));
	at = scratch.p;
	CHECK(!credential_apply(&two, SV("w"), &r, &a, &scratch, &e));
	CHECK(credential_apply(&basic, sv_of(long_value, 200), &r, &a,
			       &scratch, &e) < 0 && e.kind == ERR_LIMIT);
	CHECK(scratch.p == at);
	CHECK_SV(http_field_get(&r.fields, SV("a")), "1v");
	CHECK_SV(http_field_get(&r.fields, SV("b")), "2w");
	CHECK(http_field_get(&r.fields, SV("c")).p == NULL);
}

static void test_shape_asks_for_plain_whole_responses(void)
{
	struct http_field v[] = {
		{ SV("range"), SV("bytes=1-2") },
		{ SV("accept-encoding"), SV("gzip, br") },
		{ SV("if-range"), SV("x") }, { SV("accept"), SV("*/*") },
	};
	auto_arena struct arena a = arena_new(65536);
	struct http_fields f = { v, countof(v) };
	struct err e;

	CHECK(!credential_shape(&f, &a, &e));
	CHECK_INT(f.n, 2);
	CHECK_SV(http_field_get(&f, SV("accept-encoding")), "identity");
	CHECK_SV(http_field_get(&f, SV("accept")), "*/*");
}

int main(void)
{
	RUN(test_edit_puts_the_value_into_its_one_place);
	RUN(test_edit_puts_the_value_into_the_query);
	RUN(test_value_that_is_not_visible_is_refused);
	RUN(test_several_edits_share_scratch_without_moving_it);
	RUN(test_shape_asks_for_plain_whole_responses);
	return tap_done();
}
