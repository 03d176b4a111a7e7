/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending the helper programs: see helper.h. */
#include "helper.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "own.h"
#include "program.h"

enum { HELPER_CHANNEL_FD = 3 };

static const char *role_name(enum role role)
{
	switch (role) {
	case ROLE_EDGE:
		return "edge";
	case ROLE_VAULT:
		return "vault";
	case ROLE_DIAL:
		return "dial";
	case ROLE_RESOLVE:
		return "resolve";
	case ROLE_NONE:
	case ROLE_WARDEN:
		break;
	}
	return "?";
}

const char *helper_installed_dir(void)
{
	return STOCKADE_LIBEXECDIR;
}

int helper_find(const char *name, struct buf *ret, struct err *e)
{
	/* Where that is not known, in no folder at all. */
	buf_put(ret, program_dir().n ? program_dir() : SV("/dev/null"));
	buf_printf(ret, "/stockade-%s", name);
	if (!buf_cstr(ret))
		return err_kind(e, ERR_LIMIT, "the program's path is too long");
	if (access(ret->p, X_OK) == 0)
		return 0;
	buf_reset(ret);
	buf_printf(ret, STOCKADE_LIBEXECDIR "/stockade-%s", name);
	if (!buf_cstr(ret) || access(ret->p, X_OK) < 0)
		return err_sys(e, "find stockade-%s beside the program or in "
			       STOCKADE_LIBEXECDIR, name);
	return 0;
}

static int spawn(const char *path, int channel_fd, pid_t *ret, struct err *e)
{
	const char *name = strrchr(path, '/') + 1;
	char *argv[] = { (char *)(uintptr_t)name, NULL };
	char *envp[] = { NULL };
	const struct child c = {
		.path = path, .argv = argv, .envp = envp,
		.fds = {
			CHILD_NULL, CHILD_NULL, HELPER_STDERR,
			[HELPER_CHANNEL_FD] = channel_fd,
		},
		.fds_n = HELPER_CHANNEL_FD + 1, .own_group = true,
	};
	const int rc = child_start(&c, ret);

	errno = rc;
	return rc ? err_sys(e, "start %s", path) : 0;
}

int helper_check(enum role role, struct err *e)
{
	auto_buf struct buf path = buf_new(4096);

	return helper_find(role_name(role), &path, e);
}

int helper_start(struct helper *h, struct loop *l, struct err *e)
{
	auto_buf struct buf path = buf_new(4096);
	auto_fd int ours = -1, theirs = -1;
	int pair[2];
	pid_t pid = -1;

	if (h->pid_fd >= 0 || h->ended)
		return err_kind(e, ERR_BUG, "%s was started before",
				role_name(h->role));
	if (helper_find(role_name(h->role), &path, e) < 0 || channel_pair(pair, e) < 0)
		return -1;
	ours = pair[0];
	theirs = pair[1];
	if (spawn(path.p, theirs, &pid, e) < 0)
		return -1;
	h->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (h->pid_fd < 0) {
		(void)err_sys(e, "pidfd_open");
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return -1;
	}
	if (channel_open(&h->channel, l, ours, ROLE_WARDEN, h->role, PHASE_RUN,
			 e) < 0) {
		helper_stop(h);
		return -1;
	}
	(void)steal_fd(&ours);
	if (h->role != ROLE_RESOLVE)
		channel_gather(&h->channel, false);
	return 0;
}

void helper_kill(struct helper *h, const struct err *why)
{
	if (!helper_is_running(h) || h->why.kind)
		return;
	h->why = *why;
	/* Its end of the channel closes with it. */
	(void)syscall(SYS_pidfd_send_signal, h->pid_fd, SIGKILL, NULL, 0);
}

void helper_send(struct helper *h, const struct msg *m)
{
	struct err e = { 0 };

	if (helper_is_running(h) && channel_send(&h->channel, m, &e) < 0)
		helper_kill(h, &e);
}

bool helper_was_killed(const struct helper *h)
{
	siginfo_t info = { 0 };

	return h->pid_fd >= 0 &&
	       waitid(P_PIDFD, (id_t)h->pid_fd, &info,
		      WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid && info.si_code != CLD_EXITED;
}

const char *helper_name(const struct helper *h)
{
	return role_name(h->role);
}

void helper_stop(struct helper *h)
{
	siginfo_t info;

	channel_close(&h->channel);
	if (h->pid_fd < 0)
		return;
	/* It holds nothing that must be finished: decisions are on record. */
	(void)syscall(SYS_pidfd_send_signal, h->pid_fd, SIGKILL, NULL, 0);
	while (waitid(P_PIDFD, (id_t)h->pid_fd, &info, WEXITED) < 0 &&
	       errno == EINTR)
		;
	close_fd(&h->pid_fd);
	h->ended = true;
}
