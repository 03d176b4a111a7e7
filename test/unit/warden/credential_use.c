/* SPDX-License-Identifier: Apache-2.0 */
/* What a request does with credentials: each swap with its refusals. */
#include <stdlib.h>

#include "base64.h"
#include "credential_set.h"
#include "cur.h"
#include "own.h"
#include "tap.h"

static struct secret_scope scope = { .host = { "api.test", 8 },
				     .path = { "/v1/**", 6 } };
static struct secret_rule rule;
static struct credential_set set;
static struct sv like;	/* of the placeholder */

static void set_up(enum secret_form form, bool add)
{
	uint8_t noise[PLACEHOLDER_NOISE] = { 1, 2, 3 };

	rule = (struct secret_rule){
		.name = SV("TOKEN"), .scopes = &scope, .scopes_n = 1,
		.form = form, .add = add, .user = SV("me"),
		.header = SV("x-api-key"),
		.prefix = form == SECRET_COOKIE ? SV("k=") : SV("Key "),
		.key = SV("k"),
	};
	free(set.v);
	set = (struct credential_set){ .values = buf_new(1000) };
	set.v = calloc(1, sizeof *set.v);
	set.n = 1;
	set.v[0].rule = &rule;
	CHECK(placeholder_make(noise, like, &set.v[0].placeholder));
}

static struct sv mark(void)
{
	return credential_placeholder(&set.v[0]);
}

/* One request to api.test with one field. */
static void use(struct sv name, struct sv value, const char *host,
		const char *path, bool tls, struct credential_use *ret)
{
	static struct http_field field;
	struct http_request r = {
		.scheme = tls ? HTTP_TLS : HTTP_PLAIN, .host = sv_str(host),
		.port = tls ? 443 : 80, .method = SV("GET"),
		.path = sv_str(path),
	};
	struct question q = { .tls = tls, .method = r.method, .host = r.host,
			      .path = r.path, .port = r.port };

	field = (struct http_field){ name, value };
	r.fields.v = &field;
	r.fields.n = name.n ? 1 : 0;
	credential_set_use(&set, &q, &r, ret);
}

static void bearer_with(struct sv prefix, struct buf *ret)
{
	buf_put(ret, prefix);
	buf_put(ret, mark());
}

/* Edits that put a value into the request. */
static size_t swaps(const struct credential_use *u)
{
	size_t n = 0;

	for (size_t i = 0; i < u->n; i++)
		n += u->edits[i].form != EDIT_MASK;
	return n;
}

static void test_use_placeholder_in_its_place_is_swapped(void)
{
	auto_buf struct buf value = buf_new(200);
	struct credential_use u;

	set_up(SECRET_BEARER, false);
	bearer_with(SV("Bearer "), &value);
	use(SV("authorization"), buf_sv(&value), "api.test", "/v1/x", true, &u);
	CHECK_INT(u.n, 1);
	CHECK_INT(u.edits[0].form, EDIT_REPLACE);
	CHECK(!u.n_strays && !u.usurped);
}

static void test_use_placeholder_anywhere_else_is_a_stray(void)
{
	const struct { const char *field, *host, *path; bool tls; } rows[] = {
		{ "x-other", "api.test", "/v1/x", true },
		{ "authorization", "other.test", "/v1/x", true },
		{ "authorization", "api.test", "/v2/x", true },
		{ "authorization", "api.test", "/v1/x", false },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		auto_buf struct buf value = buf_new(200);
		struct credential_use u;

		set_up(SECRET_BEARER, false);
		bearer_with(SV("Bearer "), &value);
		use(sv_str(rows[i].field), buf_sv(&value), rows[i].host,
		    rows[i].path, rows[i].tls, &u);
		CHECK_INT(swaps(&u), 0);
		CHECK_INT(u.n_strays, 1);
		CHECK(u.strays[0].credential == &set.v[0]);
	}
}

static void test_use_placeholder_in_path_or_query_is_a_stray(void)
{
	auto_buf struct buf path = buf_new(200);
	struct credential_use u;

	set_up(SECRET_BEARER, false);
	bearer_with(SV("/v1/"), &path);
	use(SV(""), SV(""), "api.test", buf_cstr(&path), true, &u);
	CHECK_INT(u.n_strays, 1);
	CHECK(u.strays[0].credential == &set.v[0]);
	CHECK_SV(sv_str(u.strays[0].where), "path");
	use(SV(""), SV(""), "api.test", "/v1/x", true, &u);
	CHECK(!u.n_strays);
}

static void check_stray(const struct stray *s, const struct credential *c,
			const char *where, const char *name)
{
	CHECK(s->credential == c);
	CHECK_SV(sv_str(s->where), where);
	CHECK_SV(s->name, name);
}

static void test_use_tells_every_place_of_a_placeholder(void)
{
	static const struct sv other = SV(
		"stockade_placeholder_00000000000000000000000000000000");
	struct http_field fields[12] = {
		{ SV("authorization"), other }, { SV("x-one"), other },
	};
	struct http_request r = {
		.scheme = HTTP_TLS, .host = SV("api.test"), .port = 443,
		.method = SV("GET"), .has_query = true, .fields = { fields, countof(fields) },
	};
	struct question q = { .tls = true, .method = r.method, .host = r.host,
			      .port = r.port };
	auto_buf struct buf query = buf_new(200);
	struct credential_use u;

	set_up(SECRET_BEARER, false);
	for (size_t i = 2; i < countof(fields); i++)
		fields[i] = (struct http_field){ SV("x-many"), mark() };
	fields[0].value = r.path = q.path = mark();
	bearer_with(SV("a=1&b="), &query);
	r.query = buf_sv(&query);
	credential_set_use(&set, &q, &r, &u);
	CHECK_INT(u.n_strays, STRAYS_MAX);
	check_stray(&u.strays[0], &set.v[0], "path", "");
	check_stray(&u.strays[1], &set.v[0], "query", "b");
	check_stray(&u.strays[2], &set.v[0], "field", "authorization");
	check_stray(&u.strays[3], NULL, "field", "x-one");
	check_stray(&u.strays[4], &set.v[0], "field", "x-many");
	fields[1].name = mark();
	credential_set_use(&set, &q, &r, &u);
	CHECK(u.strays[3].credential == &set.v[0]);
	CHECK(sv_eq(u.strays[3].name, mark()));
}

static void test_use_own_value_in_the_secrets_field_is_usurped(void)
{
	struct credential_use u;

	set_up(SECRET_BEARER, false);
	use(SV("authorization"), SV("Bearer mine"), "api.test", "/v1/x", true,
	    &u);
	CHECK(u.usurped == &set.v[0]);
	/* Where the secret does not apply, the field is the agent's. */
	use(SV("authorization"), SV("Bearer mine"), "other.test", "/v1/x",
	    true, &u);
	CHECK(!u.usurped);
	/* The origin may not tell these two apart. */
	set_up(SECRET_HEADER, false);
	use(SV("x_api-key"), SV("mine"), "api.test", "/v1/x", true, &u);
	CHECK(u.usurped == &set.v[0]);
	use(SV("x_api_keys"), SV("mine"), "api.test", "/v1/x", true, &u);
	CHECK(!u.usurped);
	/* Nothing at all is nothing at all. */
	use(SV(""), SV(""), "api.test", "/v1/x", true, &u);
	CHECK(!u.usurped && swaps(&u) == 0);
}

/* An origin that takes the first word behind the scheme, or any other field,
 * would take the agent's. */
static void test_use_own_value_beside_the_secrets_is_usurped(void)
{
	static const struct { const char *front, *behind; bool good; } rows[] = {
		{ "Bearer ", "", true },
		{ "token ", "", true },
		{ "", "", true },
		{ "Bearer mine ", "", false },
		{ "Bearer mine,", "", false },
		{ "Bearer mine, Bearer ", "", false },
		{ "Bearer  ", "", false },
		{ "mine", "", false },
		{ "sk-live-1 ", "", false },
		{ "abcdefghijklmnopq ", "", false },
		{ "Bearer ", " mine", false },
		{ "Bearer ", ",mine", false },
	};
	static const char *const other[] = { "x-api-key", "x_auth.token",
					     "private-token" };
	struct credential_use u;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		auto_buf struct buf value = buf_new(200);

		set_up(SECRET_BEARER, false);
		bearer_with(sv_str(rows[i].front), &value);
		buf_puts(&value, rows[i].behind);
		use(SV("authorization"), buf_sv(&value), "api.test", "/v1/x",
		    true, &u);
		CHECK_INT(swaps(&u), rows[i].good);
		CHECK((u.usurped == NULL) == rows[i].good);
	}
	for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
		set_up(SECRET_BEARER, i == 0);
		use(sv_str(other[i]), SV("mine"), "api.test", "/v1/x", true,
		    &u);
		CHECK(u.usurped == &set.v[0]);
		use(sv_str(other[i]), SV("mine"), "api.test", "/v2/x", true,
		    &u);
		CHECK(!u.usurped);
	}
	set_up(SECRET_BEARER, false);
	use(SV("cookie"), SV("a=b"), "api.test", "/v1/x", true, &u);
	CHECK(!u.usurped);
	/* Some clients send one key in two fields. */
	use(SV("x-api-key"), mark(), "api.test", "/v1/x", true, &u);
	CHECK(!u.usurped && u.n_strays == 1 && swaps(&u) == 0);
}

static void test_use_add_replaces_and_fills(void)
{
	struct credential_use u;

	set_up(SECRET_HEADER, true);
	use(SV(""), SV(""), "api.test", "/v1/x", true, &u);
	CHECK_INT(u.n, 1);
	CHECK_INT(u.edits[0].form, EDIT_ADD);
	CHECK_SV(u.edits[0].field, "x-api-key");
	CHECK_SV(u.edits[0].prefix, "Key ");
	use(SV("x-api-key"), SV("mine"), "api.test", "/v1/x", true, &u);
	CHECK_INT(u.n, 1);
	CHECK(!u.usurped);
	use(SV(""), SV(""), "api.test", "/v1/x", false, &u);
	CHECK_INT(swaps(&u), 0);
}

static void basic_of(struct sv user, struct buf *ret)
{
	auto_buf struct buf plain = buf_new(200);

	buf_put(&plain, user);
	buf_putc(&plain, ':');
	buf_put(&plain, mark());
	buf_puts(ret, "Basic ");
	buf_put_base64(ret, buf_sv(&plain));
}

static void test_use_basic_wants_the_rules_user(void)
{
	auto_buf struct buf good = buf_new(300), bad = buf_new(300);
	struct credential_use u;

	set_up(SECRET_BASIC, false);
	basic_of(SV("me"), &good);
	basic_of(SV("you"), &bad);
	use(SV("authorization"), buf_sv(&good), "api.test", "/v1/x", true, &u);
	CHECK_INT(u.n, 1);
	CHECK_INT(u.edits[0].form, EDIT_BASIC);
	use(SV("authorization"), buf_sv(&bad), "api.test", "/v1/x", true, &u);
	CHECK_INT(swaps(&u), 0);
	CHECK(u.usurped && u.n_strays == 1);
}

static void test_use_masks_wherever_the_origin_knows_the_value(void)
{
	const struct { const char *host, *path; bool tls, masked; } rows[] = {
		{ "api.test", "/v1/x", true, true },
		{ "api.test", "/v2/x", true, true },
		{ "other.test", "/v1/x", true, false },
		{ "api.test", "/v1/x", false, false },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct credential_use u;

		set_up(SECRET_BEARER, false);
		use(SV(""), SV(""), rows[i].host, rows[i].path, rows[i].tls,
		    &u);
		CHECK_INT(u.n, rows[i].masked);
		CHECK_INT(swaps(&u), 0);
		CHECK(!u.n_strays && !u.usurped && !u.too_many);
	}
}

/* One request to api.test with that query, and a field. */
static void use_query(const char *query, struct sv name, struct sv value,
		      struct credential_use *ret)
{
	static char text[1000];
	static struct http_field field;
	struct http_request r = {
		.scheme = HTTP_TLS, .host = SV("api.test"), .port = 443,
		.method = SV("GET"), .path = SV("/v1/x"), .has_query = true,
	};
	struct question q = { .tls = true, .method = r.method, .host = r.host,
			      .path = r.path, .port = r.port };
	struct buf b = { .p = text, .cap = sizeof text, .max = sizeof text };

	/* $ is the placeholder. */
	for (; *query; query++)
		if (*query == '$')
			buf_put(&b, mark());
		else
			buf_putc(&b, *query);
	r.query = buf_sv(&b);
	q.query = r.query;
	field = (struct http_field){ name, value };
	r.fields.v = &field;
	r.fields.n = name.n ? 1 : 0;
	credential_set_use(&set, &q, &r, ret);
}

static void test_use_query_of_the_rules_key(void)
{
	const struct {
		const char *query;
		bool swapped, usurped, strayed;
	} rows[] = {
		{ "k=$", true, false, false },
		{ "a=1&k=$&b", true, false, false },
		{ "", false, false, false },
		{ "a=1", false, false, false },
		{ "k=own", false, true, false },
		{ "k=$x", false, true, true },
		{ "k=x$", false, true, true },
		{ "k=$&k=own", false, true, true },
		{ "k=own&k=$", false, true, true },
		{ "k=$&K=own", false, true, true },
		{ "k=$&%6B=own", false, true, true },
		{ "k=$&k[]=own", false, true, true },
		{ "a=1;k=own&k=$", false, true, true },
		{ "%6b=$", false, true, true },
		{ "j=$", false, false, true },
		{ "k=$&j=$", true, false, true },
		{ "k=$&access_token=own", true, true, false },
		{ "k=$&Api_Key=own", true, true, false },
		{ "access_token=$", false, false, true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct credential_use u;

		set_up(SECRET_QUERY, false);
		use_query(rows[i].query, SV(""), SV(""), &u);
		if (swaps(&u) != rows[i].swapped ||
		    (u.usurped != NULL) != rows[i].usurped ||
		    (u.n_strays == 1) != rows[i].strayed)
			printf("# %s\n", rows[i].query);
		CHECK_INT(swaps(&u), rows[i].swapped);
		CHECK(!rows[i].swapped || u.edits[0].form == EDIT_QUERY);
		CHECK((u.usurped != NULL) == rows[i].usurped);
		CHECK((u.n_strays == 1) == rows[i].strayed);
	}
}

static void test_use_query_add_never_guesses(void)
{
	struct credential_use u;

	set_up(SECRET_QUERY, true);
	use_query("a=1", SV(""), SV(""), &u);
	CHECK_INT(swaps(&u), 1);
	CHECK_INT(u.edits[0].form, EDIT_ADD_QUERY);
	CHECK_SV(u.edits[0].field, "k");
	CHECK(!u.usurped && !u.n_strays);
	use_query("k=$", SV(""), SV(""), &u);
	CHECK_INT(swaps(&u), 1);
	CHECK_INT(u.edits[0].form, EDIT_QUERY);
	use_query("k=own", SV(""), SV(""), &u);
	CHECK(swaps(&u) == 0 && u.usurped);
	use_query("a=1", SV("authorization"), SV("Bearer own"), &u);
	CHECK(u.usurped);
	/* A field of the key's name is another place. */
	use_query("a=1", SV("k"), SV("own"), &u);
	CHECK(!u.usurped);
}

static void test_use_own_credential_in_a_query_is_usurped(void)
{
	struct credential_use u;

	set_up(SECRET_BEARER, false);
	use_query("access_token=own", SV(""), SV(""), &u);
	CHECK(u.usurped);
	use_query("page=1&per_page=2", SV(""), SV(""), &u);
	CHECK(!u.usurped);
}

static void test_use_cookie_stands_alone(void)
{
	const struct { const char *front, *back; bool swapped; } rows[] = {
		{ "k=", "", true },
		{ "a=1; k=", "", false },
		{ "k=", "; a=1", false },
		{ "k=\"", "\"", false },
		{ "K=", "", false },
		{ "", "", false },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		auto_buf struct buf value = buf_new(200);
		struct credential_use u;

		set_up(SECRET_COOKIE, false);
		bearer_with(sv_str(rows[i].front), &value);
		buf_puts(&value, rows[i].back);
		use(SV("cookie"), buf_sv(&value), "api.test", "/v1/x", true, &u);
		CHECK_INT(swaps(&u), rows[i].swapped);
		CHECK((u.usurped != NULL) == !rows[i].swapped);
		CHECK((u.n_strays == 1) == !rows[i].swapped);
	}
}

static void test_use_cookie_is_added(void)
{
	struct credential_use u;

	set_up(SECRET_COOKIE, true);
	use(SV("cookie"), SV("k=own; a=1"), "api.test", "/v1/x", true, &u);
	CHECK_INT(swaps(&u), 1);
	CHECK_INT(u.edits[0].form, EDIT_ADD);
	CHECK_SV(u.edits[0].field, "cookie");
	CHECK_SV(u.edits[0].prefix, "k=");
	CHECK(!u.usurped);
}

/* Where a plain one is swapped, and where it is found astray. */
static void test_use_shaped_placeholders_are_like_plain_ones(void)
{
	static const struct sv shapes[] = { SV("ghp_"), SV("jwt"), SV("a.b-") };

	for (size_t i = 0; i < countof(shapes); i++) {
		auto_buf struct buf value = buf_new(400), plain = buf_new(400);
		struct credential_use u;

		like = shapes[i];
		set_up(SECRET_BASIC, false);
		buf_puts(&plain, "me:");
		buf_put(&plain, mark());
		buf_puts(&value, "Basic ");
		buf_put_base64(&value, buf_sv(&plain));
		use(SV("authorization"), buf_sv(&value), "api.test", "/v1/x",
		    true, &u);
		CHECK_INT(swaps(&u), 1);
		CHECK_INT(u.edits[0].form, EDIT_BASIC);
		CHECK(sv_eq(u.edits[0].placeholder, mark()));
		CHECK(!u.n_strays && !u.usurped);
		use(SV("authorization"), buf_sv(&value), "other.test", "/v1/x",
		    true, &u);
		CHECK_INT(swaps(&u), 0);
		CHECK_INT(u.n_strays, 1);
		CHECK(u.strays[0].credential == &set.v[0]);
		set_up(SECRET_QUERY, false);
		buf_reset(&value);
		buf_puts(&value, "/v1/");
		buf_put(&value, credential_core(&set.v[0]));
		use(SV(""), SV(""), "api.test", buf_cstr(&value), true, &u);
		CHECK_INT(u.n_strays, 1);
		CHECK(u.strays[0].credential == &set.v[0]);
	}
	like = (struct sv){ 0 };
}

static void test_redact_hides_every_value(void)
{
	auto_buf struct buf out = buf_new(200);

	set_up(SECRET_BEARER, false);
	buf_put_sv(&set.values, SV("hunter2"));
	buf_put_sv(&set.values, SV("swordfish"));
	credential_set_redact(&set, SV("a=hunter2&b=swordfish&c=hunter"), &out);
	CHECK_SV(buf_sv(&out), "a=[secret]&b=[secret]&c=hunter");
	buf_free(&set.values);
}

int main(void)
{
	RUN(test_use_placeholder_in_its_place_is_swapped);
	RUN(test_use_placeholder_anywhere_else_is_a_stray);
	RUN(test_use_placeholder_in_path_or_query_is_a_stray);
	RUN(test_use_tells_every_place_of_a_placeholder);
	RUN(test_use_own_value_in_the_secrets_field_is_usurped);
	RUN(test_use_own_value_beside_the_secrets_is_usurped);
	RUN(test_use_add_replaces_and_fills);
	RUN(test_use_basic_wants_the_rules_user);
	RUN(test_use_masks_wherever_the_origin_knows_the_value);
	RUN(test_use_query_of_the_rules_key);
	RUN(test_use_query_add_never_guesses);
	RUN(test_use_own_credential_in_a_query_is_usurped);
	RUN(test_use_cookie_stands_alone);
	RUN(test_use_cookie_is_added);
	RUN(test_use_shaped_placeholders_are_like_plain_ones);
	RUN(test_redact_hides_every_value);
	return tap_done();
}
