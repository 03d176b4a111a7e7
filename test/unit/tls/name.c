/* SPDX-License-Identifier: Apache-2.0 */
#include "name.h"

#include "tap.h"

static bool ok(const char *s)
{
	return name_is_canonical(sv_str(s));
}

static void test_name_ordinary_is_canonical(void)
{
	CHECK(ok("example.com"));
	CHECK(ok("localhost"));
	CHECK(ok("a-b.my_bucket.s3.example"));
	CHECK(ok("xn--bcher-kva.example"));
	CHECK(ok("1.2.3.4.example"));
	CHECK(ok("0x.com"));
}

static void test_name_other_form_is_not_canonical(void)
{
	CHECK(!ok(""));
	CHECK(!ok("."));
	CHECK(!ok("example.com."));
	CHECK(!ok(".example.com"));
	CHECK(!ok("a..b"));
	CHECK(!ok("Example.com"));
	CHECK(!ok("*.example.com"));
	CHECK(!ok("-a.example"));
	CHECK(!ok("a-.example"));
	CHECK(!ok("a b.example"));
	CHECK(!ok("a.example:443"));
	CHECK(!ok("b\xc3\xbc" "cher.example"));
	CHECK(!name_is_canonical(SV("a.example\0")));
	CHECK(!name_is_canonical(SV("a\0b.example")));
}

static void test_name_address_is_not_canonical(void)
{
	CHECK(!ok("127.0.0.1"));
	CHECK(!ok("2130706433"));
	CHECK(!ok("0x7f.0.0.0x1"));
	CHECK(!ok("a.0x"));
	CHECK(!ok("::1"));
	CHECK(!ok("[::1]"));
}

static void test_name_lengths_are_bounded(void)
{
	char label[65], name[256];

	memset(label, 'a', sizeof label);
	CHECK(name_is_canonical(sv_of(label, 63)));
	CHECK(!name_is_canonical(sv_of(label, 64)));
	for (size_t i = 0; i < sizeof name; i++)
		name[i] = i % 2 ? '.' : 'a';
	CHECK(name_is_canonical(sv_of(name, 253)));
	CHECK(!name_is_canonical(sv_of(name, 255)));
}

int main(void)
{
	RUN(test_name_ordinary_is_canonical);
	RUN(test_name_other_form_is_not_canonical);
	RUN(test_name_address_is_not_canonical);
	RUN(test_name_lengths_are_bounded);
	return tap_done();
}
