/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to named sockets: see local.h. */
#include "local.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "own.h"
#include "path.h"

static const char *reason(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR: return "no such socket";
	case ELOOP: return "a link is in the way";
	case ECONNREFUSED: return "connection refused";
	case EACCES:
	case EPERM: return "not permitted";
	case EAGAIN: return "too many are waiting there";
	case EPROTOTYPE: return "a socket without streams";
	default: return "cannot connect";
	}
}

/* By the descriptor, so that what was looked at is what is connected to, and
 * a path may be longer than an address. */
static int connect_opened(int opened, const char **why)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
				SOCK_NONBLOCK, 0);

	(void)snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d",
		       opened);
	/* Is done at once, or not at all: nobody waits for it. */
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
		*why = reason(errno);
		return -1;
	}
	return steal_fd(&fd);
}

int local_connect(struct sv path, const char **why)
{
	struct path_identity is;
	struct err e = { 0 };
	auto_fd int opened = path_open_exact(AT_FDCWD, path, O_PATH, &e);

	if (opened < 0 || path_identify(opened, &is, &e) < 0) {
		*why = reason(e.code);
		return -1;
	}
	if (is.type != S_IFSOCK) {
		*why = "no such socket";
		return -1;
	}
	return connect_opened(opened, why);
}
