/* SPDX-License-Identifier: Apache-2.0 */
#include "keyfile_format.h"

#include "own.h"
#include "tap.h"

static void test_format_follows_from_the_name(void)
{
	static const struct {
		const char *path;
		enum keyfile_format format;
	} names[] = {
		{ "/h/.docker/config.json", KEYFILE_JSON },
		{ "/h/.claude/.credentials.json", KEYFILE_JSON },
		{ "/h/.netrc", KEYFILE_NETRC }, { "/h/_netrc", KEYFILE_NETRC },
		{ "/h/netrc", KEYFILE_NETRC }, { "/p/.env", KEYFILE_DOTENV },
		{ "/p/.env.local", KEYFILE_DOTENV },
		{ "/p/prod.env", KEYFILE_DOTENV }, { "/h/.npmrc", KEYFILE_INI },
		{ "/h/.aws/credentials", KEYFILE_INI },
		{ "/p/.envrc", KEYFILE_INI }, { "/h/.netrc/x", KEYFILE_INI },
		{ "/h/hosts.yml", KEYFILE_WHOLE }, { "/h/a.yaml", KEYFILE_WHOLE },
		{ "/h/credentials.toml", KEYFILE_WHOLE },
	};

	for (size_t i = 0; i < countof(names); i++)
		CHECK_INT(keyfile_format_of(sv_str(names[i].path)),
			  names[i].format);
}

static void test_json_is_named_by_a_pointer(void)
{
	static const char *const good[] = { "/a", "/", "/a/b~0c/~1", "/a.b c" };
	static const char *const bad[] = { "", "a", "a/b", "/a~", "/~2" };

	for (size_t i = 0; i < countof(good); i++)
		CHECK(!keyfile_format_fault(KEYFILE_JSON, sv_str(good[i])));
	for (size_t i = 0; i < countof(bad); i++)
		CHECK(keyfile_format_fault(KEYFILE_JSON, sv_str(bad[i])));
}

static void test_other_keys_are_not_empty_nor_too_long(void)
{
	static char key[KEYFILE_KEY_MAX + 1];

	memset(key, 'k', sizeof key);
	for (enum keyfile_format f = KEYFILE_INI; f <= KEYFILE_DOTENV; f++) {
		CHECK(!keyfile_format_fault(f, sv_of(key, KEYFILE_KEY_MAX)));
		CHECK(keyfile_format_fault(f, sv_of(key, sizeof key)));
		CHECK(keyfile_format_fault(f, SV("")));
	}
	CHECK(keyfile_format_fault(KEYFILE_WHOLE, SV("k")));
	key[0] = '/';
	CHECK(keyfile_format_fault(KEYFILE_JSON, sv_of(key, sizeof key)));
}

int main(void)
{
	RUN(test_format_follows_from_the_name);
	RUN(test_json_is_named_by_a_pointer);
	RUN(test_other_keys_are_not_empty_nor_too_long);
	return tap_done();
}
