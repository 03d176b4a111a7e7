/* SPDX-License-Identifier: Apache-2.0 */
#include "netlink.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "own.h"
#include "tap.h"

/* 0 when a datagram socket connects, else errno; *source is what it sends. */
static int reach4(const char *address, uint32_t *source)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(9) };
	socklen_t n = sizeof to;
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return EINVAL;
	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ||
	    getsockname(fd, (struct sockaddr *)&to, &n) < 0)
		return errno;
	*source = ntohl(to.sin_addr.s_addr);
	return 0;
}

static int reach6(const char *address, struct in6_addr *source)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
				   .sin6_port = htons(9) };
	socklen_t n = sizeof to;
	auto_fd int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET6, address, &to.sin6_addr) != 1)
		return EINVAL;
	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ||
	    getsockname(fd, (struct sockaddr *)&to, &n) < 0)
		return errno;
	*source = to.sin6_addr;
	return 0;
}

static int capture(void)
{
	static const struct in6_addr box = { { NETLINK_BOX_IPV6 } };
	struct in6_addr source6;
	uint32_t source;

	NEED(child_enter(CLONE_NEWNET) == 0);
	NEED(reach4("203.0.113.7", &source) == ENETUNREACH);
	NEED(netlink_capture(&child_err) == 0);
	NEED(reach4("203.0.113.7", &source) == 0 && source == 0x0a6f0002);
	NEED(reach4("127.0.0.1", &source) == 0 && source == 0x7f000001);
	NEED(reach6("2001:db8::7", &source6) == 0);
	NEED(memcmp(&source6, &box, sizeof box) == 0);
	NEED(netlink_capture(&child_err) < 0);
	NEED(child_err.code == EEXIST && strstr(child_err.msg, "IPv4"));
	return CHILD_OK;
}

static void test_capture_makes_everything_local(void)
{
	CHECK_INT(child_run(capture), CHILD_OK);
}

static int without_ipv6(void)
{
	auto_fd int fd = -1;

	NEED(child_enter(CLONE_NEWNET) == 0);
	fd = open("/proc/sys/net/ipv6/conf/all/disable_ipv6",
		  O_WRONLY | O_CLOEXEC);
	NEED(fd >= 0 && write(fd, "1", 1) == 1);
	NEED(netlink_capture(&child_err) < 0);
	NEED(child_err.kind == ERR_UNSUPP && strstr(child_err.msg, "IPv6"));
	return CHILD_OK;
}

static void test_capture_without_ipv6_says_so(void)
{
	CHECK_INT(child_run(without_ipv6), CHILD_OK);
}

int main(void)
{
	RUN(test_capture_without_ipv6_says_so);
	RUN(test_capture_makes_everything_local);
	return tap_done();
}
