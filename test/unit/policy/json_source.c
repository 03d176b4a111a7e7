/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical JSON form: read, written, and refused. */
#include "tap.h"

#include "json_form.h"
#include "own.h"
#include "policy_text.h"

static const char everything[] =
	"read ~/x\nwrite? \"a b\"\nshow .x\nhide **/*.pem a[*]\nguard g\ncache ~/c\n"
	"reach 'unix:/run/a b'\nreach db.local via 'unix:/run/a [*]'\n"
	"env pass A\nenv set 'B=1 \"2\"'\n"
	"allow GET,HEAD a.example.com:8443/x/%2Fy?q=1\nask * b.example.com\n"
	"deny * *.c.example.com\nallow * a.example.com\n"
	"reach m.local:80 via [::1]:80\nroots? ca.pem\n"
	"secret A1 from file k for a.example.com/v1,a.example.com:8443 "
	"as header x-k prefix 'T ' add like a.B-1_ times 3 until 90s\n"
	"secret? A6 from file k.json key /a/b~1c for a.example.com as bearer\n"
	"secret A7 from file .npmrc key 'x y' for a.example.com as bearer add like jwt\n"
	"secret A8 from env for a.example.com as basic u like ghp_ in /h/c.json "
	"key /a/b base64 times 4\n"
	"secret? A2 from command \"a b\" for a.example.com as basic u "
	"renew 50m times 9\n"
	"secret A3 from env for a.example.com as bearer\n"
	"secret A10 from store for a.example.com as bearer\n"
	"secret? A9 from store key me/a@b for a.example.com as bearer\n"
	"secret A4 from env for a.example.com as query api_key "
	"until 2030-01-02T03:04:05+01:00\n"
	"secret A5 from env for a.example.com as cookie sid add times 1000000000\n"
	"syscalls strict\nsyscalls? p.json\nsyscalls ./strict\ndebug on\n"
	"device gpu\ndevice? /dev/snd/timer\npublish 3000 80\n"
	"limit time 30m\n"
	"limit? memory 64M\n"
	"limit cpu 1.5\n"
	"limit io 50M\n"
	"limit requests 500\nlimit upload 2M for *.example.com\n"
	"allow GET q.example.com/a?x=1&y=*&*\n"
	"via proxy http://[::1]:3128 by name login u from env P\n"
	"limit file-size 1M\nworkspace overlay\nterminal filter\n"
	"keep demo\n";

static void test_json_form_reads_back_as_the_same(void)
{
	auto_policy struct policy p, q = policy_new();
	auto_buf struct buf json = buf_new(1 << 16), again = buf_new(1 << 16);
	auto_buf struct buf text = buf_new(1 << 16), other = buf_new(1 << 16);
	struct policy_source s = source_of("");
	struct err e = { 0 };

	CHECK_INT(policy_of(everything, &p, &e), 0);
	policy_json(&p, &json);
	s.text = buf_sv(&json);
	s.base = SV("/elsewhere");
	s.home = (struct sv){ 0 };
	CHECK_INT(policy_parse(&q, &s, &e), 0);
	CHECK_INT(policy_check(&q, &e), 0);
	if (e.msg[0])
		printf("# %s\n", e.msg);
	policy_json(&q, &again);
	CHECK(sv_eq(buf_sv(&json), buf_sv(&again)));
	policy_print(&p, &text, true);
	policy_print(&q, &other, true);
	CHECK(text.n > 100 && sv_eq(buf_sv(&text), buf_sv(&other)));
}

#define RULE(body) "{\"version\":1,\"rules\":[{" body "}]}"

static const struct {
	const char *text, *message;
} refused[] = {
	{ "{", "column" },
	{ "{}", "\"version\": 1" },
	{ "{\"version\":2}", "\"version\": 1" },
	{ "{\"version\":1,\"version\":1}", "duplicate" },
	{ "{\"version\":1} x", "end of file expected" },
	{ "{\"version\":1,\"rule\":[]}", "did you mean rules" },
	{ "{\"version\":1,\"rules\":{}}", "expected a list" },
	{ "{\"version\":1,\"rules\":[1]}", "expected an object" },
	{ "{\"version\":1,\"a\":[[[[[[[[[[1]]]]]]]]]]}", "brackets" },
	{ RULE(""), "expected a string for \"word\"" },
	{ "{\"version\":1,\"proxy\":[{\"source\":\"V\"}]}",
	  "nothing here can have a" },
	{ "{\"version\":1,\"proxy\":[{\"url\":\"by\"}]}", "`name` is missing" },
	{ RULE("\"word\":\"permit\",\"host\":\"a.example.com\""),
	  "not a word of the language" },
	{ RULE("\"word\":\"allow\",\"hots\":\"a.example.com\""),
	  "did you mean \"host\"" },
	{ RULE("\"word\":\"allow\",\"methods\":[],\"host\":\"a.example.com\""),
	  "not empty" },
	{ RULE("\"word\":\"allow\",\"methods\":null,\"host\":\"a.example.com\""),
	  "not empty" },
	{ RULE("\"word\":\"allow\",\"methods\":[\"GET,POST\"],\"host\":\"a.example.com\""),
	  "expected names" },
	{ RULE("\"word\":\"allow\",\"host\":\"a.example.com/x\""),
	  "expected only a name" },
	{ RULE("\"word\":\"allow\",\"host\":\"a.example.com\",\"port\":0"),
	  "1 to 65535" },
	{ RULE("\"word\":\"allow\",\"host\":\"a.example.com\",\"port\":\"1\""),
	  "1 to 65535" },
	{ RULE("\"word\":\"allow\",\"host\":\"a.example.com\",\"path\":\"x\""),
	  "expected a path" },
	{ RULE("\"word\":\"allow\",\"host\":\"a.example.com\",\"path\":\"/a?b\""),
	  "expected a path" },
	{ RULE("\"word\":\"allow\",\"host\":\"10.0.0.1\""), "never dialled" },
	{ RULE("\"word\":\"allow\",\"host\":\"a\\nb\""), "control" },
	{ "{\"version\":1,\"grants\":[{\"word\":\"write\",\"path\":\"/\"}]}",
	  "never writable" },
	{ "{\"version\":1,\"grants\":[{\"word\":\"read\",\"path\":\"\"}]}",
	  "empty" },
	{ "{\"version\":1,\"grants\":[{\"word\":\"read\",\"path\":\"/a\","
	  "\"optional\":1}]}", "true or false" },
	{ "{\"version\":1,\"env\":[{\"word\":\"pass\",\"name\":\"A=1\"}]}",
	  "expected a variable" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"env\","
	  "\"source\":\"x\",\"for\":[{\"host\":\"a.example.com\"}],"
	  "\"as\":\"bearer\"}]}", "nothing here can have" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"command\","
	  "\"source\":\"x\",\"key\":\"k\",\"for\":[{\"host\":\"a.example.com\"}],"
	  "\"as\":\"bearer\"}]}", "nothing here can have" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"file\","
	  "\"source\":\"/x.json\",\"key\":\"k\",\"for\":[{\"host\":"
	  "\"a.example.com\"}],\"as\":\"bearer\"}]}", "JSON Pointer" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"env\","
	  "\"for\":[],\"as\":\"bearer\"}]}", "not empty" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"env\","
	  "\"for\":[{\"host\":\"*.example.com\"}],\"as\":\"bearer\"}]}",
	  "never for a wildcard" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"env\","
	  "\"for\":[{\"host\":\"a.example.com\"}],\"as\":\"bearer\","
	  "\"times\":\"3\"}]}", "expected a number for \"times\"" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"env\","
	  "\"for\":[{\"host\":\"a.example.com\"}],\"as\":\"bearer\","
	  "\"times\":0}]}", "from 1 to 1000000000" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"env\","
	  "\"for\":[{\"host\":\"a.example.com\"}],\"as\":\"bearer\","
	  "\"until\":30}]}", "expected a string for \"until\"" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"env\","
	  "\"for\":[{\"host\":\"a.example.com\"}],\"as\":\"bearer\","
	  "\"like\":\"a b\"}]}", "expected `jwt`" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"command\","
	  "\"source\":\"c\",\"for\":[{\"host\":\"a.example.com\"}],"
	  "\"as\":\"bearer\",\"renew\":3000}]}",
	  "expected a string for \"renew\"" },
	{ "{\"version\":1,\"secrets\":[{\"name\":\"A\",\"from\":\"env\","
	  "\"for\":[{\"host\":\"a.example.com\"}],\"as\":\"bearer\","
	  "\"renew\":\"50m\"}]}", "only what comes from a command" },
	{ "{\"version\":1,\"limits\":[{\"word\":\"ask\",\"value\":\"1\"}]}",
	  "cannot enforce" },
};

static void test_json_refused_text_says_why(void)
{
	for (size_t i = 0; i < countof(refused); i++) {
		auto_policy struct policy p;
		struct err e = { 0 };
		bool said = policy_of(refused[i].text, &p, &e) < 0 &&
			    strstr(e.msg, refused[i].message);

		if (!said)
			printf("# %s\n# got: %s\n", refused[i].text, e.msg);
		CHECK(said);
	}
}

static void test_json_least_text_is_accepted(void)
{
	auto_policy struct policy p;
	struct err e = { 0 };

	CHECK_INT(policy_of(" \n{\"version\":1}", &p, &e), 0);
	policy_free(&p);
	CHECK_INT(policy_of(RULE("\"word\":\"allow\",\"methods\":[\"GET\"],"
				 "\"host\":\"a.example.com\""), &p, &e), 0);
	CHECK_SV(p.rules[0].text, "allow GET a.example.com/**");
}

int main(void)
{
	RUN(test_json_form_reads_back_as_the_same);
	RUN(test_json_refused_text_says_why);
	RUN(test_json_least_text_is_accepted);
	return tap_done();
}
