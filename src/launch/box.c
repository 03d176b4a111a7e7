/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box around the root: namespaces, name, and the network with the two
 * sockets that catch everything.  They are made here and served outside; pid 1
 * keeps neither.
 */
#include "init.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "netlink.h"
#include "nft.h"
#include "own.h"

/* Above what the kernel gives away by itself (net.ipv4.ip_local_port_range): no
 * server inside and no published port meets it by chance. */
enum { BACKLOG = 4096, DNS_PORT = 53, CAPTURE_PORT = 61111 };

/* Not all at once in clone3(): the parent waits for that, and to copy the
 * host's mounts takes as long as they are many. */
int box_separate(struct init *in, const struct step *s, struct err *e)
{
	(void)in;
	(void)s;
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
		    CLONE_NEWCGROUP) < 0)
		return err_sys(e, "make namespaces");
	return 0;
}

int box_hostname(struct init *in, const struct step *s, struct err *e)
{
	(void)in;
	if (sethostname(s->target.p, s->target.n) < 0)
		return err_sys(e, "set the host name");
	return 0;
}

struct option {
	int level, name, value;
	const char *text;
};

static int set_options(int fd, const struct option *options, size_t n,
		       struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (setsockopt(fd, options[i].level, options[i].name,
			       &options[i].value, sizeof(int)) < 0)
			return err_sys(e, "set %s", options[i].text);
	return 0;
}

static int open_socket(int type, uint16_t port, struct err *e)
{
	static const struct option tcp[] = {
		{ IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY" },
		{ IPPROTO_IPV6, IPV6_TRANSPARENT, 1, "IPV6_TRANSPARENT" },
		{ IPPROTO_IP, IP_TRANSPARENT, 1, "IP_TRANSPARENT" },
	};
	/* Whom was it sent to?  The answer must come from there. */
	static const struct option dns[] = {
		{ IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY" },
		{ IPPROTO_IPV6, IPV6_RECVPKTINFO, 1, "IPV6_RECVPKTINFO" },
		{ IPPROTO_IP, IP_PKTINFO, 1, "IP_PKTINFO" },
		{ IPPROTO_IPV6, IPV6_TRANSPARENT, 1, "IPV6_TRANSPARENT" },
		{ IPPROTO_IP, IP_TRANSPARENT, 1, "IP_TRANSPARENT" },
	};
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6, .sin6_port = htons(port),
		.sin6_addr = IN6ADDR_ANY_INIT,
	};
	auto_fd int fd = socket(AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC,
				0);

	if (fd < 0)
		return err_sys(e, "make a socket");
	if ((type == SOCK_STREAM ? set_options(fd, tcp, countof(tcp), e) :
				   set_options(fd, dns, countof(dns), e)) < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&any, sizeof any) < 0)
		return err_sys(e, "bind port %u", port);
	return steal_fd(&fd);
}

static int send_sockets(const struct init *in, int tcp_fd, int dns_fd,
			struct err *e)
{
	struct control_note note = { .kind = CONTROL_NETWORK };

	return control_send_fds(in->control_fd, &note,
				(int[]){ tcp_fd, dns_fd }, 2, e);
}

static int capture(const struct plan *p, struct err *e)
{
	if (nft_capture(CAPTURE_PORT, e) < 0)
		return -1;
	for (size_t i = 0; i < p->local_ports_n; i++)
		if (nft_capture_local(p->local_ports[i], CAPTURE_PORT, e) < 0)
			return -1;
	return 0;
}

/* pid 1 is in the new namespace from here on, its thread stays outside. */
int box_network(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int tcp_fd = -1, dns_fd = -1;

	(void)s;
	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(e, "make a network namespace");
	if (netlink_capture(e) < 0)
		return -1;
	tcp_fd = open_socket(SOCK_STREAM, CAPTURE_PORT, e);
	if (tcp_fd < 0)
		return err_ctx(e, "the listener");
	if (listen(tcp_fd, BACKLOG) < 0)
		return err_sys(e, "listen");
	dns_fd = open_socket(SOCK_DGRAM, DNS_PORT, e);
	if (dns_fd < 0)
		return err_ctx(e, "the name server");
	if (capture(in->plan, e) < 0)
		return -1;
	return send_sockets(in, tcp_fd, dns_fd, e);
}

/*
 * For a published port.  It belongs to this network for as long as it lives,
 * and whoever has it can connect it to nothing but what listens here, or, as
 * any connection from inside, to edge.
 */
int box_give_socket(const struct init *in, int family, struct err *e)
{
	struct control_note note = { .kind = CONTROL_SOCKET };
	auto_fd int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK |
				SOCK_CLOEXEC, 0);

	if (fd < 0)
		return control_send(in->control_fd, &note, SV(""), e);
	return control_send_fds(in->control_fd, &note, &fd, 1, e);
}

/*
 * For who looks out for what appears (sentry.h), and is not there yet when the
 * command starts.  Only pid 1 can open these: it is not dumpable, so that its
 * parent may not.  Whoever has them needs the rights of who made them.
 */
int box_give_spaces(const struct init *in, struct err *e)
{
	static const char *const names[] = {
		"/proc/self/ns/user", "/proc/self/ns/mnt", "/proc/self/ns/net",
	};
	struct control_note note = { .kind = CONTROL_SPACES };
	int fds[countof(names)];
	size_t n = 0;
	int rc = 0;

	while (rc == 0 && n < countof(names)) {
		fds[n] = open(names[n], O_RDONLY | O_CLOEXEC);
		if (fds[n] < 0)
			rc = err_sys(e, "open %s", names[n]);
		else
			n++;
	}
	if (rc == 0)
		rc = control_send_fds(in->control_fd, &note, fds, n, e);
	while (n)
		(void)close(fds[--n]);
	return rc;
}
