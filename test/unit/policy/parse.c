/* SPDX-License-Identifier: Apache-2.0 */
/* From text to a policy: what is accepted, and how the rest is refused. */
#include "tap.h"

#include "own.h"
#include "policy_text.h"

/* Each is one statement and the canonical text that it becomes. */
static const struct {
	const char *text, *canonical;
} accepted[] = {
	{ "limit upload 2048K for A.example.com\nlimit upload 1G\n"
	  "limit requests 10\nlimit names 4 for *.example.com",
	  "limit requests 10\nlimit upload 1G\n"
	  "limit upload 2M for a.example.com\nlimit names 4 for *.example.com" },
	{ "limit? upload 1M\nlimit upload 1M", "limit upload 1M" },
	{ "allow GET h.example.com/p?a=%7e%2f&b=*&*",
	  "allow GET h.example.com/p?a=~%2F&b=*&*" },
	{ "read /opt/sdk", "read /opt/sdk" },
	{ "read ~", "read /home/u" },
	{ "read? ~/.npmrc", "read? /home/u/.npmrc" },
	{ "read ../x//y/./z/..", "read /x/y" },
	{ "write .", "write /proj" },
	{ "write \"a b\"", "write \"/proj/a b\"" },
	{ "write 'a\"b'", "write \"/proj/a\\\"b\"" },
	{ "read '$HOME/x'", "read \"/proj/$HOME/x\"" },
	{ "hide **/*.pem", "hide /proj/**/*.pem" },
	{ "hide a[*]", "hide /proj/a[*]" },
	{ "device gpu /dev/../dev/snd/timer", "device /dev/snd/timer\ndevice gpu" },
	{ "device? kvm\ndevice kvm\ndevice fuse", "device fuse\ndevice kvm" },
	{ "publish 3000 80\npublish 3000", "publish 80\npublish 3000" },
	{ "reach 'unix:a b' ", "reach \"unix:/proj/a b\"" },
	{ "reach unix:~/s", "reach unix:/home/u/s" },
	{ "hide secrets/", "hide /proj/secrets" },
	{ "cache ~/.npm 'a b'", "cache \"/proj/a b\"\ncache /home/u/.npm" },
	{ "cache /x/c\nread /x", "read /x\ncache /x/c" },
	{ "read a\\\n  b", "read /proj/a\nread /proj/b" },
	{ "read a b # and a comment", "read /proj/a\nread /proj/b" },
	{ "read a#b", "read /proj/a#b" },
	{ "read b\r\nread a\r\n", "read /proj/a\nread /proj/b" },
	{ "read a\nread? a\nread a", "read /proj/a" },
	{ "env pass TERM LANG", "env pass LANG\nenv pass TERM" },
	{ "env set A=1 'B=x y' C=", "env set \"B=x y\"\nenv set A=1\nenv set C=" },
	{ "allow GET,HEAD,GET API.example.com",
	  "allow GET,HEAD api.example.com/**" },
	{ "allow HEAD,GET a.example.com/x",
	  "allow GET,HEAD a.example.com/x" },
	{ "allow * a.example.com:8443/%7Ex/%2fy?k=v",
	  "allow * a.example.com:8443/~x/%2Fy?k=v" },
	{ "allow GET a.example.com/?", "allow GET a.example.com/?" },
	{ "deny * *.internal.example/**", "deny * *.internal.example/**" },
	{ "ask POST *", "ask POST */**" },
	{ "allow GET localhost:8080/", "allow GET localhost:8080/" },
	{ "allow tcp GIT.example.com:22", "allow tcp git.example.com:22" },
	{ "allow tls a.example.com\nallow tls a.example.com:443",
	  "allow tls a.example.com:443" },
	{ "ask tcp *.example.com\ndeny tls *",
	  "deny tls *\nask tcp *.example.com" },
	{ "via proxy", "via proxy" },
	{ "via proxy HTTP://Proxy.corp:3128/", "via proxy http://proxy.corp:3128" },
	{ "via proxy http://[0::1]:80 by name", "via proxy http://[::1]:80 by name" },
	{ "via proxy http://10.0.0.1:80 login 'a b' from file ~/k\n"
	  "via proxy http://10.0.0.1:80 login 'a b' from file ~/k",
	  "via proxy http://10.0.0.1:80 login \"a b\" from file /home/u/k" },
	{ "via proxy http://p:80 by name login u from command 'x y'",
	  "via proxy http://p:80 by name login u from command \"x y\"" },
	{ "via proxy http://p:80 login u from env V",
	  "via proxy http://p:80 login u from env V" },
	{ "via proxy http://p:80\nenv pass https_proxy",
	  "env pass https_proxy\nvia proxy http://p:80" },
	{ "reach LOCALHOST:1 via 127.0.0.1:2\npublish 2",
	  "reach localhost:1 via 127.0.0.1:2\npublish 2" },
	{ "reach m.local via 127.0.0.1:80", "reach m.local via 127.0.0.1:80" },
	{ "reach m.local:80 via unix:/run/x", "reach m.local:80 via unix:/run/x" },
	{ "reach m.local via 'unix:a b[*]'",
	  "reach m.local via \"unix:/proj/a b[*]\"" },
	{ "reach m.local:80 via [0::1]:8080",
	  "reach m.local:80 via [::1]:8080" },
	{ "roots ca.pem", "roots /proj/ca.pem" },
	{ "limit time 90m", "limit time 90m" },
	{ "limit time 120s", "limit time 2m" },
	{ "limit? time 36h", "limit time 36h" },
	{ "limit time 30m\nlimit time 1800s", "limit time 30m" },
	{ "limit memory 4096M", "limit memory 4G" },
	{ "limit memory 1536M", "limit memory 1536M" },
	{ "limit? memory 64M", "limit? memory 64M" },
	{ "limit? memory 1G\nlimit memory 1024M", "limit memory 1G" },
	{ "limit memory 1G\nlimit? memory 1G", "limit memory 1G" },
	{ "limit swap 0\nlimit cpu 1.500", "limit swap 0\nlimit cpu 1.5" },
	{ "limit cpu 2.0", "limit cpu 2" },
	{ "limit? io 51200K", "limit? io 50M" },
	{ "limit? cpu 0.25", "limit? cpu 0.25" },
	{ "limit processes 100\nlimit files 1024",
	  "limit processes 100\nlimit files 1024" },
	{ "limit file-size 1024K\nlimit disk 2G\nlimit output 10M",
	  "limit file-size 1M\nlimit disk 2G\nlimit output 10M" },
	{ "limit? record 1024M", "limit record 1G" },
	{ "limit? workspace 2048M\nworkspace overlay",
	  "limit? workspace 2G\nworkspace overlay" },
	{ "workspace overlay\nlimit workspace 1M",
	  "limit workspace 1M\nworkspace overlay" },
	{ "workspace overlay\nlimit workspace-files 50000\n"
	  "limit? workspace-files 50000\nlimit workspace 1G",
	  "limit workspace 1G\nlimit workspace-files 50000\n"
	  "workspace overlay" },
	{ "workspace direct\nisolation native", "workspace direct" },
	{ "workspace overlay\nworkspace overlay", "workspace overlay" },
	{ "terminal exact", "terminal exact" },
	{ "terminal filter\nterminal filter", "terminal filter" },
	{ "keep a.B_c-9\nworkspace overlay\nkeep a.B_c-9",
	  "workspace overlay\nkeep a.B_c-9" },
	{ "workspace overlay\nkeep abcdefghijklmnopqrstuvwx",
	  "workspace overlay\nkeep abcdefghijklmnopqrstuvwx" },
	{ "", "" },
	{ "# nothing", "" },
};

static void test_parse_accepted_text_becomes_canonical(void)
{
	for (size_t i = 0; i < countof(accepted); i++) {
		auto_policy struct policy p;
		auto_buf struct buf b = buf_new(4096);
		struct err e = { 0 };
		struct sv got;

		if (policy_of(accepted[i].text, &p, &e) < 0)
			printf("# %s\n# %s\n", accepted[i].text, e.msg);
		policy_print(&p, &b, false);
		got = buf_sv(&b);
		if (got.n)
			got.n--;	/* the last newline */
		CHECK_SV(got, accepted[i].canonical);
	}
}

/* Each is refused with a message that has this in it. */
static const struct {
	const char *text, *message;
} refused[] = {
	{ "limit upload 1K by a.example.com", "expected `for HOST`" },
	{ "limit upload 1K for", "the host is missing" },
	{ "limit upload 1K for *", "has no `for`" },
	{ "limit upload 100", "at least 1K" },
	{ "limit record 1025M", "from 64K to 1G" },
	{ "limit record 63K", "from 64K to 1G" },
	{ "limit requests 0", "at least 1" },
	{ "limit names 3 for a.example.com", "expected *.DOMAIN" },
	{ "limit names 5000", "from 1 to 4096" },
	{ "limit time 1m for a.example.com", "nothing may follow here" },
	{ "limit upload 1M\nlimit upload 2M", "contradicts" },
	{ "limit upload 1M for a.example.com\nlimit upload 2M for a.example.com",
	  "contradicts" },
	{ "allow GET h.example.com/p?a=1&a=2", "key stands once" },
	{ "allow GET h.example.com/p?a=1&", "no empty pairs" },
	{ "allow GET h.example.com/p?*=1", "last `&*` permits" },
	{ "allow GET h.example.com/p?a=%4", "two hexadecimal digits" },
	{ "allw GET a.example.com", "did you mean `allow`?" },
	{ "profle x", "did you mean `profile`?" },
	{ "xyzzy", "unknown word \"xyzzy\"" },
	{ "publish", "the port is missing" },
	{ "publish 0", "expected a port" },
	{ "publish 65536", "expected a port" },
	{ "publish 3000:80", "expected a port" },
	{ "publish? 3000", "cannot be optional" },
	{ "cache ~/*", "without wildcards" },
	{ "cache /", "without wildcards" },
	{ "cache? ~/.npm", "cannot be optional" },
	{ "cache ~/.npm\nread ~/.npm", "contradicts" },
	{ "cache ~/.npm\nwrite ~/.npm/x", "contradicts" },
	{ "cache ~/.npm\ncache ~/.npm/x", "contradicts" },
	{ "hide ~\ncache ~/.npm", "contradicts" },
	{ "hide ~/.n*\ncache ~/.npm/x", "contradicts" },
	{ "guard ~/.npm\ncache ~/.npm", "contradicts" },
	{ "device", "the device is missing" },
	{ "device gpus", "did you mean `gpu`" },
	{ "device /etc/passwd", "below /dev" },
	{ "device /dev/dri/*", "without wildcards" },
	{ "device ~/node", "below /dev" },
	{ "nest on", "cannot enforce `nest` yet" },
	{ "via", "`proxy` is missing" },
	{ "via proxys", "expected `proxy`" },
	{ "via? proxy", "cannot be optional" },
	{ "via proxy p.corp:80", "expected http://HOST:PORT" },
	{ "via proxy https://p.corp:80", "only an http:// proxy" },
	{ "via proxy http://p.corp", "port is missing" },
	{ "via proxy http://p.corp:0", "expected a port" },
	{ "via proxy http://p.corp:80/x", "expected a port" },
	{ "via proxy http://*.corp.x:80", "whole labels" },
	{ "via proxy http://0x7f.1:80", "literal address" },
	{ "via proxy http://u:pw@p.corp:80", "does not belong in a policy" },
	{ "via proxy http://p.corp:80 by", "`name` is missing" },
	{ "via proxy http://p.corp:80 by names", "expected `name`" },
	{ "via proxy by name http://p.corp:80", "expected" },
	{ "via proxy login u from env V", "name the proxy, too" },
	{ "via proxy http://p:80 login", "the user is missing" },
	{ "via proxy http://p:80 login a:b from env V", "without a colon" },
	{ "via proxy http://p:80 login u", "`from` is missing" },
	{ "via proxy http://p:80 login u from env", "is missing" },
	{ "via proxy http://p:80 login u from env 1V", "name of a variable" },
	{ "via proxy http://p:80 login u from store x", "expected env" },
	{ "via proxy http://p:80 login u from env V by name", "expected" },
	{ "via proxy http://p:80\nvia proxy", "another proxy is set already" },
	{ "via proxy\nenv pass HTTPS_PROXY", "may hold a password" },
	{ "workspace overlays", "expected `direct` or `overlay`" },
	{ "workspace", "`direct` or `overlay` is missing" },
	{ "workspace direct\nworkspace overlay", "another workspace" },
	{ "terminal filtered", "expected `exact` or `filter`" },
	{ "terminal", "`exact` or `filter` is missing" },
	{ "terminal exact\nterminal filter", "another terminal" },
	{ "limit workspace 1G", "needed: workspace overlay" },
	{ "limit? workspace 1G\nworkspace direct", "needed: workspace overlay" },
	{ "workspace overlay\nlimit workspace 1023K", "at least 1M" },
	{ "workspace overlay\nlimit workspace", "the amount is missing" },
	{ "workspace overlay\nlimit workspace 1G\nlimit workspace 2G",
	  "another workspace limit is set" },
	{ "limit workspace-files 9", "needed: workspace overlay" },
	{ "workspace overlay\nlimit workspace-files 9",
	  "needed: limit workspace SIZE" },
	{ "workspace overlay\nlimit workspace 1G\nlimit workspace-files 0",
	  "expected a number of files" },
	{ "workspace overlay\nlimit workspace 1G\nlimit workspace-files 1K",
	  "expected a number of files" },
	{ "workspace overlay\nlimit workspace 1G\nlimit workspace-file 9",
	  "did you mean `workspace-files`" },
	{ "keep demo", "needed: workspace overlay" },
	{ "keep demo\nworkspace direct", "needed: workspace overlay" },
	{ "workspace overlay\nkeep a\nkeep b", "another name is set" },
	{ "workspace overlay\nkeep", "the sandbox's name is missing" },
	{ "workspace overlay\nkeep a b", "" },
	{ "workspace overlay\nkeep ''", "expected a letter" },
	{ "workspace overlay\nkeep 20261130", "expected a letter" },
	{ "workspace overlay\nkeep .a", "expected a letter" },
	{ "workspace overlay\nkeep a/b", "expected a letter" },
	{ "workspace overlay\nkeep ..", "expected a letter" },
	{ "workspace overlay\nkeep abcdefghijklmnopqrstuvwxy",
	  "expected a letter" },
	{ "workspace overlay\nkeep? a", "cannot be optional" },
	{ "isolation gvisor", "cannot enforce `gvisor` yet" },
	{ "limit io 4K", "at least 64K, of each second" },
	{ "limit io 50M/s", "expected a size" },
	{ "limit ask 5", "cannot enforce `ask` yet" },
	{ "limit tim 4m", "did you mean `time`?" },
	{ "limit fog 3", "unknown limit \"fog\"" },
	{ "limit memory 4", "expected a size" },
	{ "limit memory 4m", "expected a size" },
	{ "limit memory 0", "at least 4M" },
	{ "limit memory 99999999999G", "expected a size" },
	{ "limit memory 64M 2", "expected" },
	{ "limit memory", "the amount" },
	{ "limit processes 0", "expected a number" },
	{ "limit processes 1K", "expected a number" },
	{ "limit cpu 0", "at least 0.01" },
	{ "limit cpu 1.", "a number of processors" },
	{ "limit cpu 1.2345", "a number of processors" },
	{ "limit cpu .5", "a number of processors" },
	{ "limit files 10", "at least 32" },
	{ "limit memory 1G\nlimit memory 2G", "another memory limit" },
	{ "limit? memory 1G\nlimit memory 2G", "another memory limit" },
	{ "limit time 5", "expected a duration" },
	{ "limit time 0s", "expected a duration" },
	{ "limit time 1m\nlimit time 2m", "another time limit" },
	{ "allow tcp a.example.com", "expected a port" },
	{ "allow tcp a.example.com:0", "a port from 1" },
	{ "allow tcp a.example.com:22/x", "has no path" },
	{ "deny tls a.example.com/**", "has no path" },
	{ "allow tls a.example.com?x", "has no path" },
	{ "allow tcp 192.0.2.1:22", "never dialled" },
	{ "allow tcp *.com:22", "two labels" },
	{ "allow tcp,tls a.example.com:22", "case-sensitive" },
	{ "allow TCP a.example.com:22 x", "expected" },
	{ "allow tcp", "the host" },
	{ "allow tcp a.example.com:443\nallow GET a.example.com", "is not read" },
	{ "reach unix:/run/*", "without wildcards" },
	{ "reach unix:", "the path is empty" },
	{ "reach unix:/run/x via unix:/run/y", "expected" },
	{ "reach? unix:/run/x", "cannot be optional" },
	{ "reach localhost via 127.0.0.1:1", "name the port" },
	{ "reach localhost:80 via 127.0.0.1:1\npublish 80", "contradicts" },
	{ "reach m.local via unix:/run/*", "without wildcards" },
	{ "reach m.local via unix:", "the path is empty" },
	{ "reach *.local.x via unix:/run/x", "one name" },
	{ "reach m.local via 169.254.169.254:80", "no name may lead" },
	{ "reach m.local via [fd00:ec2::254]:80", "no name may lead" },
	{ "reach m.local via [::ffff:127.0.0.1]:80", "no name may lead" },
	{ "reach m.local via 0.0.0.0:80", "no name may lead" },
	{ "reach m.local via 127.1:80", "no literal address" },
	{ "reach m.local via db:80", "no literal address" },
	{ "reach m.local via 127.0.0.1", "expected ADDRESS:PORT" },
	{ "reach *.local.x via 127.0.0.1:80", "expected one name" },
	{ "reach m.local 127.0.0.1:80", "expected `via`" },
	{ "reach m.local via 127.0.0.1:80\nreach m.local via 127.0.0.1:81",
	  "contradicts" },
	{ "read", "the path is missing" },
	{ "read \"\"", "the path is empty" },
	{ "read $HOME/x", "variables are not expanded" },
	{ "read ${HOME}", "variables are not expanded" },
	{ "hide k{1,2}", "braces are not expanded" },
	{ "hide a !b", "takes nothing back" },
	{ "read ~root/x", "not other users' homes" },
	{ "read a[b", "has no `]`" },
	{ "read a**", "must be a whole segment" },
	{ "read 'abc", "not closed" },
	{ "read \"abc\ndef\"", "not closed" },
	{ "read \"\\n\"", "only \\\" and \\\\ are known" },
	{ "read \"a\tb\"", "a tab cannot be" },
	{ "read a\\b", "may only end a line" },
	{ "read a \\", "cannot be continued" },
	{ "read a\x01", "a control, invisible" },
	{ "read a\xff", "a control, invisible" },
	{ "read a\xe2\x80\xae", "a control, invisible" },
	{ "read a\rread b\n", "a control, invisible" },
	{ "write /", "never writable" },
	{ "write /.", "never writable" },
	{ "write ../../..", "never writable" },
	{ "write /**", "never writable" },
	{ "write /*", "never writable" },
	{ "allow? GET a.example.com", "cannot be optional" },
	{ "allow", "the method is missing" },
	{ "allow GET", "the host is missing" },
	{ "allow \"\" a.example.com", "no empty entries" },
	{ "allow GET, a.example.com", "no empty entries" },
	{ "allow GET \"\"", "the host is missing" },
	{ "allow a.example.com/x", "expected methods" },
	{ "allow get a.example.com", "case-sensitive" },
	{ "allow GET,* a.example.com", "stands alone" },
	{ "allow GET a.example.com b.example.com", "nothing may follow" },
	{ "allow GET https://a.example.com/", "without the scheme" },
	{ "allow GET u@a.example.com/", "without a user" },
	{ "allow GET 10.0.0.1/", "never dialled" },
	{ "allow GET 0x7f.1/", "never dialled" },
	{ "allow GET [::1]/", "never dialled" },
	{ "allow GET 2130706433", "never dialled" },
	{ "allow GET *.com", "at least two labels" },
	{ "allow GET a.*.com", "only in front" },
	{ "allow GET *a.example.com", "only in front" },
	{ "allow GET a..com", "empty label" },
	{ "allow GET a.example.com.", "without the dot" },
	{ "allow GET -a.example.com", "hyphen" },
	{ "allow GET b\xc3\xbc.example.com", "ASCII form" },
	{ "allow GET a.example.com:0", "expected a port" },
	{ "allow GET a.example.com:65536", "expected a port" },
	{ "allow GET a.example.com:", "expected a port" },
	{ "allow GET a.example.com/a/../b", "no dot segments" },
	{ "allow GET a.example.com/%2e%2e/b", "no dot segments" },
	{ "allow GET a.example.com//b", "no empty" },
	{ "allow GET a.example.com/%zz", "two hexadecimal" },
	{ "allow GET a.example.com/%0a", "control character" },
	{ "allow GET a.example.com/a**", "whole segment" },
	{ "allow GET a.example.com/\xc3\xa9", "encode what is not ASCII" },
	{ "allow GET a.example.com/#x", "no fragment" },
	{ "env", "`pass` or `set` is missing" },
	{ "env set", "the variable is missing" },
	{ "env drop A", "expected `pass` or `set`" },
	{ "env set A", "expected NAME=VALUE" },
	{ "env pass A=1", "takes names" },
	{ "env pass 1A", "the name of a variable" },
	{ "env pass A*", "the name of a variable" },
	{ "env set A=1\nenv set A=2", "contradicts" },
	{ "reach m.local via unix:/a\nreach m.local via unix:/b", "contradicts" },
	{ "env set A=1\nenv pass A", "contradicts" },
	{ "profile claude", "there are no profiles here" },
	{ "profile ../x", "expected a profile's name" },
	{ "profile claude a b", "nothing may follow here" },
	{ "takes A/B", "only there" },
	{ "client", "the client is missing" },
	{ "client yarn", "expected npm or apt" },
	{ "client npm x", "nothing may follow here" },
	{ "client? npm", "cannot be optional" },
	{ "client npm", "no client can be asked here" },
	{ "secret", "the name is missing" },
	{ "secret 1 from env", "the name of a variable" },
	{ "secret A of env", "expected `from`" },
	{ "secret A from vault", "expected env, file" },
	{ "secret A from store key", "the key is missing" },
	{ "secret A from store key -x for a.example.com as bearer",
	  "the name of an entry" },
	{ "secret A from store key 'x y' for a.example.com as bearer",
	  "the name of an entry" },
	{ "secret A from store x for a.example.com as bearer",
	  "expected `for`" },
	{ "secret A from file k key", "the key is missing" },
	{ "secret A from file k.json key a.b", "named by a JSON Pointer" },
	{ "secret A from env for *.example.com as bearer",
	  "never for a wildcard" },
	{ "secret A from env for a.example.com?x as bearer",
	  "not for a query" },
	{ "secret A from env for a.example.com", "`as` is missing" },
	{ "secret A from env for a.example.com as query",
	  "the query's key is missing" },
	{ "secret A from env for a.example.com as query k=",
	  "expected letters" },
	{ "secret A from env for a.example.com as cookie \"\"",
	  "expected letters" },
	{ "secret A from env for a.example.com as cookie k prefix x",
	  "nothing" },
	{ "secret A from env for a.example.com as header host",
	  "cannot carry a secret" },
	{ "secret A from env for a.example.com as basic a:b", "no colon" },
	{ "secret A from env for a.example.com as bearer",
	  "needed: allow METHODS a.example.com/**" },
	{ "allow GET a.example.com:80\n"
	  "secret A from env for a.example.com as bearer",
	  "needed: allow METHODS" },
	{ "allow GET a.example.com\n"
	  "secret A from env for a.example.com as bearer\n"
	  "secret A from env for a.example.com as header x-k",
	  "contradicts" },
	{ "allow GET a.example.com\n"
	  "secret A from env for a.example.com as bearer\n"
	  "env pass A", "contradicts" },
};

static void test_parse_refused_text_says_why(void)
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

static void test_parse_error_points_at_the_word(void)
{
	auto_policy struct policy p;
	struct err e = { 0 };

	CHECK_INT(policy_of("read a\n\twrite b /\n", &p, &e), -1);
	CHECK_SV(sv_str(e.msg),
		 "t.policy:2: the root directory is never writable; name what is to be written\n"
		 "   write b /\n"
		 "           ^\n"
		 "  expected: write PATH...");
}

static void test_parse_error_of_a_long_line_stays_whole(void)
{
	auto_policy struct policy p;
	auto_buf struct buf text = buf_new(1 << 16);
	struct err e = { 0 };

	buf_puts(&text, "allow GET ");
	for (int i = 0; i < 4000; i++)
		buf_puts(&text, "\xc3\xa9");
	buf_puts(&text, " x");
	CHECK_INT(policy_of(buf_cstr(&text), &p, &e), -1);
	CHECK(strstr(e.msg, "\n  expected: allow METHODS") != NULL);
	CHECK(strstr(e.msg, "^") != NULL);
}

static void test_parse_error_shows_no_control_characters(void)
{
	char text[200];
	auto_policy struct policy p;
	struct err e = { 0 };

	/* Continuation bytes without a character, and an escape sequence. */
	memset(text, 0x80, sizeof text);
	memcpy(text, "read \x1b[2J", 9);
	text[sizeof text - 1] = '\0';
	CHECK_INT(policy_of(text, &p, &e), -1);
	for (size_t i = 0; e.msg[i]; i++)
		CHECK((e.msg[i] >= ' ' && e.msg[i] < 0x7f) ||
		      e.msg[i] == '\n');
}

static void test_policy_flag_is_one_statement(void)
{
	struct policy_source s = source_of("");
	auto_policy struct policy p = policy_new();
	struct err e = { 0 };

	CHECK_INT(policy_flag(&p, SV("allow"), SV("GET a.example.com"), &s,
			      &e), 0);
	CHECK_INT(policy_flag(&p, SV("read?"), SV("~/x"), &s, &e), 0);
	CHECK_INT(policy_check(&p, &e), 0);
	CHECK_SV(p.rules[0].origin.file, "--allow");
	CHECK_INT(p.rules[0].origin.line, 0);
	CHECK_SV(p.grants[0].text, "read? /home/u/x");
	CHECK_INT(policy_flag(&p, SV("read"), SV("x\nwrite /y"), &s, &e), -1);
	CHECK_INT(policy_flag(&p, SV("read"), SV(" "), &s, &e), -1);
	CHECK_INT(policy_flag(&p, SV("read"), SV("x #"), &s, &e), 0);
}

/* Two profiles that name each other, and one that does not exist. */
static int load(void *ctx, struct sv name, struct sv *ret, struct err *e)
{
	++*(int *)ctx;
	if (sv_eq(name, SV("a")))
		*ret = SV("profile b\nread /a");
	else if (sv_eq(name, SV("b")))
		*ret = SV("profile a\nread /b");
	else
		return err_kind(e, ERR_POLICY, "there is no such profile");
	return 0;
}

static void test_profile_circle_is_read_once(void)
{
	struct policy_source s = source_of("profile a\nprofile b\nprofile a");
	auto_policy struct policy p = policy_new();
	struct err e = { 0 };
	int loads = 0;

	s.load = load;
	s.load_ctx = &loads;
	CHECK_INT(policy_parse(&p, &s, &e), 0);
	CHECK_INT(policy_check(&p, &e), 0);
	CHECK_INT(loads, 2);
	CHECK_INT(p.grants_n, 2);
	CHECK_SV(p.grants[0].origin.file, "profile a");
	CHECK_INT(p.grants[0].origin.line, 2);
	s.text = SV("profile nothing");
	CHECK_INT(policy_parse(&p, &s, &e), -1);
	CHECK(strstr(e.msg, "there is no such profile") != NULL);
}

static void test_policy_check_ignores_the_order_of_statements(void)
{
	static const char one[] =
		"read a\nwrite b\nallow GET a.example.com\n"
		"deny * b.example.com\nenv set A=1\n"
		"secret K from env for a.example.com as bearer";
	static const char two[] =
		"secret K from env for a.example.com as bearer\n"
		"env set A=1\ndeny * b.example.com\n"
		"allow GET a.example.com\nwrite b\nread a\nread? a";
	auto_policy struct policy p, q;
	auto_buf struct buf a = buf_new(4096), b = buf_new(4096);
	struct err e = { 0 };

	CHECK_INT(policy_of(one, &p, &e), 0);
	CHECK_INT(policy_of(two, &q, &e), 0);
	policy_print(&p, &a, false);
	policy_print(&q, &b, false);
	CHECK(a.n > 0 && sv_eq(buf_sv(&a), buf_sv(&b)));
}

static void test_secret_forms_are_printed_as_read(void)
{
	static const char text[] =
		"allow * a.example.com\nallow * b.example.com:8443\n"
		"secret A from file ~/k for b.example.com:8443/v1/**,"
		"a.example.com as header X-Key prefix 'Tok ' add\n"
		"secret? B from command \"gh auth token\" for a.example.com as basic me\n"
		"secret C from env for a.example.com as query api.Key-1 add\n"
		"secret D from env for a.example.com as cookie __Host-s\n";
	auto_policy struct policy p;
	struct err e = { 0 };

	CHECK_INT(policy_of(text, &p, &e), 0);
	CHECK_INT(p.secrets_n, 4);
	CHECK_SV(p.secrets[2].text,
		 "secret C from env for a.example.com as query api.Key-1 add");
	CHECK_SV(p.secrets[3].text,
		 "secret D from env for a.example.com as cookie __Host-s");
	CHECK_SV(p.secrets[0].text,
		 "secret A from file /home/u/k for a.example.com,"
		 "b.example.com:8443/v1/** as header x-key prefix \"Tok \" add");
	CHECK_SV(p.secrets[1].text,
		 "secret? B from command \"gh auth token\" for a.example.com as basic me");
}

static void test_policy_needs_tls_only_with_allow_or_ask(void)
{
	auto_policy struct policy none, denies, allows;
	struct err e = { 0 };

	CHECK_INT(policy_of("read a", &none, &e), 0);
	CHECK_INT(policy_of("deny * *", &denies, &e), 0);
	CHECK_INT(policy_of("allow GET a.example.com", &allows, &e), 0);
	CHECK(!policy_needs_tls(&none));
	CHECK(!policy_needs_tls(&denies));
	CHECK(policy_needs_tls(&allows));
}

int main(void)
{
	RUN(test_parse_accepted_text_becomes_canonical);
	RUN(test_parse_refused_text_says_why);
	RUN(test_parse_error_points_at_the_word);
	RUN(test_parse_error_of_a_long_line_stays_whole);
	RUN(test_parse_error_shows_no_control_characters);
	RUN(test_policy_flag_is_one_statement);
	RUN(test_profile_circle_is_read_once);
	RUN(test_policy_check_ignores_the_order_of_statements);
	RUN(test_secret_forms_are_printed_as_read);
	RUN(test_policy_needs_tls_only_with_allow_or_ask);
	return tap_done();
}
