/* SPDX-License-Identifier: Apache-2.0 */
/* DNS: any answer to a question that was read carries that question. */
#include "dns_message.h"
#include "fuzz.h"

static void check_answer(struct buf *b, const struct dns_query *q)
{
	struct sv answer = buf_sv(b);

	MUST(!b->full && answer.n >= 12 && answer.n <= 65535);
	MUST((answer.p[2] & 0x80) != 0);
	MUST(((uint8_t)answer.p[0] << 8 | (uint8_t)answer.p[1]) == q->id);
	MUST(sv_starts(sv_from(answer, 12), q->question));
	buf_reset(b);
}

static void check_echo(struct buf *b, const struct dns_query *q)
{
	struct dns_query again;

	dns_answer_code(b, q, DNS_NOERROR);
	/* As a question once more: without the response and recursion bits. */
	b->p[2] = (char)(b->p[2] & 0x7f);
	MUST(dns_parse(buf_sv(b), &again) == DNS_NOERROR);
	MUST(sv_eq(again.name, q->name) && again.type == q->type);
	MUST(again.has_edns == q->has_edns && again.recursion == q->recursion);
	buf_reset(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t address[16] = { 0xfd, 1, 2, 3 };
	struct sv in = fuzz_input(data, size);
	auto_buf struct buf b = buf_new(65536);
	struct dns_query q;
	uint8_t reverse[16];
	enum dns_rcode r = dns_parse(in, &q);

	(void)dns_reverse(in, reverse);
	if (r == DNS_DROP)
		return 0;
	dns_answer_code(&b, &q, r == DNS_NOERROR ? DNS_SERVFAIL : r);
	check_answer(&b, &q);
	if (r != DNS_NOERROR)
		return 0;
	MUST(q.name.n <= DNS_NAME_MAX && q.udp_size >= 512);
	dns_answer_address(&b, &q, address, q.type == DNS_A ? 4 : 16, 60);
	check_answer(&b, &q);
	dns_answer_name(&b, &q, q.name, 60);
	check_answer(&b, &q);
	check_echo(&b, &q);
	return 0;
}
