/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of a file, in each format: what is found, and what is refused. */
#include "keyfile.h"

#include "own.h"
#include "tap.h"

static char room[64];
static struct buf value;
static struct err e;

static int find(enum keyfile_format f, const char *text, const char *key)
{
	value = (struct buf){ .p = room, .cap = sizeof room,
			      .max = sizeof room };
	e = (struct err){ 0 };
	return keyfile_find(f, sv_str(text), sv_str(key), &value, &e);
}

struct example {
	const char *text, *key;
	const char *want;	/* NULL: there is none; "!...": in the error */
};

static void check(enum keyfile_format f, const struct example *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct example *x = &all[i];
		bool wrong = x->want && x->want[0] == '!';
		int got = find(f, x->text, x->key);
		bool right = got == (wrong ? -1 : x->want ? 1 : 0) &&
			     (!wrong || strstr(e.msg, x->want + 1)) &&
			     (got != 1 ||
			      sv_eq(buf_sv(&value), sv_str(x->want)));

		CHECK(right);
		if (!right)
			printf("# %s\n# of %s\n# got %d: %.*s %s\n", x->key,
			       x->text, got, (int)value.n, room, e.msg);
		/* No message has a byte of the file's. */
		CHECK(!strstr(e.msg, "hush"));
	}
}

static const struct example json[] = {
	{ "{\"a\":\"v\"}", "/a", "v" },
	{ " {\n\"auths\" : { \"images.example\":{\"auth\":\"dTpw\"},"
	  "\"x\":{\"auth\":\"hush\"} } }\r\n", "/auths/images.example/auth", "dTpw" },
	{ "{\"a/b\":{\"c~d\":\"v\"}}", "/a~1b/c~0d", "v" },
	{ "{\"\":\"v\"}", "/", "v" },
	{ "[1,-0.5e+3,[true,false,null,{}],\"v\"]", "/3", "v" },
	{ "[\"v\"]", "/00", NULL }, { "[\"v\"]", "/-", NULL },
	{ "{\"\\u0061\\u00e9\\ud83d\\ude00\":\"v\"}", "/a\xc3\xa9\xf0\x9f\x98\x80",
	  "v" },
	{ "{\"a\":\"\\\"\\\\\\/\\u0041\"}", "/a", "\"\\/A" },
	{ "{\"a\":\"a\\nb\"}", "/a", "a\nb" },
	{ "{\"ab\":\"hush\"}", "/a", NULL }, { "{\"a\":\"hush\"}", "/ab", NULL },
	{ "{\"a\":\"hush\"}", "/a/b", NULL }, { "{}", "/a", NULL },
	{ "{\"x\":{\"a\":\"hush\"},\"a\":\"v\"}", "/a", "v" },
	{ "{\"a\":\"hush\",\"a\":\"hush\"}", "/a", "!line 1: the entry is there" },
	{ "{\"a\":\"hush\",\"\\u0061\":1}", "/a", "!second time" },
	{ "{\"a\":{\"b\":\"hush\"},\n\"a\":{}}", "/a/b", "!line 2: the entry" },
	{ "{\"a\":\"\"}", "/a", "!is empty" },
	{ "{\"a\":1}", "/a", "!not a string" },
	{ "{\"a\":{\"b\":\"hush\"}}", "/a", "!not a string" },
	{ "", "/a", "!malformed JSON" }, { "{\"a\":\"hush\"", "/a", "!malformed" },
	{ "{\"a\":\"hush\"} x", "/a", "!malformed" },
	{ "{\"a\":\"hush\",}", "/a", "!malformed" },
	{ "{\"a\":\"hush\n\"}", "/a", "!malformed" },
	{ "{\"a\":\"hush\\x\"}", "/a", "!malformed" },
	{ "{\"a\":\"hush\\ud800\"}", "/a", "!malformed" },
	{ "{\"a\":\"hush\\udc00\"}", "/a", "!malformed" },
	{ "{\"a\":\"hush\\u12\"}", "/a", "!malformed" },
	{ "{a:\"hush\"}", "/a", "!malformed" }, { "{\"a\":01}", "/b", "!malformed" },
	{ "{\"b\":1.}", "/a", "!malformed" }, { "{\"b\":1e}", "/a", "!malformed" },
	{ "{\"b\":tru}", "/a", "!malformed" }, { "[1 2]", "/a", "!malformed" },
	{ "# hush\n{}", "/a", "!malformed" },
	{ "{\"a\":\"0123456789012345678901234567890123456789"
	  "0123456789012345678901234\"}", "/a", "!longer than 64 bytes" },
};

static void test_json(void)
{
	char deep[202];

	check(KEYFILE_JSON, json, countof(json));
	memset(deep, '[', 100);
	memset(deep + 100, ']', 101);
	deep[200] = '\0';
	CHECK_INT(find(KEYFILE_JSON, deep, "/a"), -1);
	CHECK(strstr(e.msg, "too many brackets"));
	CHECK_INT(find(KEYFILE_JSON, deep + 50, "/a"), -1);
	deep[150] = '\0';
	CHECK_INT(find(KEYFILE_JSON, deep + 50, "/a"), 0);
}

static const struct example ini[] = {
	{ "//r.example/:_authToken=npm_x==\nx=hush\n", "//r.example/:_authToken",
	  "npm_x==" },
	{ "; c\n# c\n\n[a]\r\n  k = v  \r\n[b]\nk = hush\n", "a.k", "v" },
	{ "k = hush\n[a]\nk = v", "a.k", "v" },
	{ "k = v\n[a]\nk = hush", "k", "v" },
	{ "[a.b]\nc.d = v", "a.b.c.d", "v" },
	{ "[a.b]\nc = hush\n[a]\nb.c = hush", "a.b.c", "!line 4: the entry" },
	{ "[distutils]\nindex-servers =\n    pypi\n    test\n\n[pypi]\n"
	  "password: x = hush\npassword = pypi-v\n", "pypi.password", "pypi-v" },
	{ "[a]\n\tk = v\n\tl = hush\n", "a.k", "v" },
	{ "k = hush", "K", NULL }, { "[a]\nk = hush", "k", NULL },
	{ "k = hush", "a.k", NULL }, { "", "k", NULL },
	{ "k=hush\n[a]\nk=hush\n[a]\nk=hush", "a.k", "!line 5: the entry is there" },
	{ "k=hush\nk=hush", "k", "!second time" }, { "k =\n", "k", "!is empty" },
	{ "k = hush\n  more", "k", "!line 2: the entry goes on" },
	{ "j = x\n  k = hush", "k", "!line 2: the entry is in an indented" },
	{ "k = \"hush\"", "k", "!read differently" },
	{ "k = 'hush'", "k", "!read differently" },
	{ "k = hush;x", "k", "!read differently" },
	{ "k = hush#x", "k", "!read differently" },
	{ "k = hush\\x", "k", "!read differently" },
	{ "k = ${hush}", "k", "!read differently" },
	{ "k = a$v\nj = \"hush\"", "k", "a$v" },
	{ "[a\nk = hush", "k", "!line 1: a section" }, { "[]\n", "k", "!section" },
	{ "\n [a]\nk = hush", "a.k", "!line 2: a section in an indented" },
	{ "github.com:\n- user: hush\n", "k", "!line 1: neither" },
};

static void test_ini(void)
{
	check(KEYFILE_INI, ini, countof(ini));
}

static const struct example netrc[] = {
	{ "machine h.example login u password v\n", "h.example", "v" },
	{ "# c\nmachine a\n\tlogin hush\n\tpassword hush\n\nmachine H.example\n"
	  "\tpassword v\n\tlogin u\n", "h.example", "v" },
	{ "machine h.example password \"a\\\"b\\\\c\" login u", "h.example",
	  "a\"b\\c" },
	{ "machine \"h.example\" password #v", "h.example", "#v" },
	{ "machine h.example login u default password hush", "h.example", NULL },
	{ "default login u password hush", "default", NULL },
	{ "machine a password hush", "h.example", NULL },
	{ "macdef m\nmachine h.example password hush\n\n"
	  "machine h.example password v macdef n\nput hush\n", "h.example", "v" },
	{ "machine h.example password hush machine h.example password hush",
	  "h.example", "!second time" },
	{ "machine h.example\nmachine h.example\n", "h.example", "!line 2: the" },
	{ "machine h.example password hush password hush", "h.example",
	  "!second time" },
	{ "machine h.example password \"\"", "h.example", "!is empty" },
	{ "machine h.example password hush\\x", "h.example", "!read differently" },
	{ "machine h.example password \"hush\\n\"", "h.example",
	  "!read differently" },
	{ "machine h.example password \"hush", "h.example", "!not closed" },
	{ "machine h.example password \"hush\n\"", "h.example", "!not closed" },
	{ "machine h.example password \"hush\"x", "h.example", "!no blank" },
	{ "machine h.example password\n#hush", "h.example", "!without its value" },
	{ "machine h.example password", "h.example", "!without its value" },
	{ "machine h.example # machine hush", "h.example", "!a comment" },
	{ "password hush", "h.example", "!not a word" },
	{ "machine h.example port hush", "h.example", "!not a word" },
	{ "machine h.example \"login\" hush", "h.example", "!a quote in" },
};

static void test_netrc(void)
{
	check(KEYFILE_NETRC, netrc, countof(netrc));
}

static const struct example dotenv[] = {
	{ "A=hush\nK=v\nB=hush", "K", "v" }, { "K = v \r\n", "K", "v" },
	{ "  export\tK=v # c\n", "K", "v" }, { "export=v", "export", "v" },
	{ "K='a$b`c\"#d' # c", "K", "a$b`c\"#d" }, { "K=\"a#b'c\" # c", "K", "a#b'c" },
	{ "# K=hush\n\nK=v=w", "K", "v=w" }, { "K=\"a\nb\"\n", "K", "a\nb" },
	{ "P=\"hush\nK=hush\n\\\"\"\nQ='\nK=hush'\nK=v", "K", "v" },
	{ "KK=hush", "K", NULL }, { "K=hush", "k", NULL },
	{ "K=hush\nexport K=hush", "K", "!line 2: the entry is there" },
	{ "K=\n", "K", "!is empty" }, { "K=''", "K", "!is empty" },
	{ "K= # hush", "K", "!is empty" }, { "K=#hush", "K", "!read differently" },
	{ "K=$hush", "K", "!read differently" },
	{ "K=hush#x", "K", "!read differently" },
	{ "K=hush\\x", "K", "!read differently" },
	{ "K=hush'x'", "K", "!read differently" },
	{ "K=`hush`", "K", "!read differently" },
	{ "K=\"$hush\"", "K", "!read differently" },
	{ "K=\"hush\\n\"", "K", "!read differently" },
	{ "K=\"`hush`\"", "K", "!read differently" },
	{ "K='hush\\\\x'", "K", "!read differently" },
	{ "J='hush\\'\nK=hush'", "K", "!before a single quote" },
	{ "K='hush' x", "K", "!behind its quote" },
	{ "K='hush'# x", "K", "!behind its quote" },
	{ "K='hush", "K", "!line 1: a quote that is not closed" },
	{ "K=v\nhush", "K", "!line 2: neither" },
	{ "source hush\nK=v", "K", "!line 1: neither" },
	{ "export K\n", "K", "!neither" }, { "a b=hush", "K", "!neither" },
	{ "=hush", "K", "!neither" },
};

static void test_dotenv(void)
{
	check(KEYFILE_DOTENV, dotenv, countof(dotenv));
}

static void test_bytes_that_are_none(void)
{
	const struct sv text = SV("k=a\0b\nK=\0");

	CHECK_INT(find(KEYFILE_WHOLE, "k=v", "k"), -1);
	CHECK_INT(find((enum keyfile_format)9, "k=v", "k"), -1);
	value.n = 0;
	CHECK_INT(keyfile_find(KEYFILE_INI, text, SV("k"), &value, &e), 1);
	CHECK(sv_eq(buf_sv(&value), SV("a\0b")));
	value.n = 0;
	CHECK_INT(keyfile_find(KEYFILE_JSON, SV("{\"k\":\"\0\"}"), SV("/k"),
			       &value, &e), -1);
	CHECK_INT(keyfile_find(KEYFILE_DOTENV, (struct sv){ 0 }, SV("k"),
			       &value, &e), 0);
	CHECK_INT(keyfile_find(KEYFILE_NETRC, (struct sv){ 0 }, SV("k"),
			       &value, &e), 0);
}

int main(void)
{
	RUN(test_json);
	RUN(test_ini);
	RUN(test_netrc);
	RUN(test_dotenv);
	RUN(test_bytes_that_are_none);
	return tap_done();
}
