/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts at sockets.  A host is a literal address: no names are looked up. */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { FASTOPEN = 0x20000000, MPTCP = 262 };

static socklen_t parse(struct sockaddr_storage *to, char **args)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	in.sin_port = in6.sin6_port =
		htons((uint16_t)probe_number(args[1]));
	memset(to, 0, sizeof *to);
	if (inet_pton(AF_INET, args[0], &in.sin_addr) == 1) {
		memcpy(to, &in, sizeof in);
		return sizeof in;
	}
	if (inet_pton(AF_INET6, args[0], &in6.sin6_addr) == 1) {
		memcpy(to, &in6, sizeof in6);
		return sizeof in6;
	}
	return 0;
}

/* A socket that gives up after a while. */
static int sock(int family, int type, int protocol)
{
	const struct timeval wait = { .tv_sec = 3 };
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait,
				 sizeof wait);
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait,
				 sizeof wait);
	return fd;
}

static int dial(char **args, int type, int protocol)
{
	struct sockaddr_storage to;
	socklen_t n = parse(&to, args);
	int fd;

	if (n == 0)
		return -EINVAL;
	fd = sock(to.ss_family, type, protocol);
	if (fd < 0)
		return -errno;
	return probe_result(connect(fd, (struct sockaddr *)&to, n));
}

static int connect_tcp(char **args)
{
	return dial(args, SOCK_STREAM, 0);
}

static int connect_mptcp(char **args)
{
	return dial(args, SOCK_STREAM, MPTCP);
}

static int connect_fast_open(char **args)
{
	struct sockaddr_storage to;
	socklen_t n = parse(&to, args);
	int fd = n ? sock(to.ss_family, SOCK_STREAM, 0) : -1;

	if (fd < 0)
		return n ? -errno : -EINVAL;
	return probe_result(sendto(fd, "x", 1, FASTOPEN | MSG_NOSIGNAL,
				   (struct sockaddr *)&to, n));
}

/* A datagram, and an answer to it. */
static int udp(char **args)
{
	struct sockaddr_storage to;
	socklen_t n = parse(&to, args);
	int fd = n ? sock(to.ss_family, SOCK_DGRAM, 0) : -1;
	char byte;

	if (fd < 0)
		return n ? -errno : -EINVAL;
	if (connect(fd, (struct sockaddr *)&to, n) < 0 ||
	    send(fd, "probe", 5, 0) < 0)
		return -errno;
	return probe_result(recv(fd, &byte, 1, 0));
}

static int dial_unix(const char *name, int type, bool abstract)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	int fd = sock(AF_UNIX, type, 0);

	if (fd < 0)
		return -errno;
	if (n + 2 > sizeof to.sun_path)
		return -EINVAL;
	memcpy(to.sun_path + abstract, name, n);
	n += offsetof(struct sockaddr_un, sun_path) + 1;
	return probe_result(connect(fd, (struct sockaddr *)&to,
				    (socklen_t)n));
}

static int connect_unix(char **args)
{
	return dial_unix(args[0], SOCK_STREAM, false);
}

static int connect_abstract(char **args)
{
	return dial_unix(args[0], SOCK_STREAM, true);
}

static int make_socket(char **args)
{
	return probe_result(socket((int)probe_number(args[0]),
				   (int)probe_number(args[1]),
				   (int)probe_number(args[2])));
}

static int listen_tcp(char **args)
{
	struct sockaddr_storage at;
	socklen_t n = parse(&at, args);
	int fd = n ? sock(at.ss_family, SOCK_STREAM, 0) : -1;

	if (fd < 0)
		return n ? -errno : -EINVAL;
	if (bind(fd, (struct sockaddr *)&at, n) < 0)
		return -errno;
	return probe_result(listen(fd, 1));
}

const struct probe_verb probe_network[] = {
	{ "connect", 2, connect_tcp },
	{ "connect-mptcp", 2, connect_mptcp },
	{ "connect-fastopen", 2, connect_fast_open },
	{ "udp", 2, udp },
	{ "connect-unix", 1, connect_unix },
	{ "connect-abstract", 1, connect_abstract },
	{ "socket", 3, make_socket },
	{ "listen", 2, listen_tcp },
	{ 0 },
};
