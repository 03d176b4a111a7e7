/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capturing rule: see nft.h.  What `nft list ruleset` then shows:
 *
 *	table inet stockade {
 *		chain prerouting {
 *			type filter hook prerouting priority mangle; policy accept;
 *			meta nfproto ipv4 meta l4proto tcp
 *				ip daddr != 10.111.0.2
 *				ip daddr & 255.0.0.0 != 127.0.0.0
 *				tproxy ip to :PORT
 *			meta nfproto ipv6 meta l4proto tcp
 *				ip6 daddr != fd00:111::2
 *				ip6 daddr != ::1
 *				tproxy ip6 to :PORT
 *		}
 *	}
 *
 * For a port of the loopback that is captured as well, two rules follow:
 *
 *			meta nfproto ipv4 meta l4proto tcp
 *				ip daddr 127.0.0.1 tcp dport LOCAL
 *				tproxy ip to :PORT
 *
 * A rule for each family, because the address is found at another offset.
 */
#include "nft.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netinet/in.h>
#include <string.h>

#include "netlink.h"
#include "nlmsg.h"

#define TABLE "stockade"
#define CHAIN "prerouting"

enum { PRIORITY = -150, REGISTER = NFT_REG_1 };

struct family {
	uint8_t nfproto;
	uint8_t offset;		/* of the destination in the network header */
	uint8_t n;
	uint8_t loopback[16];
	uint8_t mask[16];
	uint8_t localhost[16];
	uint8_t box[16];
};

static const struct family ipv4 = {
	.nfproto = NFPROTO_IPV4, .offset = 16, .n = 4,
	.loopback = { 127 }, .mask = { 255 },
	.localhost = { 127, 0, 0, 1 }, .box = NETLINK_BOX_IPV4,
};
static const struct family ipv6 = {
	.nfproto = NFPROTO_IPV6, .offset = 24, .n = 16,
	.loopback = { [15] = 1 }, .localhost = { [15] = 1 },
	.mask = { [0 ... 15] = 255 }, .box = NETLINK_BOX_IPV6,
};

static void begin(struct nlmsg *b, uint16_t type, uint16_t flags)
{
	struct nfgenmsg head = { .nfgen_family = NFPROTO_INET };

	nlmsg_begin(b, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags,
		    &head, sizeof head);
}

static void bracket(struct nlmsg *b, uint16_t type)
{
	struct nfgenmsg head = { .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	nlmsg_begin(b, type, 0, &head, sizeof head);
}

/* An expression of a rule: a list element, its name, its data left open. */
struct expression {
	size_t element;
	size_t data;
};

static struct expression open_expression(struct nlmsg *b, const char *name)
{
	struct expression x;

	x.element = nlmsg_open(b, NFTA_LIST_ELEM);
	nlmsg_str(b, NFTA_EXPR_NAME, name);
	x.data = nlmsg_open(b, NFTA_EXPR_DATA);
	return x;
}

static void close_expression(struct nlmsg *b, struct expression x)
{
	nlmsg_close(b, x.data);
	nlmsg_close(b, x.element);
}

static void put_data(struct nlmsg *b, uint16_t type, const void *value,
		     size_t n)
{
	size_t nest = nlmsg_open(b, type);

	nlmsg_attr(b, NFTA_DATA_VALUE, value, n);
	nlmsg_close(b, nest);
}

static void put_compare(struct nlmsg *b, uint32_t op, const void *value,
			size_t n)
{
	struct expression x = open_expression(b, "cmp");

	nlmsg_be32(b, NFTA_CMP_SREG, REGISTER);
	nlmsg_be32(b, NFTA_CMP_OP, op);
	put_data(b, NFTA_CMP_DATA, value, n);
	close_expression(b, x);
}

static void put_meta_is(struct nlmsg *b, uint32_t key, uint8_t value)
{
	struct expression x = open_expression(b, "meta");

	nlmsg_be32(b, NFTA_META_KEY, key);
	nlmsg_be32(b, NFTA_META_DREG, REGISTER);
	close_expression(b, x);
	put_compare(b, NFT_CMP_EQ, &value, sizeof value);
}

static void put_payload(struct nlmsg *b, uint32_t base, uint32_t offset,
			uint32_t n)
{
	struct expression x = open_expression(b, "payload");

	nlmsg_be32(b, NFTA_PAYLOAD_DREG, REGISTER);
	nlmsg_be32(b, NFTA_PAYLOAD_BASE, base);
	nlmsg_be32(b, NFTA_PAYLOAD_OFFSET, offset);
	nlmsg_be32(b, NFTA_PAYLOAD_LEN, n);
	close_expression(b, x);
}

static void put_destination(struct nlmsg *b, const struct family *f)
{
	put_payload(b, NFT_PAYLOAD_NETWORK_HEADER, f->offset, f->n);
}

static void put_mask(struct nlmsg *b, const struct family *f)
{
	static const uint8_t zero[16];
	struct expression x = open_expression(b, "bitwise");

	nlmsg_be32(b, NFTA_BITWISE_SREG, REGISTER);
	nlmsg_be32(b, NFTA_BITWISE_DREG, REGISTER);
	nlmsg_be32(b, NFTA_BITWISE_LEN, f->n);
	put_data(b, NFTA_BITWISE_MASK, f->mask, f->n);
	put_data(b, NFTA_BITWISE_XOR, zero, f->n);
	close_expression(b, x);
}

static void put_tproxy(struct nlmsg *b, const struct family *f, uint16_t port)
{
	uint16_t wire = htons(port);
	struct expression x = open_expression(b, "immediate");

	nlmsg_be32(b, NFTA_IMMEDIATE_DREG, REGISTER);
	put_data(b, NFTA_IMMEDIATE_DATA, &wire, sizeof wire);
	close_expression(b, x);
	x = open_expression(b, "tproxy");
	nlmsg_be32(b, NFTA_TPROXY_FAMILY, f->nfproto);
	nlmsg_be32(b, NFTA_TPROXY_REG_PORT, REGISTER);
	close_expression(b, x);
}

/* A rule about TCP of that family; its expressions are left open. */
static size_t open_rule(struct nlmsg *b, const struct family *f,
			uint16_t flags)
{
	size_t expressions;

	begin(b, NFT_MSG_NEWRULE,
	      (uint16_t)(NLM_F_CREATE | NLM_F_APPEND | flags));
	nlmsg_str(b, NFTA_RULE_TABLE, TABLE);
	nlmsg_str(b, NFTA_RULE_CHAIN, CHAIN);
	expressions = nlmsg_open(b, NFTA_RULE_EXPRESSIONS);
	put_meta_is(b, NFT_META_NFPROTO, f->nfproto);
	put_meta_is(b, NFT_META_L4PROTO, IPPROTO_TCP);
	return expressions;
}

static void put_local_rule(struct nlmsg *b, const struct family *f,
			   uint16_t local, uint16_t port, uint16_t flags)
{
	uint16_t wire = htons(local);
	size_t expressions = open_rule(b, f, flags);

	put_destination(b, f);
	put_compare(b, NFT_CMP_EQ, f->localhost, f->n);
	/* The destination port, which is there in any TCP header. */
	put_payload(b, NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof wire);
	put_compare(b, NFT_CMP_EQ, &wire, sizeof wire);
	put_tproxy(b, f, port);
	nlmsg_close(b, expressions);
}

static void put_rule(struct nlmsg *b, const struct family *f, uint16_t port,
		     uint16_t flags)
{
	size_t expressions = open_rule(b, f, flags);

	put_destination(b, f);
	put_compare(b, NFT_CMP_NEQ, f->box, f->n);
	put_mask(b, f);
	put_compare(b, NFT_CMP_NEQ, f->loopback, f->n);
	put_tproxy(b, f, port);
	nlmsg_close(b, expressions);
}

static void put_chain(struct nlmsg *b)
{
	size_t hook;

	begin(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	nlmsg_str(b, NFTA_CHAIN_TABLE, TABLE);
	nlmsg_str(b, NFTA_CHAIN_NAME, CHAIN);
	hook = nlmsg_open(b, NFTA_CHAIN_HOOK);
	nlmsg_be32(b, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
	nlmsg_be32(b, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY);
	nlmsg_close(b, hook);
	nlmsg_str(b, NFTA_CHAIN_TYPE, "filter");
	nlmsg_be32(b, NFTA_CHAIN_POLICY, NF_ACCEPT);
}

/* What the kernel answers when a part of it was not built or not loaded. */
static bool is_absent(int code)
{
	return code == EPROTONOSUPPORT || code == EOPNOTSUPP ||
	       code == EAFNOSUPPORT || code == ENOENT || code == EINVAL;
}

int nft_capture(uint16_t port, struct err *e)
{
	struct nlmsg b = { .n = 0 };

	bracket(&b, NFNL_MSG_BATCH_BEGIN);
	begin(&b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	nlmsg_str(&b, NFTA_TABLE_NAME, TABLE);
	put_chain(&b);
	put_rule(&b, &ipv4, port, 0);
	put_rule(&b, &ipv6, port, NLM_F_ACK);
	bracket(&b, NFNL_MSG_BATCH_END);
	if (nlmsg_talk(NETLINK_NETFILTER, &b, NULL, e) == 0)
		return 0;
	if (e->kind == ERR_SYS && is_absent(e->code)) {
		e->kind = ERR_UNSUPP;
		return err_ctx(e, "capturing needs nf_tables with tproxy "
			       "(Linux 4.19, CONFIG_NFT_TPROXY)");
	}
	return err_ctx(e, "set the capturing rule");
}

int nft_capture_local(uint16_t local, uint16_t port, struct err *e)
{
	struct nlmsg b = { .n = 0 };

	bracket(&b, NFNL_MSG_BATCH_BEGIN);
	put_local_rule(&b, &ipv4, local, port, 0);
	put_local_rule(&b, &ipv6, local, port, NLM_F_ACK);
	bracket(&b, NFNL_MSG_BATCH_END);
	if (nlmsg_talk(NETLINK_NETFILTER, &b, NULL, e) < 0)
		return err_ctx(e, "capture port %u of the loopback", local);
	return 0;
}
