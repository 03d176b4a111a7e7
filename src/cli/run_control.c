/* SPDX-License-Identifier: Apache-2.0 */
/* How the user speaks to a run that is under way: see run_control.h. */
#include "run_control.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complaint.h"
#include "own.h"
#include "run_dir.h"

enum { DELAY_MS = 50, VISIT_MS = 1000, BACKLOG = 8 };

int run_control_address(int dir_fd, const char *run, struct sockaddr_un *ret,
			struct err *e)
{
	int n;

	/* The folder's own path may be longer than an address. */
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path, sizeof ret->sun_path,
		     "/proc/self/fd/%d/%s", dir_fd, run);
	if (n < 0 || (size_t)n >= sizeof ret->sun_path)
		return err_kind(e, ERR_BUG, "the address of a run");
	return 0;
}

/* Nobody is here, and the next one may come. */
static void admit(struct run_control *c)
{
	loop_forget(c->loop, &c->visitor);
	close_fd(&c->visitor_fd);
	loop_disarm(c->loop, &c->timer);
	loop_events(c->loop, &c->listener, EPOLLIN);
}

static void visit_over(struct timer *t)
{
	admit(container_of(t, struct run_control, timer));
}

/* The agent can have our user id; its user namespace is another one. */
static bool is_outside(pid_t pid)
{
	struct stat theirs, ours;
	char path[48];

	(void)snprintf(path, sizeof path, "/proc/%ld/ns/user", (long)pid);
	return stat(path, &theirs) == 0 &&
	       stat("/proc/self/ns/user", &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 ||
	    n != sizeof peer)
		return false;
	/* Root is never the agent. */
	return peer.uid == 0 ||
	       (peer.uid == geteuid() && is_outside(peer.pid));
}

static int carry_out(struct warden *w, struct sv line, struct err *e)
{
	struct sv verb = sv_cut(&line, ' ');

	if (!sv_ends(line, SV("\n")))
		return err_kind(e, ERR_PROTO, "no line was asked");
	line.n--;
	if (sv_eq(verb, SV("revoke")))
		return warden_revoke(w, line, e);
	if (!sv_eq(verb, SV("has")))
		return err_kind(e, ERR_PROTO, "nothing that is known was asked");
	return credential_set_find(&w->credentials, line) ? 0 :
	       err_kind(e, ERR_POLICY, "this run has no secret of that name");
}

/* NULL is `ok`; the text holds what was asked, which is any bytes. */
static bool answer(int fd, const struct err *why)
{
	auto_buf struct buf b = buf_new(4 * CONTROL_LINE_MAX);

	buf_puts(&b, why ? "error " : "ok");
	if (why)
		buf_put_visible(&b, sv_str(why->msg));
	b.n = b.n < CONTROL_LINE_MAX ? b.n : CONTROL_LINE_MAX - 1;
	buf_putc(&b, '\n');
	return !b.full && send(fd, b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT) ==
			      (ssize_t)b.n;
}

static void visitor_ready(struct watch *w, uint32_t events)
{
	struct run_control *c = container_of(w, struct run_control, visitor);
	char line[CONTROL_LINE_MAX];
	ssize_t n = recv(c->visitor_fd, line, sizeof line,
			 MSG_TRUNC | MSG_DONTWAIT);
	struct err why = { 0 };
	int rc;

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		admit(c);
		return;
	}
	rc = (size_t)n > sizeof line ?
	     err_kind(&why, ERR_PROTO, "the line is too long") :
	     carry_out(c->warden, sv_of(line, (size_t)n), &why);
	if (!answer(c->visitor_fd, rc < 0 ? &why : NULL))
		admit(c);
}

static void listener_ready(struct watch *w, uint32_t events)
{
	static const struct err stranger = {
		.msg = "only the user who has started this run, or root, may ask",
	};
	struct run_control *c = container_of(w, struct run_control, listener);
	struct err ignored;

	(void)events;
	c->visitor_fd = accept4(c->listen_fd, NULL, NULL,
				SOCK_NONBLOCK | SOCK_CLOEXEC);
	/* Also a pause, where there is no descriptor for it. */
	loop_events(c->loop, w, 0);
	loop_arm(c->loop, &c->timer, VISIT_MS);
	if (c->visitor_fd < 0)
		return;
	c->visitor.ready = visitor_ready;
	if (!may_ask(c->visitor_fd)) {
		(void)answer(c->visitor_fd, &stranger);
		admit(c);
	} else if (loop_watch(c->loop, &c->visitor, c->visitor_fd, EPOLLIN,
			      &ignored) < 0) {
		admit(c);
	}
}

/* It gets its name when it listens, so that one where nobody does is a dead
 * run's. */
static int open_listener(struct run_control *c, struct err *e)
{
	char unnamed[RUN_ID_MAX + 2];
	struct sockaddr_un at;

	(void)snprintf(unnamed, sizeof unnamed, ".%s", c->run);
	if (run_state_open(CONTROL_DIR, true, &c->dir_fd, e) < 0 ||
	    run_control_address(c->dir_fd, unnamed, &at, e) < 0)
		return -1;
	c->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK |
			      SOCK_CLOEXEC, 0);
	if (c->listen_fd < 0 ||
	    bind(c->listen_fd, (const struct sockaddr *)&at, sizeof at) < 0)
		return err_sys(e, "make the socket of a run");
	if (fchmodat(c->dir_fd, unnamed, 0600, 0) < 0 ||
	    listen(c->listen_fd, BACKLOG) < 0 ||
	    renameat(c->dir_fd, unnamed, c->dir_fd, c->run) < 0) {
		(void)err_sys(e, "set up the socket of a run");
		(void)unlinkat(c->dir_fd, unnamed, 0);
		return -1;
	}
	c->listener.ready = listener_ready;
	return loop_watch(c->loop, &c->listener, c->listen_fd, EPOLLIN, e);
}

static void due(struct timer *t)
{
	struct run_control *c = container_of(t, struct run_control, timer);
	struct err e;

	t->fired = visit_over;
	if (open_listener(c, &e) == 0)
		return;
	complain("the secrets of this run cannot be revoked: ", e.msg, true);
	run_control_close(c);
}

void run_control_begin(struct run_control *c)
{
	c->timer.fired = due;
	for (size_t i = 0; i < c->warden->credentials.n; i++)
		if (!c->warden->credentials.v[i].absent)
			loop_arm(c->loop, &c->timer, DELAY_MS);
}

void run_control_close(struct run_control *c)
{
	if (!c->loop)
		return;
	loop_disarm(c->loop, &c->timer);
	loop_forget(c->loop, &c->visitor);
	loop_forget(c->loop, &c->listener);
	if (c->listen_fd >= 0)
		(void)unlinkat(c->dir_fd, c->run, 0);
	close_fd(&c->visitor_fd);
	close_fd(&c->listen_fd);
	close_fd(&c->dir_fd);
}
