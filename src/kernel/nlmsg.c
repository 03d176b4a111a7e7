/* SPDX-License-Identifier: Apache-2.0 */
/* Netlink requests: see nlmsg.h. */
#include "nlmsg.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "own.h"

/* The kernel's NLA_HDRLEN is a signed expression of an unsigned size. */
enum { ATTR_HEADER = sizeof(struct nlattr) };

/* Room for n bytes, padded with zeros; NULL when the buffer is full. */
static char *take(struct nlmsg *b, size_t n)
{
	size_t padded = NLMSG_ALIGN(n);
	char *p = b->bytes + b->n;

	if (b->full || padded > sizeof b->bytes - b->n) {
		b->full = true;
		return NULL;
	}
	memset(p, 0, padded);
	b->n += padded;
	return p;
}

void nlmsg_begin(struct nlmsg *b, uint16_t type, uint16_t flags,
		 const void *header, size_t n)
{
	struct nlmsghdr h = {
		.nlmsg_type = type, .nlmsg_flags = flags | NLM_F_REQUEST,
		.nlmsg_seq = ++b->seq,
	};
	char *p;

	b->at = b->n;
	p = take(b, NLMSG_HDRLEN + n);
	if (!p)
		return;
	h.nlmsg_len = (uint32_t)(b->n - b->at);
	memcpy(p, &h, sizeof h);
	memcpy(p + NLMSG_HDRLEN, header, n);
}

/* The request grew. */
static void update(struct nlmsg *b)
{
	uint32_t length = (uint32_t)(b->n - b->at);

	memcpy(b->bytes + b->at, &length, sizeof length);
}

void nlmsg_attr(struct nlmsg *b, uint16_t type, const void *data, size_t n)
{
	struct nlattr a = {
		.nla_len = (uint16_t)(ATTR_HEADER + n), .nla_type = type,
	};
	char *p = take(b, ATTR_HEADER + n);

	if (!p)
		return;
	memcpy(p, &a, sizeof a);
	memcpy(p + ATTR_HEADER, data, n);
	update(b);
}

void nlmsg_str(struct nlmsg *b, uint16_t type, const char *s)
{
	nlmsg_attr(b, type, s, strlen(s) + 1);
}

void nlmsg_be32(struct nlmsg *b, uint16_t type, uint32_t value)
{
	uint32_t wire = htonl(value);

	nlmsg_attr(b, type, &wire, sizeof wire);
}

size_t nlmsg_open(struct nlmsg *b, uint16_t type)
{
	struct nlattr a = {
		.nla_len = ATTR_HEADER,
		.nla_type = (uint16_t)(type | NLA_F_NESTED),
	};
	size_t nest = b->n;
	char *p = take(b, sizeof a);

	if (!p)
		return 0;
	memcpy(p, &a, sizeof a);
	update(b);
	return nest;
}

void nlmsg_close(struct nlmsg *b, size_t nest)
{
	uint16_t length = (uint16_t)(b->n - nest);

	if (!b->full)
		memcpy(b->bytes + nest, &length, sizeof length);
}

/* 1: done, 0: read on. */
static int judge(const char *p, size_t n, uint32_t last, uint32_t *failed,
		 struct err *e)
{
	struct nlmsghdr h;
	int32_t code;

	while (n >= sizeof h) {
		memcpy(&h, p, sizeof h);
		if (h.nlmsg_len < sizeof h || h.nlmsg_len > n)
			break;
		if (h.nlmsg_type == NLMSG_ERROR &&
		    h.nlmsg_len >= NLMSG_HDRLEN + sizeof code) {
			memcpy(&code, p + NLMSG_HDRLEN, sizeof code);
			if (failed)
				*failed = h.nlmsg_seq;
			if (code) {
				errno = -code;
				return err_sys(e, "netlink request %u",
					       h.nlmsg_seq);
			}
			if (h.nlmsg_seq == last)
				return 1;
		}
		if (NLMSG_ALIGN(h.nlmsg_len) >= n)
			break;
		p += NLMSG_ALIGN(h.nlmsg_len);
		n -= NLMSG_ALIGN(h.nlmsg_len);
	}
	return 0;
}

/* The number of the last request that asked for an answer. */
static uint32_t last_asking(const struct nlmsg *b)
{
	struct nlmsghdr h;
	uint32_t seq = 0;

	for (size_t at = 0; at < b->n; at += h.nlmsg_len) {
		memcpy(&h, b->bytes + at, sizeof h);
		if (h.nlmsg_flags & NLM_F_ACK)
			seq = h.nlmsg_seq;
	}
	return seq;
}

int nlmsg_talk(int protocol, struct nlmsg *b, uint32_t *failed, struct err *e)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	auto_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	uint32_t last = last_asking(b);

	if (failed)
		*failed = 0;
	if (b->full || last == 0)
		return err_kind(e, ERR_BUG, "netlink batch of %zu bytes", b->n);
	if (fd < 0)
		return err_sys(e, "netlink socket %d", protocol);
	if (sendto(fd, b->bytes, b->n, 0, (struct sockaddr *)&kernel,
		   sizeof kernel) < 0)
		return err_sys(e, "send to netlink");
	for (;;) {
		_Alignas(NLMSG_ALIGNTO) char answer[8192];
		ssize_t n = recv(fd, answer, sizeof answer, 0);
		int done;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "receive from netlink");
		done = judge(answer, (size_t)n, last, failed, e);
		if (done)
			return done < 0 ? -1 : 0;
	}
}
