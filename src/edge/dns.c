/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name service: every host name has an address here, and no question ever
 * leaves the machine.  The real lookup is resolve's, after the decision.
 *
 * The UDP socket is bound to port 53 of every address of the sandbox, so a
 * reply must leave from the address that was asked: IPV6_PKTINFO tells it on
 * the way in and sets it on the way out, for IPv4 in its mapped form.
 */
#include "dns.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "dns_message.h"
#include "target.h"

enum { DNS_BATCH = 32, DNS_TTL = 60, DNS_OUT_HIGH = 16384 };

static void answer_address(struct edge *g, struct buf *b,
			   const struct dns_query *q)
{
	uint8_t v4[4] = { 127, 0, 0, 1 }, v6[16] = { [15] = 1 };

	if (!name_is_localhost(q->name)) {
		uint32_t number = names_number(g->names, q->name);

		if (!number) {
			dns_answer_code(b, q, DNS_SERVFAIL);
			return;
		}
		names_v4(number, v4);
		names_v6(number, v6);
	}
	if (q->type == DNS_A)
		dns_answer_address(b, q, v4, sizeof v4, DNS_TTL);
	else if (q->type == DNS_AAAA)
		dns_answer_address(b, q, v6, sizeof v6, DNS_TTL);
	else
		dns_answer_code(b, q, DNS_NOERROR);
}

static void answer_reverse(struct edge *g, struct buf *b,
			   const struct dns_query *q)
{
	static const uint8_t loopback[16] = { [15] = 1 };
	uint8_t a[16] = { 0 };
	size_t n = dns_reverse(q->name, a);
	struct sv name = { 0 };

	if ((n == 4 && a[0] == 127) || (n == 16 && memcmp(a, loopback, 16) == 0))
		name = SV("localhost");
	else if (n == 4)
		name = names_get(g->names, names_of_v4(a));
	else if (n == 16)
		name = names_get(g->names, names_of_v6(a));
	if (!name.n)
		dns_answer_code(b, q, DNS_NXDOMAIN);
	else if (q->type == DNS_PTR)
		dns_answer_name(b, q, name, DNS_TTL);
	else
		dns_answer_code(b, q, DNS_NOERROR);
}

/* Appends the answer to question; nothing when there is none to give. */
static void answer(struct edge *g, struct sv question, struct buf *b)
{
	struct dns_query q;
	enum dns_rcode code = dns_parse(question, &q);

	if (code == DNS_DROP)
		return;
	if (code != DNS_NOERROR)
		dns_answer_code(b, &q, code);
	else if (q.class != 1 || q.name.n == 0)
		dns_answer_code(b, &q, DNS_REFUSED);
	else if (sv_ends(q.name, SV(".arpa")))
		answer_reverse(g, b, &q);
	else if (host_is_literal(q.name))
		dns_answer_code(b, &q, DNS_REFUSED);
	else
		answer_address(g, b, &q);
}

static void reply(int fd, const struct msghdr *asked, struct sv bytes)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes.p,
			     .iov_len = bytes.n };
	struct msghdr h = { .msg_name = asked->msg_name,
			    .msg_namelen = asked->msg_namelen,
			    .msg_iov = &iov, .msg_iovlen = 1 };

	for (struct cmsghdr *cm = CMSG_FIRSTHDR(asked); cm;
	     cm = CMSG_NXTHDR((struct msghdr *)(uintptr_t)asked, cm)) {
		struct in6_pktinfo info;
		struct cmsghdr *out;

		if (cm->cmsg_level != IPPROTO_IPV6 ||
		    cm->cmsg_type != IPV6_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(cm), sizeof info);
		info.ipi6_ifindex = 0;
		h.msg_control = control.bytes;
		h.msg_controllen = sizeof control.bytes;
		out = CMSG_FIRSTHDR(&h);
		out->cmsg_level = IPPROTO_IPV6;
		out->cmsg_type = IPV6_PKTINFO;
		out->cmsg_len = CMSG_LEN(sizeof info);
		memcpy(CMSG_DATA(out), &info, sizeof info);
	}
	/* A lost reply is asked for again. */
	(void)sendmsg(fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool serve_one(struct edge *g, int fd)
{
	static struct buf out = { .max = DNS_MESSAGE_MAX };
	static char question[DNS_UDP_MAX];
	struct sockaddr_in6 from = { 0 };
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct iovec iov = { .iov_base = question, .iov_len = sizeof question };
	struct msghdr h = { .msg_name = &from, .msg_namelen = sizeof from,
			    .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof control.bytes };
	ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR;
	if (h.msg_flags & MSG_TRUNC)
		return true;
	buf_reset(&out);
	answer(g, sv_of(question, (size_t)n), &out);
	if (out.n && !out.full)
		reply(fd, &h, buf_sv(&out));
	return true;
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct edge *g = container_of(w, struct edge, dns);

	(void)events;
	for (int i = 0; i < DNS_BATCH; i++)
		if (!serve_one(g, w->fd))
			break;
}

int dns_start(struct edge *g, int fd, struct err *e)
{
	g->dns.ready = on_ready;
	return loop_watch(g->loop, &g->dns, fd, EPOLLIN, e);
}

/* One question behind its 16-bit length, and its answer in the same form. */
bool dns_step(struct conn *c)
{
	auto_buf struct buf out = buf_new(DNS_MESSAGE_MAX);
	size_t n;

	if (c->out.n > DNS_OUT_HIGH)
		return false;
	if (c->in.n < 2 ||
	    c->in.n - 2 < (n = (size_t)(uint8_t)c->in.p[0] << 8 |
			       (uint8_t)c->in.p[1])) {
		if (c->eof)
			conn_finish(c);
		return c->eof || conn_fill(c, CONN_READ * 2 + 2);
	}
	answer(c->edge, sv_of(c->in.p + 2, n), &out);
	buf_consume(&c->in, n + 2);
	if (out.n && !out.full) {
		buf_putc(&c->out, (char)(out.n >> 8));
		buf_putc(&c->out, (char)out.n);
		buf_put(&c->out, buf_sv(&out));
	}
	conn_note_progress(c);
	return true;
}
