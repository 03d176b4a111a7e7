/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <stdlib.h>

#include "own.h"
#include "tap.h"

static const struct addresses none;

static enum address_kind judge(const char *text)
{
	struct address a = address_parse(sv_str(text));

	return address_judge(&a, &none);
}

struct example {
	const char *text;
	enum address_kind kind;
};

static void check_all(const struct example *examples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum address_kind got = judge(examples[i].text);

		if (got != examples[i].kind)
			printf("# %s is %s\n", examples[i].text,
			       address_kind_name(got));
		CHECK_INT(got, examples[i].kind);
	}
}

static void test_judge_public_addresses_are_public(void)
{
	static const char *const texts[] = {
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0",
		"100.63.255.255", "100.128.0.0", "126.255.255.255",
		"128.0.0.0", "169.253.255.255", "169.255.0.0",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
		"192.88.98.255", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "198.51.99.255",
		"203.0.114.0", "223.255.255.255", "168.63.129.15",
		"2606:4700::1111", "2001:4860:4860::8888", "2001:200::1",
		"2001:db7:ffff::1", "2001:db9::1", "2003::1", "3ffe::1",
		"3fff:1000::1", "2a00:1450::1",
	};

	for (size_t i = 0; i < countof(texts); i++) {
		if (judge(texts[i]) != ADDRESS_PUBLIC)
			printf("# %s\n", texts[i]);
		CHECK_INT(judge(texts[i]), ADDRESS_PUBLIC);
	}
}

static void test_judge_special_addresses_have_their_kind(void)
{
	static const struct example examples[] = {
		{ "0.0.0.0", ADDRESS_UNSPECIFIED },
		{ "0.1.2.3", ADDRESS_UNSPECIFIED },
		{ "10.0.0.5", ADDRESS_PRIVATE },
		{ "100.64.0.1", ADDRESS_SHARED },
		{ "127.0.0.1", ADDRESS_LOOPBACK },
		{ "127.255.255.254", ADDRESS_LOOPBACK },
		{ "169.254.1.1", ADDRESS_LINK_LOCAL },
		{ "172.31.255.255", ADDRESS_PRIVATE },
		{ "192.0.0.1", ADDRESS_RESERVED },
		{ "192.0.2.1", ADDRESS_DOCUMENTATION },
		{ "192.88.99.1", ADDRESS_TRANSITION },
		{ "192.168.1.1", ADDRESS_PRIVATE },
		{ "198.19.255.255", ADDRESS_RESERVED },
		{ "198.51.100.1", ADDRESS_DOCUMENTATION },
		{ "203.0.113.1", ADDRESS_DOCUMENTATION },
		{ "224.0.0.251", ADDRESS_MULTICAST },
		{ "239.255.255.255", ADDRESS_MULTICAST },
		{ "240.0.0.1", ADDRESS_RESERVED },
		{ "255.255.255.255", ADDRESS_BROADCAST },
		{ "::", ADDRESS_UNSPECIFIED },
		{ "::1", ADDRESS_LOOPBACK },
		{ "::2", ADDRESS_UNSPECIFIED },
		{ "100::1", ADDRESS_RESERVED },
		{ "2001::1", ADDRESS_UNSPECIFIED },
		{ "2001:20::1", ADDRESS_TRANSITION },
		{ "2001:1ff:ffff::1", ADDRESS_TRANSITION },
		{ "2001:db8::1", ADDRESS_DOCUMENTATION },
		{ "3fff:fff::1", ADDRESS_DOCUMENTATION },
		{ "5f00::1", ADDRESS_RESERVED },
		{ "fc00::1", ADDRESS_PRIVATE },
		{ "fdff::1", ADDRESS_PRIVATE },
		{ "fe80::1", ADDRESS_LINK_LOCAL },
		{ "febf::1", ADDRESS_LINK_LOCAL },
		{ "fec0::1", ADDRESS_PRIVATE },
		{ "ff02::1", ADDRESS_MULTICAST },
		{ "4000::1", ADDRESS_RESERVED },
		{ "1000::1", ADDRESS_RESERVED },
		{ "fbff::1", ADDRESS_RESERVED },
	};

	check_all(examples, countof(examples));
}

static void test_judge_metadata_is_metadata_in_any_carrier(void)
{
	static const char *const texts[] = {
		"169.254.169.254", "169.254.169.253", "169.254.170.2",
		"169.254.170.23", "169.254.42.42", "169.254.0.23",
		"168.63.129.16", "100.100.100.200", "192.0.0.192",
		"fd00:ec2::254", "fd00:ec2::23", "fd00:ec2:ffff::1",
		"fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42",
		"fd00:a9fe:a9fe::1", "fd00:100::100:200",
		"::169.254.169.254", "::ffff:169.254.169.254",
		"::ffff:0:169.254.169.254", "64:ff9b::169.254.169.254",
		"64:ff9b:1::169.254.169.254",
		"64:ff9b:1:a9fe:00a9:fe00::",	/* cut at 48 bits */
		"2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::1",
		"2001:0:102:304:0:0:5601:5601",	/* Teredo's client */
		"2606:4700::5efe:169.254.169.254",
		"2606:4700::200:5efe:169.254.169.254",
		"::ffff:168.63.129.16", "64:ff9b::100.100.100.200",
	};

	for (size_t i = 0; i < countof(texts); i++) {
		if (judge(texts[i]) != ADDRESS_METADATA)
			printf("# %s\n", texts[i]);
		CHECK_INT(judge(texts[i]), ADDRESS_METADATA);
	}
}

static void test_judge_carried_addresses_are_never_public(void)
{
	static const struct example examples[] = {
		{ "::ffff:127.0.0.1", ADDRESS_LOOPBACK },
		{ "::10.0.0.1", ADDRESS_PRIVATE },
		{ "::ffff:10.0.0.1", ADDRESS_PRIVATE },
		{ "64:ff9b::192.168.0.1", ADDRESS_PRIVATE },
		{ "2002:7f00:1::1", ADDRESS_LOOPBACK },
		{ "2001:0:a00:1::", ADDRESS_PRIVATE },
		{ "2a00:1450::5efe:10.0.0.1", ADDRESS_PRIVATE },
		{ "::ffff:8.8.8.8", ADDRESS_TRANSITION },
		{ "::8.8.8.8", ADDRESS_TRANSITION },
		{ "64:ff9b::8.8.8.8", ADDRESS_TRANSITION },
		{ "2002:808:808::1", ADDRESS_TRANSITION },
		{ "2a00:1450::5efe:8.8.8.8", ADDRESS_TRANSITION },
	};

	check_all(examples, countof(examples));
}

static void test_judge_an_own_address_is_not_public(void)
{
	struct addresses own = { .n = 2 };
	struct address a = address_parse(SV("8.8.8.8"));

	own.v[0] = address_parse(SV("2606:4700::1"));
	own.v[1] = a;
	CHECK_INT(address_judge(&a, &own), ADDRESS_OWN);
	CHECK_INT(address_judge(&own.v[0], &own), ADDRESS_OWN);
	a.bytes[3] = 9;
	CHECK_INT(address_judge(&a, &own), ADDRESS_PUBLIC);
}

static void test_judge_what_is_no_address_is_invalid(void)
{
	struct address a = { 0 };

	CHECK_INT(address_judge(&a, &none), ADDRESS_INVALID);
	a.n = 8;
	CHECK_INT(address_judge(&a, &none), ADDRESS_INVALID);
}

/* Blocks of the catalogue, kept apart from the table that is under test. */
struct block {
	const char *net;
	unsigned bits;
	bool lonely;	/* its neighbours on both sides are public */
};

static const struct block blocks[] = {
	{ "0.0.0.0", 8, false }, { "10.0.0.0", 8, true },
	{ "100.64.0.0", 10, true }, { "127.0.0.0", 8, true },
	{ "169.254.0.0", 16, true }, { "172.16.0.0", 12, true },
	{ "192.0.0.0", 24, true }, { "192.0.2.0", 24, true },
	{ "192.88.99.0", 24, true }, { "192.168.0.0", 16, true },
	{ "198.18.0.0", 15, true }, { "198.51.100.0", 24, true },
	{ "203.0.113.0", 24, true }, { "224.0.0.0", 4, false },
	{ "240.0.0.0", 4, false }, { "168.63.129.16", 32, true },
	{ "::", 96, false }, { "::ffff:0:0", 96, false },
	{ "64:ff9b::", 96, false }, { "64:ff9b:1::", 48, false },
	{ "100::", 64, false }, { "2001::", 23, false },
	{ "2001:db8::", 32, true }, { "2002::", 16, false },
	{ "3fff::", 20, false }, { "5f00::", 16, false },
	{ "fc00::", 7, false }, { "fe80::", 10, false },
	{ "fec0::", 10, false }, { "ff00::", 8, false },
	{ "fd00:ec2::", 32, false },
};

/* Deterministic: a failure can be repeated. */
static uint32_t next_random(void)
{
	static uint32_t state = 2463534242U;

	state ^= state << 13;
	state ^= state >> 17;
	return state ^= state << 5;
}

static struct address random_within(const struct block *block)
{
	struct address a = address_parse(sv_str(block->net));

	for (unsigned bit = block->bits; bit < a.n * 8U; bit++)
		if (next_random() >> 31)
			a.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	return a;
}

/* The address just before (-1) or just behind (+1) the block. */
static struct address outside(const struct block *block, int step)
{
	struct address a = address_parse(sv_str(block->net));

	if (step > 0)
		for (unsigned bit = block->bits; bit < a.n * 8U; bit++)
			a.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	for (unsigned i = a.n; i-- > 0;) {
		a.bytes[i] = (uint8_t)(a.bytes[i] + step);
		if (a.bytes[i] != (step > 0 ? 0 : 0xff))
			break;
	}
	return a;
}

static void test_judge_random_addresses_of_a_block_are_refused(void)
{
	for (size_t i = 0; i < countof(blocks); i++) {
		unsigned bad = 0;

		for (int n = 0; n < 2000; n++) {
			struct address a = random_within(&blocks[i]);
			enum address_kind kind = address_judge(&a, &none);

			bad += kind == ADDRESS_PUBLIC ||
			       kind == ADDRESS_INVALID;
		}
		if (bad)
			printf("# %s/%u\n", blocks[i].net, blocks[i].bits);
		CHECK_INT(bad, 0);
	}
}

static void test_judge_neighbours_of_a_block_are_public(void)
{
	for (size_t i = 0; i < countof(blocks); i++) {
		struct address before = outside(&blocks[i], -1);
		struct address behind = outside(&blocks[i], 1);

		if (!blocks[i].lonely)
			continue;
		CHECK_INT(address_judge(&before, &none), ADDRESS_PUBLIC);
		CHECK_INT(address_judge(&behind, &none), ADDRESS_PUBLIC);
	}
}

static void test_parse_takes_only_the_strict_form(void)
{
	static const char *const bad[] = {
		"", "1", "1.2", "1.2.3", "1.2.3.4.5", "01.2.3.4", "0x1.2.3.4",
		" 1.2.3.4", "1.2.3.4 ", "256.1.1.1", "1.2.3.4:80", "[::1]",
		"fe80::1%lo", "::1::", "12345::",
	};

	for (size_t i = 0; i < countof(bad); i++)
		CHECK_INT(address_parse(sv_str(bad[i])).n, 0);
	CHECK_INT(address_parse(sv_of("1.2.3.4\0x", 9)).n, 0);
	CHECK_INT(address_parse(SV("1.2.3.4")).n, 4);
	CHECK_INT(address_parse(SV("::1")).n, 16);
}

static void test_to_socket_and_back_is_the_same(void)
{
	struct sockaddr_storage sa;
	struct address a = address_parse(SV("2001:db8::7")), b;
	char text[ADDRESS_TEXT];

	CHECK(address_to_socket(&a, 443, &sa) > 0);
	b = address_of((struct sockaddr *)&sa);
	CHECK(memcmp(&a, &b, sizeof a) == 0);
	CHECK_SV(sv_str(address_text(&b, text)), "2001:db8::7");
	a.n = 0;
	CHECK_INT(address_to_socket(&a, 443, &sa), 0);
}

static void test_is_literal_sees_every_spelling(void)
{
	static const char *const literal[] = {
		"", "1", "0", "127.1", "127.0.0.1", "127.0.0.1.", "0x7f000001",
		"0x7f.0.0.1", "1.2.3.0X4", "a.b.1", "::1", "[::1]", "fe80::1%1",
		"017700000001", "a.0x", "a.0xff",
	};
	static const char *const name[] = {
		"a", "example.com", "1a", "1.2.3.4a", "a0x1.test", "xn--p1ai",
		"1.1.1.1.example", "b.0y1",
	};

	for (size_t i = 0; i < countof(literal); i++)
		CHECK(address_is_literal(sv_str(literal[i])));
	for (size_t i = 0; i < countof(name); i++)
		CHECK(!address_is_literal(sv_str(name[i])));
}

static void test_name_is_special_by_label(void)
{
	static const char *const special[] = {
		"localhost", "LocalHost", "localhost.", "a.b.localhost",
		"x.local", "metadata.google.internal", "a.internal",
		"host.docker.internal", "metadata", "metadata.goog",
		"metadata.tencentyun.com", "instance-data",
		"instance-data.ec2.internal", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"", ".",
	};
	static const char *const plain[] = {
		"localhost.example", "notlocalhost", "mylocal", "local.example",
		"internal.example.com", "metadata.example", "a.metadata",
		"tencentyun.com", "x.metadata.tencentyun.com", "default",
		"example.com",
	};

	for (size_t i = 0; i < countof(special); i++)
		CHECK(address_name_is_special(sv_str(special[i])));
	for (size_t i = 0; i < countof(plain); i++)
		CHECK(!address_name_is_special(sv_str(plain[i])));
}

int main(void)
{
	RUN(test_judge_public_addresses_are_public);
	RUN(test_judge_special_addresses_have_their_kind);
	RUN(test_judge_metadata_is_metadata_in_any_carrier);
	RUN(test_judge_carried_addresses_are_never_public);
	RUN(test_judge_an_own_address_is_not_public);
	RUN(test_judge_what_is_no_address_is_invalid);
	RUN(test_judge_random_addresses_of_a_block_are_refused);
	RUN(test_judge_neighbours_of_a_block_are_public);
	RUN(test_parse_takes_only_the_strict_form);
	RUN(test_to_socket_and_back_is_the_same);
	RUN(test_is_literal_sees_every_spelling);
	RUN(test_name_is_special_by_label);
	return tap_done();
}
