/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's side of the launch: see launch.h. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "control.h"
#include "init.h"
#include "own.h"
#include "process.h"
#include "step.h"
#include "userns.h"

/* The others are steps of their own (box.c). */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWTIME)

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A pipe for each that is relayed; one for both where 2 is the same as 1. */
static int make_relays(const struct plan *plan, struct sandbox *ret,
		       int stdio_fd[3], struct err *e)
{
	for (int i = 0; i < 3; i++) {
		int ends[2];

		stdio_fd[i] = plan->stdio_fd[i];
		if (plan->stdio[i] != PLAN_STDIO_RELAY)
			continue;
		if (i == 2 && plan->stdio[1] == PLAN_STDIO_RELAY &&
		    same_file(plan->stdio_fd[1], plan->stdio_fd[2])) {
			stdio_fd[2] = stdio_fd[1];
			continue;
		}
		if (pipe2(ends, O_CLOEXEC) < 0)
			return err_sys(e, "make a pipe");
		stdio_fd[i] = ends[i == 0 ? 0 : 1];
		ret->relay_fd[i] = ends[i == 0 ? 1 : 0];
	}
	return 0;
}

static void close_relays(const struct plan *plan, const int stdio_fd[3])
{
	for (int i = 0; i < 3; i++)
		if (plan->stdio[i] == PLAN_STDIO_RELAY &&
		    !(i == 2 && stdio_fd[2] == stdio_fd[1]))
			(void)close(stdio_fd[i]);
}

static int clone_init(const struct plan *plan, struct sandbox *ret,
		      const int stdio_fd[3], pid_t *pid, struct err *e)
{
	/* The array may move while it grows; these steps do not change. */
	const struct step *early = plan->steps;
	int pair[2];

	if (plan->fail_step == 1)
		return err_kind(e, ERR_BUG, "namespaces: made to fail");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "socketpair");
	ret->control_fd = pair[0];
	*pid = process_clone(NAMESPACES, &ret->pidfd, e);
	if (*pid == 0) {
		(void)close(pair[0]);
		for (int i = 0; i < 3; i++)
			close_fd(&ret->relay_fd[i]);
		init_run(plan, early, &ret->groups, pair[1], stdio_fd);
	}
	(void)close(pair[1]);
	return *pid < 0 ? err_ctx(e, "namespaces") : 0;
}

/* Where pid 1 has failed already, its last note will say why. */
static int tell(struct sandbox *sb, const struct control_note *note,
		struct sv tail, struct err *e)
{
	return control_send(sb->control_fd, note, tail, e) < 0 &&
	       e->code != EPIPE ? -1 : 0;
}

/* Root of a user namespace that has not all ids. */
static int no_free_id(struct err *e)
{
	return err_ctx(e, "root of this container has no id to give away that "
		       "nobody has; start stockade as an ordinary user, or "
		       "outside of it");
}

/* Only root can map ids other than its own, and only from outside. */
static int map_ids(const struct plan *plan, struct sandbox *sb, pid_t pid,
		   struct err *e)
{
	struct userns_map uids = userns_one(plan->uid, plan->host_uid);
	struct userns_map gids = userns_one(plan->gid, plan->host_gid);
	struct control_note note = { .kind = CONTROL_MAPPED };

	if (userns_map_child(pid, &uids, &gids, e) < 0)
		return e->code == EPERM ? no_free_id(e) : -1;
	return tell(sb, &note, SV(""), e);
}

/* A pipe, not a FIFO that has a name in some directory. */
static bool is_unnamed(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

/*
 * `cat /dev/stdin` opens the pipe again, which its owner may.  A pipe that root
 * made belongs to root, whom the agent is not.
 */
static int give_pipes(const struct plan *plan, const int stdio_fd[3],
		      struct err *e)
{
	for (int i = 0; i < 3; i++) {
		struct stat st;

		if (fstat(stdio_fd[i], &st) < 0)
			return err_sys(e, "identify descriptor %d", i);
		if (!S_ISFIFO(st.st_mode) || st.st_uid != 0 ||
		    !is_unnamed(stdio_fd[i]) ||
		    fchown(stdio_fd[i], plan->host_uid, plan->host_gid) == 0)
			continue;
		(void)err_sys(e, "give away descriptor %d", i);
		return e->code == EINVAL ? no_free_id(e) : -1;
	}
	return 0;
}

/* What was heard last from pid 1; large, and one is enough. */
static struct control_in heard;

/* The next note, which has to be of that kind. */
static int expect(struct sandbox *sb, enum control_kind kind, struct err *e)
{
	int rc = control_receive(sb->control_fd, &heard, false, e);

	if (rc < 0)
		return -1;
	if (rc == 0)
		return err_kind(e, ERR_SYS, "the sandbox's first process ended");
	if (heard.note.kind == CONTROL_FAILED) {
		*e = heard.note.err;
		sb->status = heard.note.value;
		return -1;
	}
	if (heard.note.kind != kind)
		return err_kind(e, ERR_BUG, "an unexpected note");
	return 0;
}

static int start(const struct plan *plan, struct sandbox *ret,
		 const int stdio_fd[3], struct err *e)
{
	cpu_set_t others;
	pid_t pid = -1;

	if (plan->as_root && give_pipes(plan, stdio_fd, e) < 0)
		return -1;
	if (clone_init(plan, ret, stdio_fd, &pid, e) < 0)
		return -1;
	ret->pid = pid;
	/* pid 1 gives itself its freedom when it has made the network. */
	if (process_other_cpus(&plan->cpus, &others))
		process_keep_on(pid, &others);
	if (plan->as_root && map_ids(plan, ret, pid, e) < 0)
		return err_ctx(e, "identity");
	return 0;
}

int sandbox_start(const struct plan *plan, struct sandbox *ret, struct err *e)
{
	int stdio_fd[3] = { -1, -1, -1 };
	int rc;

	*ret = (struct sandbox){
		.pidfd = -1, .control_fd = -1, .tcp_fd = -1, .dns_fd = -1,
		.pty_fd = -1, .relay_fd = { -1, -1, -1 },
		.limits = &plan->limits, .status = LAUNCH_FAILED,
	};
	if (limits_make(&plan->limits, &ret->groups, e) < 0 ||
	    make_relays(plan, ret, stdio_fd, e) < 0)
		return -1;
	rc = start(plan, ret, stdio_fd, e);
	close_relays(plan, stdio_fd);
	return rc;
}

/* Whose they are now: the last to close one waits for the kernel to forget it. */
static int hand_over(int control_fd, const struct control_note *note,
		     const int *fds, size_t n, struct err *e)
{
	int rc = n ? control_send_fds(control_fd, note, fds, n, e) :
		     control_send(control_fd, note, SV(""), e);

	for (size_t i = 0; i < n; i++)
		(void)close(fds[i]);
	return rc;
}

/* The plan with the trees that it holds, some at a time. */
static int send_plan(struct plan *plan, int control_fd, struct err *e)
{
	struct control_note note = { .kind = CONTROL_TREES };
	int fds[CONTROL_FDS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < plan->steps_n; i++) {
		if (!(plan->steps[i].flags & STEP_TREE))
			continue;
		if (n == CONTROL_FDS_MAX) {
			if (hand_over(control_fd, &note, fds, n, e) < 0)
				return -1;
			n = 0;
		}
		fds[n++] = steal_fd(&plan->steps[i].tree_fd);
	}
	note.kind = CONTROL_PLAN;
	return hand_over(control_fd, &note, fds, n, e);
}

int sandbox_build(struct plan *plan, struct sandbox *sb, struct err *e)
{
	if (limits_set_io(&plan->limits, &sb->groups, e) < 0)
		return -1;
	/* Where pid 1 has failed already, its last note will say why. */
	return send_plan(plan, sb->control_fd, e) < 0 && e->code != EPIPE ?
		       -1 : 0;
}

int sandbox_layers(struct sandbox *sb, const struct plan *plan, struct err *e)
{
	/* Whose files have the owner's ids, and are mapped (overlay.c). */
	if (plan->as_root)
		return layers_new(plan, e);
	if (expect(sb, CONTROL_LAYERS, e) < 0)
		return -1;
	if (heard.fds_n != 1)
		return err_kind(e, ERR_BUG, "a descriptor is missing");
	return heard.fds[0];
}

int sandbox_network(struct sandbox *sb, struct err *e)
{
	if (expect(sb, CONTROL_NETWORK, e) < 0)
		return -1;
	if (heard.fds_n != 2)
		return err_kind(e, ERR_BUG, "descriptors are missing");
	sb->tcp_fd = heard.fds[0];
	sb->dns_fd = heard.fds[1];
	return 0;
}

int sandbox_pty(struct sandbox *sb, struct err *e)
{
	if (expect(sb, CONTROL_PTY, e) < 0)
		return -1;
	if (heard.fds_n != 1)
		return err_kind(e, ERR_BUG, "a descriptor is missing");
	sb->pty_fd = heard.fds[0];
	return 0;
}

int sandbox_go(struct sandbox *sb, struct sv ca_pem, struct err *e)
{
	struct control_note note = { .kind = CONTROL_GO };

	if (tell(sb, &note, ca_pem, e) < 0)
		return -1;
	return expect(sb, CONTROL_RUNNING, e);
}

/* "PATH NUL RULE". */
static void take_refused(struct sandbox_event *ev)
{
	struct sv tail = sv_of(heard.tail, heard.tail_n);

	ev->path = sv_head(tail, sv_find(tail, '\0'));
	ev->rule = sv_from(tail, ev->path.n + 1);
	ev->kind = SANDBOX_REFUSED;
}

/* What the agent made and may make. */
static void take_made(struct sandbox_event *ev)
{
	struct sv tail = sv_of(heard.tail, heard.tail_n);

	if (heard.note.kind == CONTROL_MADE) {
		ev->kind = SANDBOX_MADE;
		ev->path = tail;
	} else {
		ev->kind = SANDBOX_LEFT;
		ev->paths = tail;
	}
}

static void take_spaces(struct sandbox_event *ev)
{
	ev->kind = SANDBOX_SPACES;
	memcpy(ev->space_fd, heard.fds, sizeof ev->space_fd);
}

struct sandbox_event sandbox_next(struct sandbox *sb)
{
	struct err e;
	int rc = control_receive(sb->control_fd, &heard, true, &e);
	struct sandbox_event ev = {
		.kind = SANDBOX_LOST, .socket_fd = -1,
		.space_fd = { -1, -1, -1 },
	};

	if (rc < 0 && e.code == EAGAIN)
		ev.kind = SANDBOX_NOTHING;
	else if (rc > 0 && heard.note.kind == CONTROL_EXITED)
		ev.kind = SANDBOX_EXITED;
	else if (rc > 0 && heard.note.kind == CONTROL_STOPPED)
		ev.kind = SANDBOX_STOPPED;
	else if (rc > 0 && heard.note.kind == CONTROL_FAILED)
		ev.kind = SANDBOX_BROKEN;
	else if (rc > 0 && heard.note.kind == CONTROL_REFUSED)
		take_refused(&ev);
	else if (rc > 0 && (heard.note.kind == CONTROL_MADE ||
			    heard.note.kind == CONTROL_LEFT))
		take_made(&ev);
	else if (rc > 0 && heard.note.kind == CONTROL_SOCKET)
		ev.kind = SANDBOX_SOCKET;
	else if (rc > 0 && heard.note.kind == CONTROL_SPACES &&
		 heard.fds_n == SANDBOX_SPACES_N)
		take_spaces(&ev);
	if (rc > 0)
		ev.value = heard.note.value;
	if (ev.kind == SANDBOX_SOCKET && heard.fds_n == 1)
		ev.socket_fd = heard.fds[0];
	sb->empty |= ev.kind == SANDBOX_EXITED;
	if (ev.kind == SANDBOX_BROKEN)
		ev.why = heard.note.err;
	return ev;
}

int sandbox_call(struct sandbox *sb, int family, struct err *e)
{
	struct control_note note = { .kind = CONTROL_CALL, .value = family };

	return control_send(sb->control_fd, &note, SV(""), e);
}

int sandbox_enter(struct sandbox *sb, struct err *e)
{
	struct control_note note = { .kind = CONTROL_ENTER };

	return control_send(sb->control_fd, &note, SV(""), e);
}

int sandbox_signal(struct sandbox *sb, int signal, struct err *e)
{
	struct control_note note = {
		.kind = CONTROL_SIGNAL, .value = signal,
	};

	return control_send(sb->control_fd, &note, SV(""), e);
}

void sandbox_kill(struct sandbox *sb)
{
	struct process_end end;
	struct err ignored;

	limits_release(&sb->groups);
	if (sb->pidfd >= 0) {
		(void)!process_signal(sb->pidfd, SIGKILL, &ignored);
		(void)!process_wait(sb->pidfd, &end, &ignored);
	}
	if (sb->groups.n) {
		sb->reached = limits_reached(sb->limits, &sb->groups);
		limits_remove(sb->limits, &sb->groups);
	}
	close_fd(&sb->pidfd);
	close_fd(&sb->control_fd);
	close_fd(&sb->tcp_fd);
	close_fd(&sb->dns_fd);
	close_fd(&sb->pty_fd);
	for (int i = 0; i < 3; i++)
		close_fd(&sb->relay_fd[i]);
}
