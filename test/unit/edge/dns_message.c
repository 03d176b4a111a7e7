/* SPDX-License-Identifier: Apache-2.0 */
/* DNS questions and answers, byte by byte. */
#include "dns_message.h"

#include "own.h"
#include "tap.h"

#define HEAD "\x12\x34\x01\0\0\1\0\0\0\0\0\0"
#define NAME "\7ExamPle\3ORG\0"
#define QUERY HEAD NAME "\0\1\0\1"
#define OPT "\0\0\x29\x04\xd0\0\0\0\0\0\0"
#define QUERY_OPT "\x12\x34\x01\0\0\1\0\0\0\0\0\1" NAME "\0\x1c\0\1" OPT

static void test_query_is_read(void)
{
	struct dns_query q;

	CHECK_INT(dns_parse(SV(QUERY), &q), DNS_NOERROR);
	CHECK_INT(q.id, 0x1234);
	CHECK_INT(q.type, DNS_A);
	CHECK_SV(q.name, "example.org");
	CHECK(q.recursion && !q.has_edns);
	CHECK_INT(q.udp_size, 512);
	CHECK(sv_eq(q.question, SV(NAME "\0\1\0\1")));
	CHECK_INT(dns_parse(SV(QUERY_OPT), &q), DNS_NOERROR);
	CHECK_INT(q.type, DNS_AAAA);
	CHECK(q.has_edns);
	CHECK_INT(q.udp_size, 1232);
}

static void test_query_name_that_is_no_host_is_empty(void)
{
	struct dns_query q;

	CHECK_INT(dns_parse(SV(HEAD "\0\0\1\0\1"), &q), DNS_NOERROR);
	CHECK_SV(q.name, "");
	CHECK_INT(dns_parse(SV(HEAD "\3a.b\0\0\1\0\1"), &q), DNS_NOERROR);
	CHECK_SV(q.name, "");
	CHECK_INT(dns_parse(SV(HEAD "\3a\0b\0\0\1\0\1"), &q), DNS_NOERROR);
	CHECK_SV(q.name, "");
	CHECK_INT(dns_parse(SV(HEAD "\3a_b\1-\0\0\1\0\1"), &q), DNS_NOERROR);
	CHECK_SV(q.name, "a_b.-");
}

static const struct {
	struct sv in;
	enum dns_rcode want;
} odd[] = {
	{ SV(""), DNS_DROP },
	{ SV("\x12\x34\x01\0\0\1\0\0\0\0\0"), DNS_DROP },
	{ SV("\x12\x34\x81\0\0\1\0\0\0\0\0\0" NAME "\0\1\0\1"), DNS_DROP },
	{ SV("\x12\x34\x29\0\0\1\0\0\0\0\0\0" NAME "\0\1\0\1"), DNS_NOTIMP },
	{ SV("\x12\x34\x03\0\0\1\0\0\0\0\0\0" NAME "\0\1\0\1"), DNS_FORMERR },
	{ SV("\x12\x34\x01\0\0\0\0\0\0\0\0\0"), DNS_FORMERR },
	{ SV("\x12\x34\x01\0\0\2\0\0\0\0\0\0" NAME "\0\1\0\1"), DNS_FORMERR },
	{ SV("\x12\x34\x01\0\0\1\0\1\0\0\0\0" NAME "\0\1\0\1"), DNS_FORMERR },
	{ SV("\x12\x34\x01\0\0\1\0\0\0\0\0\2" NAME "\0\1\0\1" OPT OPT),
	  DNS_FORMERR },
	{ SV(HEAD), DNS_FORMERR },
	{ SV(HEAD "\7Exam"), DNS_FORMERR },
	{ SV(HEAD NAME "\0\1\0"), DNS_FORMERR },
	{ SV(QUERY "x"), DNS_FORMERR },
	{ SV(HEAD "\xc0\x0c\0\1\0\1"), DNS_FORMERR },
	{ SV(HEAD "\1a\xc0\x0c\0\1\0\1"), DNS_FORMERR },
	{ SV(HEAD "\x40" NAME "\0\1\0\1"), DNS_FORMERR },
	{ SV(HEAD NAME "\0\1\0\3"), DNS_REFUSED },
	/* EDNS: not the root, not OPT, another version, options cut short */
	{ SV("\x12\x34\x01\0\0\1\0\0\0\0\0\1" NAME "\0\1\0\1"
	     "\1a\0\0\x29\4\xd0\0\0\0\0\0\0"), DNS_FORMERR },
	{ SV("\x12\x34\x01\0\0\1\0\0\0\0\0\1" NAME "\0\1\0\1"
	     "\0\0\x28\4\xd0\0\0\0\0\0\0"), DNS_FORMERR },
	{ SV("\x12\x34\x01\0\0\1\0\0\0\0\0\1" NAME "\0\1\0\1"
	     "\0\0\x29\4\xd0\0\1\0\0\0\0"), DNS_FORMERR },
	{ SV("\x12\x34\x01\0\0\1\0\0\0\0\0\1" NAME "\0\1\0\1"
	     "\0\0\x29\4\xd0\0\0\0\0\0\4ab"), DNS_FORMERR },
};

static void test_query_odd_gets_its_code(void)
{
	for (size_t i = 0; i < countof(odd); i++) {
		struct dns_query q;
		enum dns_rcode r = dns_parse(odd[i].in, &q);

		if (r != odd[i].want)
			printf("# number %zu\n", i);
		CHECK_INT(r, odd[i].want);
		CHECK(r == DNS_DROP || q.id == 0x1234);
	}
}

static void test_query_name_lengths_are_bounded(void)
{
	for (unsigned last = 60; last <= 63; last++) {
		auto_buf struct buf b = buf_new(4096);
		struct dns_query q;

		buf_put(&b, SV(HEAD));
		for (unsigned i = 0; i < 4; i++) {
			unsigned n = i == 3 ? last : 63;

			buf_putc(&b, (char)n);
			for (unsigned k = 0; k < n; k++)
				buf_putc(&b, 'a');
		}
		buf_put(&b, SV("\0\0\1\0\1"));
		/* 3 * 64 + 1 + 61 + 1 is the limit of 255 */
		CHECK_INT(dns_parse(buf_sv(&b), &q),
			  last <= 61 ? DNS_NOERROR : DNS_FORMERR);
		if (last <= 61)
			CHECK_INT(q.name.n, 192 + last);
	}
}

static void test_answers_echo_the_question(void)
{
	static const uint8_t address[] = { 198, 18, 0, 1 };
	auto_buf struct buf b = buf_new(4096);
	struct dns_query q;

	CHECK_INT(dns_parse(SV(QUERY), &q), DNS_NOERROR);
	dns_answer_address(&b, &q, address, 4, 60);
	CHECK(sv_eq(buf_sv(&b), SV("\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME
				   "\0\1\0\1\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4"
				   "\xc6\x12\0\1")));
	buf_reset(&b);
	CHECK_INT(dns_parse(SV(QUERY_OPT), &q), DNS_NOERROR);
	dns_answer_code(&b, &q, DNS_NOERROR);
	CHECK(sv_eq(buf_sv(&b), SV("\x12\x34\x81\x80\0\1\0\0\0\0\0\1" NAME
				   "\0\x1c\0\1" OPT)));
	buf_reset(&b);
	CHECK_INT(dns_parse(SV(HEAD "\xc0\x0c"), &q), DNS_FORMERR);
	dns_answer_code(&b, &q, DNS_FORMERR);
	CHECK(sv_eq(buf_sv(&b), SV("\x12\x34\x81\x81\0\0\0\0\0\0\0\0")));
}

static void test_answer_with_a_name_is_in_wire_form(void)
{
	auto_buf struct buf b = buf_new(4096);
	struct dns_query q;

	CHECK_INT(dns_parse(SV(HEAD "\1x\0\0\x0c\0\1"), &q), DNS_NOERROR);
	dns_answer_name(&b, &q, SV("a.test"), 1);
	CHECK(sv_eq(buf_sv(&b), SV("\x12\x34\x81\x80\0\1\0\1\0\0\0\0"
				   "\1x\0\0\x0c\0\1\xc0\x0c\0\x0c\0\1\0\0\0\1"
				   "\0\x08\1a\4test\0")));
	buf_reset(&b);
	dns_answer_name(&b, &q, SV("a..test"), 1);
	CHECK(b.n > 4 && (b.p[3] & 15) == DNS_SERVFAIL);
}

static void test_reverse_names_become_addresses(void)
{
	static const char *const bad[] = {
		"", "in-addr.arpa", "3.2.1.in-addr.arpa",
		"5.4.3.2.1.in-addr.arpa", "256.3.2.1.in-addr.arpa",
		"04.3.2.1.in-addr.arpa", "x.3.2.1.in-addr.arpa",
		"4.3.2.1.example.org", "1.ip6.arpa",
		("10.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
		 "0.d.f.ip6.arpa"),
	};
	static const uint8_t six[16] = { 0xfd, [15] = 0x21 };
	uint8_t address[16];

	CHECK_INT(dns_reverse(SV("4.3.18.198.in-addr.arpa"), address), 4);
	CHECK(memcmp(address, "\xc6\x12\3\4", 4) == 0);
	CHECK_INT(dns_reverse(SV("1.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
				 "0.0.0.0.0.0.0.0.d.f.ip6.arpa"), address), 16);
	CHECK(memcmp(address, six, 16) == 0);
	for (size_t i = 0; i < countof(bad); i++)
		CHECK_INT(dns_reverse(sv_str(bad[i]), address), 0);
}

int main(void)
{
	RUN(test_query_is_read);
	RUN(test_query_name_that_is_no_host_is_empty);
	RUN(test_query_odd_gets_its_code);
	RUN(test_query_name_lengths_are_bounded);
	RUN(test_answers_echo_the_question);
	RUN(test_answer_with_a_name_is_in_wire_form);
	RUN(test_reverse_names_become_addresses);
	return tap_done();
}
