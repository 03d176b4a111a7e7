/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of the sandbox: see netlink.h.
 *
 * With a route that calls every address local, a connection to anywhere goes
 * out through `lo` and comes in again as if it were for this host.  The
 * preferred source matters: without it a client would have the address that it
 * connects to as its own.  And an address other than 127.0.0.1 is what makes
 * resolvers ask for that family at all.
 */
#include "netlink.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>

#include "nlmsg.h"

/* The loopback device is the first of every network namespace. */
enum { LO = 1 };

/* Requests of a capture, in their order. */
enum { LINK_UP = 1, ADD_IPV4, ADD_IPV6, ROUTE_IPV4, ROUTE_IPV6 };

static const uint8_t box_ipv4[4] = NETLINK_BOX_IPV4;
static const uint8_t box_ipv6[16] = NETLINK_BOX_IPV6;

static void put_up(struct nlmsg *b)
{
	struct ifinfomsg link = {
		.ifi_family = AF_UNSPEC, .ifi_index = LO,
		.ifi_flags = IFF_UP, .ifi_change = IFF_UP,
	};

	nlmsg_begin(b, RTM_NEWLINK, 0, &link, sizeof link);
}

static void put_address(struct nlmsg *b, uint8_t family, const uint8_t *address,
			uint8_t n)
{
	struct ifaddrmsg head = {
		.ifa_family = family, .ifa_prefixlen = (uint8_t)(n * 8),
		.ifa_flags = IFA_F_PERMANENT | IFA_F_NODAD,
		.ifa_scope = RT_SCOPE_UNIVERSE, .ifa_index = LO,
	};

	nlmsg_begin(b, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &head,
		    sizeof head);
	nlmsg_attr(b, IFA_LOCAL, address, n);
	nlmsg_attr(b, IFA_ADDRESS, address, n);
}

/* local default dev lo table local src ADDRESS */
static void put_route(struct nlmsg *b, uint8_t family, const uint8_t *source,
		      uint8_t n, uint16_t flags)
{
	struct rtmsg head = {
		.rtm_family = family, .rtm_table = RT_TABLE_LOCAL,
		.rtm_protocol = RTPROT_BOOT, .rtm_type = RTN_LOCAL,
		.rtm_scope = RT_SCOPE_HOST,
	};
	uint32_t device = LO;

	nlmsg_begin(b, RTM_NEWROUTE, (uint16_t)(NLM_F_CREATE | flags), &head,
		    sizeof head);
	nlmsg_attr(b, RTA_OIF, &device, sizeof device);
	nlmsg_attr(b, RTA_PREFSRC, source, n);
}

static const char *step(uint32_t failed)
{
	static const char *const names[] = {
		"network set-up",
		[LINK_UP] = "bring lo up",
		[ADD_IPV4] = "add the IPv4 address",
		[ADD_IPV6] = "add the IPv6 address",
		[ROUTE_IPV4] = "route all of IPv4 to lo",
		[ROUTE_IPV6] = "route all of IPv6 to lo",
	};

	return failed < sizeof names / sizeof names[0] ? names[failed] :
							 names[0];
}

int netlink_capture(struct err *e)
{
	struct nlmsg b = { .n = 0 };
	uint32_t failed;

	put_up(&b);
	put_address(&b, AF_INET, box_ipv4, sizeof box_ipv4);
	put_address(&b, AF_INET6, box_ipv6, sizeof box_ipv6);
	put_route(&b, AF_INET, box_ipv4, sizeof box_ipv4, 0);
	put_route(&b, AF_INET6, box_ipv6, sizeof box_ipv6, NLM_F_ACK);
	if (nlmsg_talk(NETLINK_ROUTE, &b, &failed, e) == 0)
		return 0;
	if (failed == ADD_IPV6 && (e->code == EOPNOTSUPP || e->code == EACCES))
		return err_set_(e, ERR_UNSUPP, e->code, __FILE_NAME__, __LINE__,
				"IPv6 is switched off in this kernel: the "
				"capturing listener needs it");
	return err_ctx(e, "%s", step(failed));
}
