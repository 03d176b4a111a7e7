/* SPDX-License-Identifier: Apache-2.0 */
/* Files of placeholders: what is written, and what is not; and `in` of a secret. */
#include "tap.h"

#include "keyfile_text.h"
#include "own.h"
#include "policy_text.h"

#define ALLOW "allow * a.example.com\n"
#define SECRET "secret A from env for a.example.com as basic u"

static void check_text(const char *file, const struct keyfile_entry *v,
		       size_t n, const char *want)
{
	auto_buf struct buf b = buf_new(4096);

	keyfile_text_put(&b, keyfile_format_of(sv_str(file)), v, n);
	CHECK(!b.full);
	CHECK_SV(buf_sv(&b), want);
}

static void test_text_of_each_format(void)
{
	const struct keyfile_entry netrc[] = {
		{ SV("a.test"), SV("u"), SV("one"), false },
		{ SV("b.test"), SV("w"), SV("two"), false },
	};
	const struct keyfile_entry ini[] = {
		{ SV("pypi.password"), SV("u"), SV("one"), false },
		{ SV("//a.test/:_authToken"), SV(""), SV("two"), false },
		{ SV("my.own.token"), SV("u"), SV("three"), false },
		{ SV("pypi.other"), SV(""), SV("four"), false },
		{ SV("_auth"), SV("u"), SV("p"), true },
	};
	const struct keyfile_entry json[] = {
		{ SV("/auths/a.test~1v1/auth"), SV("u"), SV("p"), true },
		{ SV("/auths/b~0/auth"), SV("u"), SV("two"), false },
		{ SV("/c"), SV(""), SV("three"), false },
	};
	const struct keyfile_entry dotenv[] = {
		{ SV("A"), SV(""), SV("one"), false },
		{ SV("B_2"), SV("u"), SV("p"), true },
	};

	check_text("/h/.netrc", netrc, countof(netrc),
		   "machine a.test login u password one\n"
		   "machine b.test login w password two\n");
	check_text("/h/.pypirc", ini, countof(ini),
		   "//a.test/:_authToken=two\n_auth=dTpw\n"
		   "[pypi]\nusername = u\npassword = one\nother = four\n"
		   "[my.own]\ntoken = three\n");
	check_text("/h/config.json", json, countof(json),
		   "{\n  \"auths\": {\n    \"a.test/v1\": {\n"
		   "      \"auth\": \"dTpw\"\n    },\n    \"b~\": {\n"
		   "      \"auth\": \"two\"\n    }\n  },\n"
		   "  \"c\": \"three\"\n}\n");
	check_text("/h/.env", dotenv, countof(dotenv), "A=one\nB_2=dTpw\n");
}

static void test_places_are_printed_as_read(void)
{
	static const char *const good[] = {
		SECRET " in /h/.netrc key a.example.com",
		SECRET " in /h/c.json key /auths/a/auth base64 times 2",
		SECRET " add like jwt in \"/h/a b\" key s.k until 1m",
		"secret A from env for a.example.com as bearer in /h/.env key K",
	};

	for (size_t i = 0; i < countof(good); i++) {
		auto_buf struct buf text = buf_new(512);
		auto_policy struct policy p;
		struct err e = { 0 };

		buf_printf(&text, ALLOW "%s", good[i]);
		CHECK_INT(policy_of(buf_cstr(&text), &p, &e), 0);
		CHECK_INT(p.secrets_n, 1);
		if (p.secrets_n == 1)
			CHECK_SV(p.secrets[0].text, good[i]);
	}
}

static void test_what_is_no_place_says_why(void)
{
	static const struct { const char *written, *says; } bad[] = {
		{ SECRET " in", "the file is missing" },
		{ SECRET " in /h/*.json key /a", "name one file" },
		{ SECRET " in /h/.netrc", "`key` is missing" },
		{ SECRET " in /h/.netrc key", "the key is missing" },
		{ SECRET " in /h/.netrc key ''", "the key is empty" },
		{ SECRET " in /h/.netrc key 'a b'", "name of a machine" },
		{ SECRET " in /h/.netrc key a base64", "as it is" },
		{ SECRET " in /h/c.json key a", "JSON Pointer" },
		{ SECRET " in /h/hosts.yml key a", "only JSON, INI" },
		{ SECRET " in /h/.npmrc key 'a=b'", "NAME, or SECTION.NAME" },
		{ SECRET " in /h/.npmrc key ';a'", "NAME, or SECTION.NAME" },
		{ SECRET " in /h/.pypirc key 'a].b'", "NAME, or SECTION.NAME" },
		{ SECRET " in /h/.env key 'a b'", "name of a variable" },
		{ SECRET " times 1 in /h/.env key a", "nothing may follow" },
		{ SECRET " in /h/.env key a like x", "nothing may follow" },
		{ "secret A from env for a.example.com as bearer "
		  "in /h/.netrc key a", "a netrc file has a login" },
		{ "secret A from env for a.example.com as bearer "
		  "in /h/c.json key /a base64", "of a user and the value" },
		/* One file, and what is in it twice, or below another. */
		{ SECRET " in /h/.netrc key a\nsecret B from env for "
		  "a.example.com as basic u in /h/.netrc key A",
		  "contradicts" },
		{ SECRET " in /h/c.json key /a/b\nsecret B from env for "
		  "a.example.com as basic u in /h/c.json key /a",
		  "contradicts" },
		/* What would show the host's, or hide what it is in. */
		{ SECRET " in /h/.env key a\nread /h/.env", "contradicts" },
		{ SECRET " in /h/.env key a\nread? /h/.env/b", "contradicts" },
		{ SECRET " in /h/.env key a\nhide /h", "contradicts" },
		{ SECRET " in /h/.env key a\ncache /h", "contradicts" },
	};

	for (size_t i = 0; i < countof(bad); i++) {
		auto_buf struct buf text = buf_new(512);
		auto_policy struct policy p;
		struct err e = { 0 };
		bool said;

		buf_printf(&text, ALLOW "%s", bad[i].written);
		said = policy_of(buf_cstr(&text), &p, &e) < 0 &&
		       strstr(e.msg, bad[i].says);
		if (!said)
			printf("# %s\n# got: %s\n", bad[i].written, e.msg);
		CHECK(said);
	}
}

static void test_places_beside_each_other_are_good(void)
{
	static const char *const good[] = {
		SECRET " in /h/c.json key /a\nsecret B from env for "
		"a.example.com as basic u in /h/c.json key /ab",
		SECRET " in /h/.env key a\nsecret B from env for "
		"a.example.com as basic u in /h/.netrc key a",
		SECRET " in /h/.env key a\nread /h",
		SECRET " in /h/.env key a\nhide /h/.env",
	};

	for (size_t i = 0; i < countof(good); i++) {
		auto_buf struct buf text = buf_new(512);
		auto_policy struct policy p;
		struct err e = { 0 };

		buf_printf(&text, ALLOW "%s", good[i]);
		CHECK_INT(policy_of(buf_cstr(&text), &p, &e), 0);
	}
}

int main(void)
{
	RUN(test_text_of_each_format);
	RUN(test_places_are_printed_as_read);
	RUN(test_what_is_no_place_says_why);
	RUN(test_places_beside_each_other_are_good);
	return tap_done();
}
