/* SPDX-License-Identifier: Apache-2.0 */
/* Speaking to stockade-seal: see seal.h. */
#include "seal.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "helper.h"
#include "own.h"

int seal_start(struct seal *s, struct err *e)
{
	char name[] = "stockade-seal";
	char *argv[] = { name, NULL }, *envp[] = { NULL };
	auto_buf struct buf path = buf_new(4096);
	auto_fd int ours = -1, theirs = -1;
	struct child c = {
		.argv = argv, .envp = envp,
		.fds = { CHILD_NULL, CHILD_NULL, HELPER_STDERR },
		.fds_n = SEAL_CHANNEL_FD + 1, .own_group = true,
	};
	int pair[2], rc;

	if (helper_find("seal", &path, e) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make a socket");
	ours = pair[0];
	theirs = pair[1];
	c.path = path.p;
	c.fds[SEAL_CHANNEL_FD] = theirs;
	rc = child_start(&c, &s->pid);
	if (rc) {
		errno = rc;
		return err_sys(e, "start %s", path.p);
	}
	s->fd = steal_fd(&ours);
	return 0;
}

static int tell(const struct seal *s, const struct seal_request *r,
		struct err *e)
{
	char verb = (char)r->verb, nul = '\0';
	/* sendmsg() reads only, whatever its struct says. */
	struct iovec v[] = {
		{ &verb, 1 },
		{ (void *)(uintptr_t)r->text.p, r->text.n },
		{ &nul, r->value.n ? 1 : 0 },
		{ (void *)(uintptr_t)r->value.p, r->value.n },
	};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = countof(v) };

	if (r->fd >= 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &r->fd, sizeof r->fd);
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
	}
	/* It may have gone after it has said why, which is read below. */
	if (sendmsg(s->fd, &m, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return err_sys(e, "speak to stockade-seal");
	return 0;
}

int seal_ask(struct seal *s, const struct seal_request *r, struct buf *ret,
	     struct err *e)
{
	auto_buf struct buf answer = buf_new(SEAL_ANSWER_MAX);
	char *at = buf_reserve(&answer, SEAL_ANSWER_MAX);
	struct sv text;
	ssize_t n;
	char kind;

	if (!at)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (tell(s, r, e) < 0)
		return -1;
	do {
		n = recv(s->fd, at, SEAL_ANSWER_MAX, 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return err_kind(e, ERR_PROTO, "stockade-seal has ended");
	text = sv_of(at + 1, (size_t)n - 1);
	kind = at[0];
	if (kind == SEAL_ERROR)
		return err_kind(e, ERR_POLICY, "%.*s", SV_FMT(text));
	if (ret)
		buf_put(ret, text);
	explicit_bzero(at, (size_t)n);
	return kind == SEAL_OK;
}

void seal_stop(struct seal *s)
{
	if (s->fd < 0)
		return;
	/* A process that was cloned meanwhile may still have the socket. */
	(void)shutdown(s->fd, SHUT_RDWR);
	close_fd(&s->fd);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
