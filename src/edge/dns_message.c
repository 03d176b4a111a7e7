/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages: see dns_message.h.
 *
 * A question has no reason to compress its one name, to carry records beside
 * one OPT, or to have bytes behind its end: all of that is a format error.
 * Answers repeat the question byte for byte, so that a client that mixes upper
 * and lower case to be harder to spoof finds its own mix again.
 */
#include "dns_message.h"

enum {
	HEADER_SIZE = 12,
	LABEL_MAX = 63,
	WIRE_NAME_MAX = 255,
	TYPE_OPT = 41,
	CLASS_IN = 1,
	FLAG_QR = 0x8000, FLAG_TC = 0x0200, FLAG_RD = 0x0100, FLAG_RA = 0x0080,
	OPCODE = 0x7800,
	UDP_LEAST = 512,
};

/* A cursor for big-endian numbers; sticky as struct cur. */
struct reader {
	struct sv rest;
	bool bad;
};

static unsigned read_u8(struct reader *r)
{
	unsigned v;

	if (r->rest.n < 1) {
		r->bad = true;
		return 0;
	}
	v = (uint8_t)r->rest.p[0];
	r->rest = sv_from(r->rest, 1);
	return v;
}

static uint16_t read_u16(struct reader *r)
{
	unsigned high = read_u8(r);

	return (uint16_t)(high << 8 | read_u8(r));
}

static void skip(struct reader *r, size_t n)
{
	if (n > r->rest.n)
		r->bad = true;
	else
		r->rest = sv_from(r->rest, n);
}

static bool is_host_byte(char c)
{
	return is_alpha(c) || is_digit(c) || c == '-' || c == '_';
}

/* One uncompressed name; the presentation form where it is a host name. */
static void read_name(struct reader *r, struct dns_query *q)
{
	size_t wire = 1, n = 0;
	bool is_host = true;

	for (;;) {
		size_t label = read_u8(r);

		if (r->bad || label == 0)
			break;
		wire += label + 1;
		/* Above 63 it is a compression pointer or a dead extension. */
		if (label > LABEL_MAX || wire > WIRE_NAME_MAX ||
		    label > r->rest.n) {
			r->bad = true;
			return;
		}
		if (n)
			q->text[n++] = '.';
		for (size_t i = 0; i < label; i++) {
			is_host &= is_host_byte(r->rest.p[i]);
			q->text[n++] = ascii_lower(r->rest.p[i]);
		}
		skip(r, label);
	}
	q->name = sv_of(q->text, is_host ? n : 0);
}

/* The OPT record of EDNS (RFC 6891), behind its root name. */
static enum dns_rcode read_opt(struct reader *r, struct dns_query *q)
{
	unsigned root = read_u8(r);
	unsigned type = read_u16(r);
	uint16_t size = read_u16(r);
	unsigned version;

	(void)read_u8(r);		/* extended code */
	version = read_u8(r);
	(void)read_u16(r);		/* flags */
	skip(r, read_u16(r));
	if (r->bad || root != 0 || type != TYPE_OPT || version != 0)
		return DNS_FORMERR;
	q->has_edns = true;
	q->udp_size = size < UDP_LEAST ? UDP_LEAST : size;
	return DNS_NOERROR;
}

enum dns_rcode dns_parse(struct sv message, struct dns_query *ret)
{
	struct reader r = { .rest = message };
	uint16_t flags, questions, answers, authorities, additional;
	struct sv question;

	*ret = (struct dns_query){ .udp_size = UDP_LEAST };
	ret->id = read_u16(&r);
	flags = read_u16(&r);
	questions = read_u16(&r);
	answers = read_u16(&r);
	authorities = read_u16(&r);
	additional = read_u16(&r);
	if (r.bad || message.n > DNS_MESSAGE_MAX || (flags & FLAG_QR))
		return DNS_DROP;
	ret->recursion = flags & FLAG_RD;
	if (flags & OPCODE)
		return DNS_NOTIMP;
	if ((flags & FLAG_TC) || questions != 1 || answers || authorities ||
	    additional > 1)
		return DNS_FORMERR;
	question = r.rest;
	read_name(&r, ret);
	ret->type = read_u16(&r);
	ret->class = read_u16(&r);
	if (r.bad)
		return DNS_FORMERR;
	ret->question = sv_head(question, question.n - r.rest.n);
	if (additional && read_opt(&r, ret) != DNS_NOERROR)
		return DNS_FORMERR;
	if (r.rest.n)
		return DNS_FORMERR;
	return ret->class == CLASS_IN ? DNS_NOERROR : DNS_REFUSED;
}

static void put_u16(struct buf *b, unsigned v)
{
	buf_putc(b, (char)(v >> 8 & 0xff));
	buf_putc(b, (char)(v & 0xff));
}

static void put_u32(struct buf *b, uint32_t v)
{
	put_u16(b, v >> 16);
	put_u16(b, v & 0xffff);
}

static void put_head(struct buf *b, const struct dns_query *q,
		     enum dns_rcode code, unsigned answers)
{
	unsigned flags = FLAG_QR | FLAG_RA | ((unsigned)code & 15);

	put_u16(b, q->id);
	put_u16(b, flags | (q->recursion ? FLAG_RD : 0));
	put_u16(b, q->question.n ? 1 : 0);
	put_u16(b, answers);
	put_u16(b, 0);
	put_u16(b, q->has_edns ? 1 : 0);
	buf_put(b, q->question);
}

static void put_opt(struct buf *b, const struct dns_query *q)
{
	if (!q->has_edns)
		return;
	buf_putc(b, 0);
	put_u16(b, TYPE_OPT);
	put_u16(b, DNS_UDP_MAX);
	put_u32(b, 0);
	put_u16(b, 0);
}

static void put_record(struct buf *b, const struct dns_query *q, uint32_t ttl,
		       struct sv data)
{
	put_u16(b, 0xc000 | HEADER_SIZE);	/* the question's name */
	put_u16(b, q->type);
	put_u16(b, CLASS_IN);
	put_u32(b, ttl);
	put_u16(b, (unsigned)data.n);
	buf_put(b, data);
}

void dns_answer_address(struct buf *b, const struct dns_query *q,
			const uint8_t *address, size_t n, uint32_t ttl)
{
	put_head(b, q, DNS_NOERROR, 1);
	put_record(b, q, ttl, sv_of((const char *)address, n));
	put_opt(b, q);
}

void dns_answer_name(struct buf *b, const struct dns_query *q, struct sv name,
		     uint32_t ttl)
{
	char wire[DNS_NAME_MAX + 2];
	size_t n = 0;

	while (name.n && name.n <= DNS_NAME_MAX) {
		size_t label = sv_find(name, '.');

		if (label == 0 || label > LABEL_MAX)
			break;
		wire[n++] = (char)label;
		memcpy(wire + n, name.p, label);
		n += label;
		name = sv_from(name, label + 1);
	}
	if (name.n) {
		dns_answer_code(b, q, DNS_SERVFAIL);
		return;
	}
	wire[n++] = 0;
	put_head(b, q, DNS_NOERROR, 1);
	put_record(b, q, ttl, sv_of(wire, n));
	put_opt(b, q);
}

void dns_answer_code(struct buf *b, const struct dns_query *q,
		     enum dns_rcode code)
{
	put_head(b, q, code, 0);
	put_opt(b, q);
}

/* Cuts the first label off name. */
static struct sv label_cut(struct sv *name)
{
	size_t dot = sv_find(*name, '.');
	struct sv label = sv_head(*name, dot);

	*name = sv_from(*name, dot + 1);
	return label;
}

size_t dns_reverse(struct sv name, uint8_t address[16])
{
	uint8_t bytes[16] = { 0 };
	size_t n = sv_ends(name, SV(".in-addr.arpa")) ? 4 :
		   sv_ends(name, SV(".ip6.arpa")) ? 16 : 0;
	bool wide = n == 16;

	for (size_t i = 0; i < (wide ? 32 : n); i++) {
		struct sv label = label_cut(&name);
		uint64_t octet;

		if (!wide && sv_to_u64(label, 255, &octet))
			bytes[3 - i] = (uint8_t)octet;
		else if (wide && label.n == 1 && hex_value(label.p[0]) >= 0)
			bytes[15 - i / 2] |= (uint8_t)(hex_value(label.p[0])
						       << (i % 2 ? 4 : 0));
		else
			return 0;
	}
	if (!sv_eq(name, wide ? SV("ip6.arpa") : SV("in-addr.arpa")))
		return 0;
	memcpy(address, bytes, n);
	return n;
}
