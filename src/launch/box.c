/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of the sandbox: its name, lo, and the two sockets that catch
 * everything.  The sockets are made here and served outside; pid 1 keeps
 * neither.
 *
 * Making a network namespace takes the kernel about as long as everything else
 * of the launch, so a thread does it, beside pid 1 that builds the root.  The
 * thread enters the new namespace alone; pid 1 follows when all of it stands,
 * by the listener: what it enters is where that socket is.
 *
 * The same thread detaches the old root, for which the kernel waits until no
 * processor can be looking at it, while pid 1 goes on in the new one.  Both are
 * done when the thread is joined, before pid 1 has given anything up.
 */
#include "init.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "mount.h"
#include "netlink.h"
#include "nft.h"
#include "own.h"
#include "process.h"

enum { BACKLOG = 4096, DNS_PORT = 53, STACK = 256 << 10 };

/* Between box_network() and box_capture() the thread's alone. */
static struct {
	_Alignas(64) char stack[STACK];
	pthread_t thread;
	sem_t entered;		/* pid 1's word: the new root is the root */
	int tcp_fd, dns_fd;
	struct err err;
	bool made;		/* the thread's last word */
} network;

/* Not all at once in clone3(): the parent has more to do than to wait. */
int box_separate(struct init *in, const struct step *s, struct err *e)
{
	(void)in;
	(void)s;
	if (unshare(CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) < 0)
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

static int make_network(struct err *e)
{
	struct sockaddr_in6 at = { 0 };
	socklen_t n = sizeof at;

	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(e, "make a network namespace");
	if (netlink_capture(e) < 0)
		return -1;
	network.tcp_fd = open_socket(SOCK_STREAM, 0, e);
	if (network.tcp_fd < 0)
		return err_ctx(e, "the listener");
	if (listen(network.tcp_fd, BACKLOG) < 0)
		return err_sys(e, "listen");
	if (getsockname(network.tcp_fd, (struct sockaddr *)&at, &n) < 0)
		return err_sys(e, "find the listener's port");
	network.dns_fd = open_socket(SOCK_DGRAM, DNS_PORT, e);
	if (network.dns_fd < 0)
		return err_ctx(e, "the name server");
	return nft_capture(ntohs(at.sin6_port), e);
}

static int work(int control_fd, struct err *e)
{
	struct control_note note = { .kind = CONTROL_NETWORK };

	/* A working directory of its own, to detach the old root by. */
	if (unshare(CLONE_FS) < 0)
		return err_sys(e, "separate the working directory");
	if (make_network(e) < 0)
		return -1;
	if (control_send_fds(control_fd, &note, (int[]){ network.tcp_fd,
			     network.dns_fd }, 2, e) < 0)
		return -1;
	while (sem_wait(&network.entered) < 0)
		;
	return mount_leave_old_root(e);
}

static void *run(void *arg)
{
	const struct init *in = arg;

	network.made = work(in->control_fd, &network.err) == 0;
	return NULL;
}

int box_network(struct init *in, const struct step *s, struct err *e)
{
	pthread_attr_t attr;

	(void)s;
	if (sem_init(&network.entered, 0, 0) < 0)
		return err_sys(e, "make a semaphore");
	errno = pthread_attr_init(&attr);
	if (!errno)
		errno = pthread_attr_setstack(&attr, network.stack,
					      sizeof network.stack);
	if (!errno)
		errno = pthread_create(&network.thread, &attr, run, in);
	if (errno)
		return err_sys(e, "make a thread");
	process_step_aside();
	return 0;
}

int box_entered(struct err *e)
{
	return sem_post(&network.entered) < 0 ? err_sys(e, "sem_post") : 0;
}

int box_capture(struct init *in, const struct step *s, struct err *e)
{
	auto_fd int ns_fd = -1;

	(void)in;
	(void)s;
	errno = pthread_join(network.thread, NULL);
	if (errno)
		return err_sys(e, "wait for the network");
	if (!network.made) {
		*e = network.err;
		return -1;
	}
	ns_fd = ioctl(network.tcp_fd, SIOCGSKNS);
	if (ns_fd < 0)
		return err_sys(e, "find the listener's network");
	if (setns(ns_fd, CLONE_NEWNET) < 0)
		return err_sys(e, "enter the new network");
	close_fd(&network.tcp_fd);
	close_fd(&network.dns_fd);
	return 0;
}
