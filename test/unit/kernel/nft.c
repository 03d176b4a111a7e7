/* SPDX-License-Identifier: Apache-2.0 */
#include "nft.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "netlink.h"
#include "own.h"
#include "tap.h"

static int listen_fd = -1;

static int make_listener(void)
{
	const int one = 1, zero = 0;
	struct sockaddr_in6 any = { .sin6_family = AF_INET6,
				    .sin6_port = htons(NFT_CAPTURE_PORT) };

	listen_fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK |
			   SOCK_CLOEXEC, 0);
	return setsockopt(listen_fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, 4) ||
	       setsockopt(listen_fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &one, 4) ||
	       setsockopt(listen_fd, IPPROTO_IP, IP_TRANSPARENT, &one, 4) ||
	       bind(listen_fd, (struct sockaddr *)&any, sizeof any) ||
	       listen(listen_fd, 8);
}

/* An IPv4-mapped address is dialled as IPv4. */
static int dial(const char *address, uint16_t port, int type)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port) };
	auto_fd int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);
	char byte = 0;

	if (inet_pton(AF_INET6, address, &to.sin6_addr) != 1)
		return EINVAL;
	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
		return errno;
	if (type == SOCK_DGRAM && (send(fd, "x", 1, 0) < 0 ||
				   recv(fd, &byte, 1, 0) < 0))
		return errno;
	return 0;
}

/* Was a connection caught, with this as what the other side dialled? */
static bool caught(const char *address, uint16_t port)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_in6 at = { 0 };
	socklen_t n = sizeof at;
	auto_fd int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 || getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		return false;
	if (!inet_ntop(AF_INET6, &at.sin6_addr, text, sizeof text))
		return false;
	if (strcmp(text, address) != 0)
		printf("# %s\n", text);
	return strcmp(text, address) == 0 && ntohs(at.sin6_port) == port;
}

static int enter(void)
{
	NEED(child_enter(CLONE_NEWNET) == 0);
	NEED(netlink_capture(&child_err) == 0);
	NEED(nft_capture(NFT_CAPTURE_PORT, &child_err) == 0);
	return CHILD_OK;
}

static int capture(void)
{
	NEED(enter() == CHILD_OK);
	NEED(make_listener() == 0);
	NEED(dial("::ffff:203.0.113.7", 80, SOCK_STREAM) == 0);
	NEED(caught("::ffff:203.0.113.7", 80));
	NEED(dial("2001:db8::7", 65535, SOCK_STREAM) == 0);
	NEED(caught("2001:db8::7", 65535));
	NEED(dial("::ffff:198.18.0.1", 1, SOCK_STREAM) == 0);
	NEED(caught("::ffff:198.18.0.1", 1));
	/* The box's own services are its own. */
	NEED(dial("::ffff:127.0.0.1", 80, SOCK_STREAM) == ECONNREFUSED);
	NEED(dial("::ffff:127.9.9.9", 80, SOCK_STREAM) == ECONNREFUSED);
	NEED(dial("::1", 80, SOCK_STREAM) == ECONNREFUSED);
	NEED(dial("::ffff:10.111.0.2", 80, SOCK_STREAM) == ECONNREFUSED);
	NEED(dial("fd00:111::2", 80, SOCK_STREAM) == ECONNREFUSED);
	NEED(dial("::ffff:10.111.0.3", 80, SOCK_STREAM) == 0);
	NEED(caught("::ffff:10.111.0.3", 80));
	return CHILD_OK;
}

static int local(void)
{
	NEED(enter() == CHILD_OK);
	NEED(nft_capture_local(5432, NFT_CAPTURE_PORT, &child_err) == 0);
	NEED(nft_capture_local(80, NFT_CAPTURE_PORT, &child_err) == 0);
	NEED(make_listener() == 0);
	NEED(dial("::ffff:127.0.0.1", 5432, SOCK_STREAM) == 0);
	NEED(caught("::ffff:127.0.0.1", 5432));
	NEED(dial("::1", 80, SOCK_STREAM) == 0);
	NEED(caught("::1", 80));
	NEED(dial("::ffff:127.0.0.1", 5433, SOCK_STREAM) == ECONNREFUSED);
	NEED(dial("::1", 5433, SOCK_STREAM) == ECONNREFUSED);
	NEED(dial("::ffff:127.0.0.2", 5432, SOCK_STREAM) == ECONNREFUSED);
	NEED(dial("::ffff:127.0.0.1", 5432, SOCK_DGRAM) == ECONNREFUSED);
	NEED(dial("::ffff:203.0.113.7", 5432, SOCK_STREAM) == 0);
	NEED(caught("::ffff:203.0.113.7", 5432));
	return CHILD_OK;
}

static void test_capture_ports_of_the_loopback(void)
{
	CHECK_INT(child_run(local), CHILD_OK);
}

static void test_capture_both_families_any_port(void)
{
	CHECK_INT(child_run(capture), CHILD_OK);
}

static int udp(void)
{
	NEED(enter() == CHILD_OK);
	NEED(dial("::ffff:203.0.113.7", 443, SOCK_DGRAM) == ECONNREFUSED);
	NEED(dial("2001:db8::7", 443, SOCK_DGRAM) == ECONNREFUSED);
	return CHILD_OK;
}

static void test_capture_udp_is_refused_at_once(void)
{
	CHECK_INT(child_run(udp), CHILD_OK);
}

static int closed(void)
{
	NEED(child_enter(CLONE_NEWNET) == 0);
	NEED(netlink_capture(&child_err) == 0);
	NEED(nft_capture(NFT_CAPTURE_PORT, &child_err) == 0);
	NEED(dial("::ffff:203.0.113.7", 80, SOCK_STREAM) == ECONNREFUSED);
	return CHILD_OK;
}

static void test_capture_without_listener_is_refused(void)
{
	CHECK_INT(child_run(closed), CHILD_OK);
}

int main(void)
{
	RUN(test_capture_both_families_any_port);
	RUN(test_capture_ports_of_the_loopback);
	RUN(test_capture_udp_is_refused_at_once);
	RUN(test_capture_without_listener_is_refused);
	return tap_done();
}
