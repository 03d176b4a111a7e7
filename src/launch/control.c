/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parent and pid 1: see control.h. */
#include "control.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union rights {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * CONTROL_FDS_MAX)];
};

static int send_all(int fd, const struct msghdr *msg, struct err *e)
{
	ssize_t n;

	/* ECONNRESET, once, as in control_receive(); the next says EPIPE. */
	do {
		n = sendmsg(fd, msg, MSG_NOSIGNAL);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return err_sys(e, "send to the sandbox's other side");
	return 0;
}

/* sendmsg() does not write to what it sends; the type cannot say so. */
static struct iovec piece(const void *p, size_t n)
{
	struct iovec iov = { .iov_len = n };

	memcpy(&iov.iov_base, &p, sizeof p);
	return iov;
}

int control_send(int fd, const struct control_note *note, struct sv tail,
		 struct err *e)
{
	struct iovec iov[2] = { piece(note, sizeof *note),
				piece(tail.p, tail.n) };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = tail.n ? 2 : 1 };

	if (tail.n > CONTROL_TAIL_MAX)
		return err_kind(e, ERR_LIMIT, "the certificate is too long");
	return send_all(fd, &msg, e);
}

int control_send_fds(int fd, const struct control_note *note, const int *fds,
		     size_t n, struct err *e)
{
	struct iovec iov = piece(note, sizeof *note);
	union rights rights = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &rights,
		.msg_controllen = CMSG_SPACE(n * sizeof *fds),
	};

	if (n == 0 || n > CONTROL_FDS_MAX)
		return err_kind(e, ERR_BUG, "send %zu descriptors", n);
	rights.header.cmsg_level = SOL_SOCKET;
	rights.header.cmsg_type = SCM_RIGHTS;
	rights.header.cmsg_len = CMSG_LEN(n * sizeof *fds);
	memcpy(CMSG_DATA(&rights.header), fds, n * sizeof *fds);
	return send_all(fd, &msg, e);
}

static void take_fds(struct msghdr *msg, struct control_in *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c;
	     c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		ret->fds_n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ret->fds, CMSG_DATA(c), ret->fds_n * sizeof(int));
	}
}

int control_receive(int fd, struct control_in *ret, bool now, struct err *e)
{
	struct iovec iov[2] = {
		{ .iov_base = &ret->note, .iov_len = sizeof ret->note },
		{ .iov_base = ret->tail, .iov_len = sizeof ret->tail },
	};
	union rights rights = { 0 };
	struct msghdr msg = {
		.msg_iov = iov, .msg_iovlen = 2, .msg_control = &rights,
		.msg_controllen = sizeof rights,
	};
	ssize_t n;

	ret->fds_n = 0;
	/* ECONNRESET, once: the other side ended without having read all that
	 * we said.  What it said before that is still there. */
	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC |
				      (now ? MSG_DONTWAIT : 0));
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return err_sys(e, "receive from the sandbox's other side");
	if (n == 0)
		return 0;
	take_fds(&msg, ret);
	if ((size_t)n < sizeof ret->note ||
	    (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return err_kind(e, ERR_BUG, "a torn note");
	ret->tail_n = (size_t)n - sizeof ret->note;
	return 1;
}
