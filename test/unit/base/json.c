/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON, base64, hexadecimal and SHA-256. */
#include "base64.h"
#include "json.h"
#include "sha256.h"
#include "tap.h"

static void test_json_line_puts_its_own_commas(void)
{
	auto_buf struct buf b = buf_new(1000);
	struct json j = json_line(&b);

	json_open(&j, '{');
	json_put_u64(&j, "a", 1);
	json_key(&j, "b");
	json_open(&j, '[');
	json_str(&j, "x");
	json_nil(&j);
	json_bool(&j, true);
	json_i64(&j, -5);
	json_close(&j, ']');
	json_key(&j, "c");
	json_open(&j, '{');
	json_close(&j, '}');
	json_put_str(&j, "d", NULL);
	json_close(&j, '}');
	CHECK_SV(buf_sv(&b),
		 "{\"a\":1,\"b\":[\"x\",null,true,-5],\"c\":{},\"d\":null}");
}

static void test_json_pretty_breaks_lines(void)
{
	auto_buf struct buf b = buf_new(1000);
	struct json j = json_pretty(&b);

	json_open(&j, '{');
	json_put_u64(&j, "a", 1);
	json_key(&j, "b");
	json_open(&j, '[');
	json_u64(&j, 2);
	json_close(&j, ']');
	json_close(&j, '}');
	CHECK_SV(buf_sv(&b), "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}");
}

static void string_becomes(struct sv v, const char *want)
{
	auto_buf struct buf b = buf_new(1000);
	struct json j = json_line(&b);

	json_sv(&j, v);
	CHECK_SV(buf_sv(&b), want);
}

static void test_json_sv_escapes_all_but_printable_ascii(void)
{
	string_becomes(SV("a\"b\\c"), "\"a\\\"b\\\\c\"");
	string_becomes(SV("\n\t\r\x1b\x7f"),
		       "\"\\n\\t\\u000d\\u001b\\u007f\"");
	string_becomes(sv_of("a\0b", 3), "\"a\\u0000b\"");
	string_becomes(SV("\xc3\xa4"), "\"\\u00e4\"");
	string_becomes(SV("\xf0\x9f\x98\x80"), "\"\\ud83d\\ude00\"");
	/* A right-to-left override cannot turn a line around. */
	string_becomes(SV("\xe2\x80\xae"), "\"\\u202e\"");
}

static void test_json_sv_invalid_utf8_is_replaced(void)
{
	string_becomes(SV("\xff"), "\"\\ufffd\"");
	string_becomes(SV("\xc0\xaf"), "\"\\ufffd\\ufffd\"");	/* overlong */
	string_becomes(SV("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
	string_becomes(SV("\xf5\x80\x80\x80"),
		       "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	string_becomes(SV("\xe2\x82"), "\"\\ufffd\\ufffd\"");	/* cut */
}

static void test_buf_put_visible_shows_what_would_act(void)
{
	auto_buf struct buf b = buf_new(1000);

	buf_put_visible(&b, SV("a\x1b[2K\xc3\xa4\xe2\x80\xae\xff\n"));
	CHECK_SV(buf_sv(&b), "a\\x1b[2K\xc3\xa4\\xe2\\x80\\xae\\xff\\x0a");
	/* A tag character, a separator of lines, and a picture. */
	buf_reset(&b);
	buf_put_visible(&b, SV("\xf3\xa0\x81\x81\xe2\x80\xa8\xf0\x9f\x98\x80"));
	CHECK_SV(buf_sv(&b), "\\xf3\\xa0\\x81\\x81\\xe2\\x80\\xa8"
			     "\xf0\x9f\x98\x80");
}

static void test_base64_vectors_of_rfc_4648(void)
{
	const char *const rows[][2] = {
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		auto_buf struct buf to = buf_new(100), from = buf_new(100);

		buf_put_base64(&to, sv_str(rows[i][0]));
		CHECK_SV(buf_sv(&to), rows[i][1]);
		CHECK(buf_put_unbase64(&from, sv_str(rows[i][1])));
		CHECK_SV(buf_sv(&from), rows[i][0]);
	}
}

static void test_unbase64_refuses_what_is_not_canonical(void)
{
	const char *const bad[] = { "Zg", "Zg=", "Zh==", "Zm9=", "Z===",
				    "====", "Zm9v Zg", "Zm9v\n", "Zg==Zg==",
				    "Zm-v", "=Zm9" };

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		auto_buf struct buf b = buf_new(100);

		buf_puts(&b, "kept");
		CHECK(!buf_put_unbase64(&b, sv_str(bad[i])));
		CHECK_SV(buf_sv(&b), "kept");
	}
}

static void hash_is(struct sv v, const char *want)
{
	auto_buf struct buf b = buf_new(100);
	uint8_t digest[SHA256_SIZE];

	sha256(v, digest);
	buf_put_hex(&b, sv_of((const char *)digest, sizeof digest));
	CHECK_SV(buf_sv(&b), want);
}

static void test_sha256_vectors_of_fips_180(void)
{
	static char million[1000000];

	hash_is(SV(""), "e3b0c44298fc1c149afbf4c8996fb924"
			"27ae41e4649b934ca495991b7852b855");
	hash_is(SV("abc"), "ba7816bf8f01cfea414140de5dae2223"
			   "b00361a396177a9cb410ff61f20015ad");
	hash_is(SV("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
		"248d6a61d20638b8e5c026930c3e6039"
		"a33ce45964ff2167f6ecedd419db06c1");
	memset(million, 'a', sizeof million);
	hash_is(sv_of(million, sizeof million),
		"cdc76e5c9914fb9281a1c7e284d73e67"
		"f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
	RUN(test_json_line_puts_its_own_commas);
	RUN(test_json_pretty_breaks_lines);
	RUN(test_json_sv_escapes_all_but_printable_ascii);
	RUN(test_json_sv_invalid_utf8_is_replaced);
	RUN(test_buf_put_visible_shows_what_would_act);
	RUN(test_base64_vectors_of_rfc_4648);
	RUN(test_unbase64_refuses_what_is_not_canonical);
	RUN(test_sha256_vectors_of_fips_180);
	return tap_done();
}
