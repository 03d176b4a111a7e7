/* SPDX-License-Identifier: Apache-2.0 */
/* Where a proxy is, and its login. */
#include "tap.h"

#include "own.h"
#include "proxy_url.h"

static const struct {
	const char *text, *host;
	uint16_t port;
	const char *user, *password;	/* NULL: without a login */
} good[] = {
	{ "http://proxy.corp:3128", "proxy.corp", 3128, NULL, NULL },
	{ "HTTP://PROXY.corp:3128/", "proxy.corp", 3128, NULL, NULL },
	{ "proxy:8080", "proxy", 8080, NULL, NULL },
	{ "127.0.0.1:80", "127.0.0.1", 80, NULL, NULL },
	{ "http://[::0:1]:80", "::1", 80, NULL, NULL },
	{ "http://u:p@h:80", "h", 80, "u", "p" },
	{ "u:p:q@r@h:80", "h", 80, "u", "p:q@r" },
	{ "http://a%40b:%25%7e%3a@h:80", "h", 80, "a@b", "%~:" },
};

static const char *const bad[] = {
	"", "http://", "h", "h:", "h:0", "h:65536", "h:80x", "h:80/x", "h:80//",
	":80", "https://h:80", "socks5://h:80", "://h:80", "[::1]", "[::1:80",
	"[]:80", "[h]:80", "[127.0.0.1]:80", "::1:80", "h h:80", "h\n:80",
	"127.1:80", "0x7f000001:80", "h.:80", "h..x:80", "*:80",
	"@h:80", "u@h:80", "u:@h:80", ":p@h:80", "u:p@", "u:%@h:80",
	"u:%4@h:80", "u:%zz@h:80", "u:%00@h:80", "u:%0a@h:80", "u:a b@h:80",
	"u%3Av:p@h:80", "u:p\x80@h:80",
};

static void test_what_is_a_proxy(void)
{
	for (size_t i = 0; i < countof(good); i++) {
		auto_arena struct arena a = arena_new(4096);
		struct proxy_url url;

		CHECK(!proxy_url_parse(sv_str(good[i].text), &a, &url));
		CHECK_SV(url.host, good[i].host);
		CHECK_INT(url.port, good[i].port);
		CHECK_INT(url.has_login, good[i].user != NULL);
		if (good[i].user)
			CHECK_SV(url.user, good[i].user);
		if (good[i].user)
			CHECK_SV(url.password, good[i].password);
	}
}

static void test_what_is_none(void)
{
	for (size_t i = 0; i < countof(bad); i++) {
		auto_arena struct arena a = arena_new(4096);
		struct proxy_url url;

		if (!proxy_url_parse(sv_str(bad[i]), &a, &url))
			printf("# accepted: %s\n", bad[i]);
		CHECK(proxy_url_parse(sv_str(bad[i]), &a, &url) != NULL);
	}
}

int main(void)
{
	RUN(test_what_is_a_proxy);
	RUN(test_what_is_none);
	return tap_done();
}
