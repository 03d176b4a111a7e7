/* SPDX-License-Identifier: Apache-2.0 */
/* Names, ports, authorities and the forms of request targets. */
#include "target.h"

#include "own.h"
#include "tap.h"

/* want NULL: refused. */
static void check_host(struct sv raw, const char *want)
{
	char text[HTTP_HOST_MAX];
	struct sv host = { 0 };
	const char *why = host_canonical(raw, text, &host);

	CHECK(!why == !!want);
	if (!why && want)
		CHECK_SV(host, want);
}

static void test_host_accepted_is_lower_without_trailing_dot(void)
{
	check_host(SV("example.org"), "example.org");
	check_host(SV("EXAMPLE.org."), "example.org");
	check_host(SV("a_b-c.x1"), "a_b-c.x1");
	check_host(SV("localhost"), "localhost");
	check_host(SV("xn--bcher-kva.example"), "xn--bcher-kva.example");
}

static void test_host_of_other_bytes_is_refused(void)
{
	static const struct sv bad[] = {
		SV(""), SV("."), SV("a..b"), SV(".a"), SV("a.."), SV("a b"),
		SV("evil\0.example.org"), SV("a%00b"), SV("a/b"), SV("a\\b"),
		SV("u@h"), SV("a,b"), SV("a:b"), SV("a\r\nb"), SV("a\tb"),
		SV("b\xc3\xbc" "cher.example"), SV("a\xe3\x80\x82" "b"),
		SV("[::1]"), SV("a?b"), SV("a#b"), SV("*.example.org"),
	};

	for (size_t i = 0; i < countof(bad); i++)
		check_host(bad[i], NULL);
}

/* What IDNA maps, forbids or lets be invisible; to us none of it is a name. */
static void test_host_of_other_scripts_is_refused(void)
{
	static const struct sv bad[] = {
		SV("fa\xc3\x9f.example"), SV("fa\xe1\xba\x9e.example"),
		SV("\xcf\x83\xcf\x82.example"), SV("\xd0\xb0pple.example"),
		SV("ex\xc2\xad" "ample.test"), SV("a\xe2\x80\x8b" "b.test"),
		SV("a\xe2\x80\x8c" "b.test"), SV("a\xe2\x80\x8d" "b.test"),
		SV("a\xe2\x81\xa0" "b.test"), SV("a\xef\xbb\xbf" "b.test"),
		SV("a\xe3\x80\x82" "test"), SV("a\xef\xbc\x8e" "test"),
		SV("a\xef\xbd\xa1" "test"), SV("a\xe2\x80\xa4" "test"),
		SV("\xef\xbd\x85xample.test"), SV("\xe2\x93\x94x.test"),
		SV("\xf0\x9d\x95\x96x.test"), SV("e\xcc\x81x.test"),
		SV("\xcc\x81" "a.test"), SV("\xd7\x90" "a.test"),
		SV("\xe2\x80\xae" "tset.a"), SV("\xd9\xa0.test"),
		SV("\xe2\x84\x80.test"), SV("\xe2\x91\xa0.test"),
		SV("1\xe2\x81\x84" "2.test"), SV("a\xef\xbc\x8f" "b.test"),
		SV("a\xef\xbc\x9a" "80.test"), SV("a\xef\xbc\xa0" "b.test"),
		SV("\xc3\x28.test"), SV("\xc0\xae.test"), SV("\xff.test"),
		SV("\xed\xa0\x80.test"), SV("\xf4\x90\x80\x80.test"),
		SV("\xe2\x98\x83.test"), SV("\xf0\x9f\x92\xa9.test"),
	};

	for (size_t i = 0; i < countof(bad); i++)
		check_host(bad[i], NULL);
	/* What is written in letters is what it is, and nothing is decoded. */
	check_host(SV("xn--fa-hia.example"), "xn--fa-hia.example");
	check_host(SV("XN--FA-HIA.example"), "xn--fa-hia.example");
	check_host(SV("xn--.example"), "xn--.example");
}

static void test_host_lengths_are_bounded(void)
{
	char label[65], name[256];

	memset(label, 'a', sizeof(label));
	check_host(sv_of(label, 64), NULL);
	label[63] = '\0';
	check_host(sv_of(label, 63), label);
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 50 == 49 ? '.' : 'a';
	check_host(sv_of(name, 254), NULL);
	name[253] = '\0';
	check_host(sv_of(name, 253), name);
}

static void test_host_literals_of_every_spelling_are_known(void)
{
	static const struct sv literals[] = {
		SV("127.0.0.1"), SV("127.0.0.1."), SV("2130706433"),
		SV("0x7f000001"), SV("0177.0.0.1"), SV("127.1"), SV("0"),
		SV("0x"), SV("1.2.3.0X4"), SV("0.0.0.0"), SV("[::1]"),
		SV("::ffff:127.0.0.1"), SV("fe80::1%lo"), SV("[v1.x]"),
		SV("example.1"), SV("255.255.255.255"), SV("99999999999"),
	};
	static const struct sv names[] = {
		SV("example.org"), SV("1.2.3.4.example"), SV("0x7f.com"),
		SV("1e100.net"), SV("dead.beef"), SV("0xyz"), SV("3com"),
		SV("127.0.0.1.nip.io"),
	};

	for (size_t i = 0; i < countof(literals); i++)
		CHECK(host_is_literal(literals[i]));
	for (size_t i = 0; i < countof(names); i++)
		CHECK(!host_is_literal(names[i]));
}

static void test_port_is_a_plain_number(void)
{
	static const char *const bad[] = {
		"", "0", "+80", "-1", "080", "65536", "99999999", "80 ", " 80",
		"0x50", "8o", "65616", "http", "18446744073709551696",
	};
	uint16_t port = 7;

	for (size_t i = 0; i < countof(bad); i++)
		CHECK(!port_parse(sv_str(bad[i]), &port));
	CHECK_INT(port, 7);
	CHECK(port_parse(SV("1"), &port) && port == 1);
	CHECK(port_parse(SV("443"), &port) && port == 443);
	CHECK(port_parse(SV("65535"), &port) && port == 65535);
}

static void test_authority_is_a_name_and_perhaps_a_port(void)
{
	static const char *const bad[] = {
		"", ":80", "a:", "a:0", "a:+80", "a:080", "a:80:81", "u@a",
		"u:p@a", "a:80@b", "a/b", "a:80/", "a#b", "a?b", "[::1]:80",
		"127.0.0.1:80", "0x7f.1", "a\\b", "a, b", "a b", "[::1%25lo]",
	};
	struct authority a;

	for (size_t i = 0; i < countof(bad); i++)
		CHECK(authority_parse(sv_str(bad[i]), &a) != NULL);
	CHECK(!authority_parse(SV("A.test"), &a));
	CHECK_SV(a.host, "a.test");
	CHECK_INT(a.port, 0);
	CHECK(!authority_parse(SV("a.test.:8443"), &a));
	CHECK_SV(a.host, "a.test");
	CHECK_INT(a.port, 8443);
	CHECK(authority_parse(SV("10.0.0.1"), &a) == target_literal);
	CHECK(authority_parse(SV("[::1]"), &a) == target_literal);
	CHECK(!authority_parse_for(SV("localhost"), SV("127.0.0.1"), &a));
	CHECK_SV(a.host, "localhost");
	CHECK_INT(a.port, 0);
	CHECK(!authority_parse_for(SV("localhost"), SV("[::1]:65535"), &a));
	CHECK_SV(a.host, "localhost");
	CHECK_INT(a.port, 65535);
	CHECK(!authority_parse_for(SV("localhost"), SV("a.test:1"), &a));
	CHECK_SV(a.host, "a.test");
	CHECK(authority_parse_for(SV("a.test"), SV("127.0.0.1"), &a));
	CHECK(authority_parse_for(SV("localhost"), SV("127.0.0.2"), &a));
	CHECK(authority_parse_for(SV("localhost"), SV("127.0.0.1:65536"), &a));
	CHECK(authority_parse_for(SV("localhost"), SV("127.0.0.1:000080"), &a));
	CHECK(authority_parse_for(SV("localhost"), SV("[::1"), &a));
}

static const struct {
	const char *raw;
	unsigned form;			/* 0: refused in every form */
	const char *host, *path, *query;	/* query NULL: none */
	unsigned port;
} targets[] = {
	{ "/", TARGET_ORIGIN, "", "/", NULL, 0 },
	{ "/a?", TARGET_ORIGIN, "", "/a", "", 0 },
	{ "/a?b=c?d", TARGET_ORIGIN, "", "/a", "b=c?d", 0 },
	{ "http://h.test/a", TARGET_ABSOLUTE, "h.test", "/a", NULL, 0 },
	{ "HTTP://H.test:81/a?q", TARGET_ABSOLUTE, "h.test", "/a", "q", 81 },
	{ "https://h.test", TARGET_ABSOLUTE, "h.test", "/", NULL, 0 },
	{ "h.test:443", TARGET_AUTHORITY, "h.test", "/", NULL, 443 },
	{ "*", TARGET_ASTERISK, "", "", NULL, 0 },
	{ "", 0, "", "", NULL, 0 },
	{ "h.test", 0, "", "", NULL, 0 },
	{ "a/b", 0, "", "", NULL, 0 },
	{ "//h.test/a", 0, "", "", NULL, 0 },
	{ "/a#b", 0, "", "", NULL, 0 },
	{ "/a?b#c", 0, "", "", NULL, 0 },
	{ "/a b", 0, "", "", NULL, 0 },
	{ "/http://h.test/", 0, "", "", NULL, 0 },
	{ "ftp://h.test/", 0, "", "", NULL, 0 },
	{ "ws://h.test/", 0, "", "", NULL, 0 },
	{ "file:///etc/passwd", 0, "", "", NULL, 0 },
	{ "http:h.test/a", 0, "", "", NULL, 0 },
	{ "http:/h.test/a", 0, "", "", NULL, 0 },
	{ "http:///h.test/a", 0, "", "", NULL, 0 },
	{ "http:\\\\h.test\\a", 0, "", "", NULL, 0 },
	{ "http://u@h.test/", 0, "", "", NULL, 0 },
	{ "http://u:p@h.test/", 0, "", "", NULL, 0 },
	{ "http://h.test?q", 0, "", "", NULL, 0 },
	{ "http://h.test?@evil.test/a", 0, "", "", NULL, 0 },
	{ "http://h.test#@evil.test/a", 0, "", "", NULL, 0 },
	{ "http://h.test\\@evil.test/a", 0, "", "", NULL, 0 },
	{ "http://h.test:/a", 0, "", "", NULL, 0 },
	{ "http://127.0.0.1/a", 0, "", "", NULL, 0 },
	{ "http://127%2e0%2e0%2e1/a", 0, "", "", NULL, 0 },
	{ "http://[::1]/a", 0, "", "", NULL, 0 },
	{ "http://[::1%25lo]:80/a", 0, "", "", NULL, 0 },
	{ "http://\xef\xbc\x91.test/a", 0, "", "", NULL, 0 },
	{ "h.test:443/", 0, "", "", NULL, 0 },
	{ "u@h.test:443", 0, "", "", NULL, 0 },
	{ "127.0.0.1:443", 0, "", "", NULL, 0 },
};

static void test_target_of_each_form_is_accepted_only_as_that(void)
{
	for (size_t i = 0; i < countof(targets); i++)
		for (unsigned form = 1; form <= TARGET_ASTERISK; form *= 2) {
			auto_arena struct arena a = arena_new(65536);
			struct target t;
			const char *why = target_parse(sv_str(targets[i].raw),
						       form, &a, &t);

			if (form == targets[i].form && why)
				printf("# %s: %s\n", targets[i].raw, why);
			if (form != targets[i].form && !why)
				printf("# accepted: %s\n", targets[i].raw);
			CHECK((form == targets[i].form) == !why);
			if (why)
				continue;
			CHECK_SV(t.authority.host, targets[i].host);
			CHECK_INT(t.authority.port, targets[i].port);
			CHECK_SV(t.path, targets[i].path);
			CHECK(t.has_query == (targets[i].query != NULL));
			CHECK_SV(t.query, targets[i].query);
		}
}

/* Browsers, curl and C libraries make different things of these. */
static void test_target_that_browsers_repair_is_refused(void)
{
	static const struct sv bad[] = {
		SV("http:a.test/"), SV("http:/a.test/"), SV("http:///a.test/"),
		SV("http:////a.test/"), SV("http:\\\\a.test/"),
		SV("http:/\\a.test/"), SV("http://\\a.test/"),
		SV("http://a.test\\b/"), SV("http://a.test\\@b.test/"),
		SV("http://u@a.test/"), SV("http://u:p@a.test/"),
		SV("http://:p@a.test/"), SV("http://@a.test/"),
		SV("http://u@v@a.test/"), SV("http://a.test%40b.test/"),
		SV("http://a.test#@b.test/"), SV("http://a.test?@b.test/"),
		SV("http://a.test/#x"), SV("http://a.test/?#x"),
		SV("http://a.test#"), SV("http:// a.test/"),
		SV("http://a .test/"), SV("http://a\t.test/"),
		SV("http://a\n.test/"), SV("ht\ntp://a.test/"),
		SV(" http://a.test/"), SV("http://a.test/ "),
		SV("http://a.test/\n"), SV("http://a.test/\0"),
		SV("http://a.test:/"), SV("http://a.test:0/"),
		SV("http://a.test:65536/"), SV("http://a.test:4294967376/"),
		SV("http://a.test:80a/"), SV("http://a.test:+80/"),
		SV("http://a.test:-80/"), SV("http://a.test:080/"),
		SV("http://a.test: 80/"), SV("http://a.test:80:80/"),
		SV("http://a.test:%38%30/"), SV("http://%61.test/"),
		SV("http://a%2etest/"), SV("http://a%00.test/"),
		SV("http://a..test/"), SV("http://.a.test/"),
		SV("http://a.test../"), SV("http://./"), SV("http://../"),
		SV("http://"), SV("http://:80/"), SV("http:///"),
		SV("http://[]/"), SV("http://[::1/"), SV("http://::1/"),
		SV("http://[::1]x/"), SV("http://[a.test]/"),
		SV("http://[[::1]]/"), SV("http://*.a.test/"),
		SV("http://a,b.test/"), SV("http://a.test;b/"),
		SV("http://a^b.test/"), SV("http://a|b.test/"),
		SV("http://<a.test>/"), SV("//a.test/"), SV("\\\\a.test\\"),
		SV("ftp://a.test/"), SV("ws://a.test/"), SV("file:///a"),
		SV("data:,a"), SV("javascript:a"), SV("blob:http://a.test/"),
		SV("about:blank"), SV("mailto:a@a.test"), SV("a.test"),
		SV("htt\xc3\xbe://a.test/"), SV("http\xef\xbc\x9a//a.test/"),
		SV("http://a.test/\xc3\xbc"), SV("http://a.test/<"),
		SV("http://a.test/%"), SV("http://a.test/%g0"),
		SV("http://a.test/.."), SV("http://a.test/a/%2e%2e/b"),
		SV("http://a.test//"), SV("http://a.test/a\\b"),
	};
	auto_arena struct arena a = arena_new(65536);
	struct target t;

	for (size_t i = 0; i < countof(bad); i++) {
		const char *why = target_parse(bad[i], TARGET_ABSOLUTE, &a, &t);

		if (!why)
			printf("# accepted: %.*s\n", SV_FMT(bad[i]));
		CHECK(why != NULL);
	}
}

int main(void)
{
	RUN(test_host_accepted_is_lower_without_trailing_dot);
	RUN(test_host_of_other_bytes_is_refused);
	RUN(test_host_of_other_scripts_is_refused);
	RUN(test_host_lengths_are_bounded);
	RUN(test_host_literals_of_every_spelling_are_known);
	RUN(test_port_is_a_plain_number);
	RUN(test_authority_is_a_name_and_perhaps_a_port);
	RUN(test_target_of_each_form_is_accepted_only_as_that);
	RUN(test_target_that_browsers_repair_is_refused);
	return tap_done();
}
