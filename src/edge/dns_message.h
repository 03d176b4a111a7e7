/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages (RFC 1035): one question in, one answer out.  Pure.
 */
#ifndef EDGE_DNS_MESSAGE_H
#define EDGE_DNS_MESSAGE_H

#include "buf.h"

enum {
	DNS_NAME_MAX = 253,	/* in presentation form */
	DNS_UDP_MAX = 1232,	/* a question over UDP */
	DNS_MESSAGE_MAX = 65535,
};

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28 };

enum dns_rcode {
	DNS_DROP = -1,		/* not a question: answer nothing */
	DNS_NOERROR = 0, DNS_FORMERR = 1, DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3, DNS_NOTIMP = 4, DNS_REFUSED = 5,
};

struct dns_query {
	uint16_t id;
	uint16_t type;		/* any value, see enum dns_type */
	uint16_t class;		/* 1: Internet */
	bool recursion;		/* wanted */
	bool has_edns;
	uint16_t udp_size;	/* what the client accepts, at least 512 */
	/* The name in lower case without the trailing dot, as far as it is a
	 * host name; empty for the root and for a name with other bytes. */
	struct sv name;
	struct sv question;	/* as it was, a view into the message */
	char text[DNS_NAME_MAX];
};

/*
 * NOERROR and *ret is filled, or another code to answer with dns_answer_code()
 * (ret->id and, if it could be read, ret->question are set), or DNS_DROP.
 * ret must stay where it is: ret->name points into it.
 */
must_check enum dns_rcode dns_parse(struct sv message, struct dns_query *ret);

/* One address record, 4 (A) or 16 bytes (AAAA), of the question's name. */
void dns_answer_address(struct buf *b, const struct dns_query *q,
			const uint8_t *address, size_t n, uint32_t ttl);
/* One PTR record; name is a host name. */
void dns_answer_name(struct buf *b, const struct dns_query *q, struct sv name,
		     uint32_t ttl);
/* No record: NODATA with DNS_NOERROR, or an error. */
void dns_answer_code(struct buf *b, const struct dns_query *q,
		     enum dns_rcode code);

/* "4.3.2.1.in-addr.arpa" or the nibbles below ip6.arpa to 4 or 16 bytes, the
 * number of which is returned; 0 if it is neither. */
size_t dns_reverse(struct sv name, uint8_t address[16]);

#endif
