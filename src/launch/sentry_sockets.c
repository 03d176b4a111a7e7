/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose is a socket that has appeared?  Its file says nothing: the agent has the
 * ids of the user.  But a socket belongs to the network in which it was made, and
 * the kernel lists those of the sandbox's with the files that they are bound to.
 * What is not among them is the host's, or nobody's any more: a file whose socket
 * was closed never leads to one again.
 *
 * The agent says how long that list is, and how often a socket gets a name.  So
 * it is asked for once for all that were met meanwhile, and after them: a number
 * that was the agent's before may be the host's by now.
 */
#include "sentry_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "own.h"

enum { ANSWER_BYTES = 32 << 10, SYNC_BYTES = 1024 };

struct question {
	struct nlmsghdr head;
	struct unix_diag_req body;
};

int sentry_sockets_open(struct sentry_sockets *s, struct err *e)
{
	s->list_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
			    NETLINK_SOCK_DIAG);
	s->probe_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC |
			     SOCK_NONBLOCK, 0);
	if (s->list_fd < 0 || s->probe_fd < 0)
		return err_sys(e, "make sockets that ask about sockets");
	return 0;
}

/* As the kernel writes it down: its own form of a device, 32 bits of the inode. */
static bool is_same(const struct path_identity *file,
		    const struct unix_diag_vfs *vfs)
{
	return vfs->udiag_vfs_ino == (uint32_t)file->ino &&
	       vfs->udiag_vfs_dev == (uint32_t)(major(file->dev) << 20 |
						minor(file->dev));
}

static void found(struct sentry_sockets *s, const struct unix_diag_vfs *vfs)
{
	if (!s->low[vfs->udiag_vfs_ino % SENTRY_LOW])
		return;
	for (size_t i = 0; i < s->n; i++)
		if (is_same(&s->doubts[i].file, vfs))
			s->doubts[i].inside = true;
}

static void look_for(struct sentry_sockets *s, struct nlmsghdr *head)
{
	struct unix_diag_msg *msg = NLMSG_DATA(head);
	struct rtattr *attr = (void *)(msg + 1);
	size_t left = head->nlmsg_len - NLMSG_LENGTH(sizeof *msg);

	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		struct unix_diag_vfs vfs;

		if (attr->rta_type != UNIX_DIAG_VFS ||
		    RTA_PAYLOAD(attr) < sizeof vfs)
			continue;
		memcpy(&vfs, RTA_DATA(attr), sizeof vfs);
		found(s, &vfs);
	}
}

/* One part of the answer: 1 when there are more. */
static int take(struct sentry_sockets *s)
{
	static _Alignas(struct nlmsghdr) char bytes[ANSWER_BYTES];
	const ssize_t got = recv(s->list_fd, bytes, sizeof bytes, 0);
	struct nlmsghdr *head = (void *)bytes;
	size_t n = got < 0 ? 0 : (size_t)got;

	if (got <= 0)
		return got < 0 && errno == EINTR;
	for (; NLMSG_OK(head, n); head = NLMSG_NEXT(head, n)) {
		if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
			return 0;	/* the end, or an error */
		if (head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
			look_for(s, head);
	}
	return 1;
}

void sentry_sockets_ask(struct sentry_sockets *s)
{
	static const struct question q = {
		.head = {
			.nlmsg_len = sizeof q,
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.body = {
			.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX,
			.udiag_show = UDIAG_SHOW_VFS,
		},
	};

	memset(s->low, 0, sizeof s->low);
	for (size_t i = 0; i < s->n; i++)
		s->low[s->doubts[i].file.ino % SENTRY_LOW] = true;
	/* Not to be asked is to know of none. */
	if (send(s->list_fd, &q, sizeof q, 0) == sizeof q)
		while (take(s) > 0)
			;
}

/* A datagram socket is told of no connection, and another kind is said to be one
 * (EPROTOTYPE).  Where the name is too long, or it may not be asked, it is. */
static bool is_bound(int probe_fd, int dir_fd, const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (strlen(name) >= sizeof at.sun_path || fchdir(dir_fd) < 0)
		return true;
	memcpy(at.sun_path, name, strlen(name));
	return connect(probe_fd, (const struct sockaddr *)&at, sizeof at) == 0 ||
	       (errno != ECONNREFUSED && errno != ENOENT);
}

/* bind() has the directory locked from when there is a file until the socket is
 * known to be bound to it; reading it waits for that. */
static void await_bind(int dir_fd)
{
	auto_fd int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char room[SYNC_BYTES];

	if (fd >= 0)
		(void)syscall(SYS_getdents64, fd, room, sizeof room);
}

bool sentry_is_bound(const struct sentry_sockets *s, int dir_fd,
		     const char *name)
{
	await_bind(dir_fd);
	return is_bound(s->probe_fd, dir_fd, name);
}

bool sentry_sockets_doubt(struct sentry_sockets *s,
			  const struct sentry_place *place, uint32_t at)
{
	char *path = strndup(place->path.p, place->path.n);

	if (!path)
		return false;
	s->doubts[s->n++] = (struct sentry_doubt){
		.path = path, .file = place->identity, .held = place->held,
		.at = at,
	};
	return true;
}
