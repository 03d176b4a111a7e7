/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid 1: see init.h.
 *
 * Life: it waits for its ids (started by root), makes the network, and gives up
 * all that it can, while its second thread builds the root (thread.c).  It waits
 * for that and for the word to go, executes the command, and then reaps, with
 * nothing but its socket to the parent open, and makes the names that the agent
 * asks for (keeper.h).  When the command ends it kills
 * whatever is left inside, and says so.  It exits when the parent closes the
 * socket or is gone, or when the host has taken a cover or a guard away
 * (hold.c); the kernel then kills what there still is.
 *
 * It shares no descriptor with the agent, is not dumpable, and has the agent's
 * filter and no capability, so there is nothing to be had from it.
 */
#include "init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caps.h"
#include "control.h"
#include "launch.h"
#include "own.h"
#include "process.h"
#include "step.h"
#include "userns.h"

/* What was heard last from the parent; large, and one is enough. */
static struct control_in heard;

static int init_identity(struct init *in, const struct step *s, struct err *e)
{
	const struct plan *plan = in->plan;
	struct userns_map uids = userns_one(plan->uid, plan->host_uid);
	struct userns_map gids = userns_one(plan->gid, plan->host_gid);
	auto_fd int proc_fd = -1;
	int rc;

	(void)s;
	/* The socket's end says it too, but only to one who listens. */
	if (process_die_with_parent(SIGKILL, 0, e) < 0)
		return -1;
	if (plan->as_root) {
		rc = control_receive(in->control_fd, &heard, false, e);
		if (rc < 0)
			return -1;
		if (rc == 0 || heard.note.kind != CONTROL_MAPPED)
			return err_kind(e, ERR_BUG, "the ids were not mapped");
		if (caps_become(plan->uid, plan->gid, e) < 0)
			return -1;
		/* Forgotten with the old ids. */
		return process_die_with_parent(SIGKILL, 0, e);
	}
	/* A caller that hid itself has made /proc/self root's. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return err_sys(e, "become dumpable for a moment");
	proc_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return err_sys(e, "open /proc/self");
	return userns_write_maps(proc_fd, &uids, &gids, true, e);
}

static int init_report(struct init *in, const struct step *s, struct err *e)
{
	struct control_note note = { .kind = CONTROL_PTY };

	(void)s;
	if (control_send_fds(in->control_fd, &note, &in->pty.master, 1,
			     e) < 0)
		return -1;
	close_fd(&in->pty.master);
	return 0;
}

static int init_go(struct init *in, const struct step *s, struct err *e)
{
	int rc;

	(void)s;
	rc = control_receive(in->control_fd, &heard, false, e);
	if (rc == 0)
		_exit(0);	/* the parent changed its mind, or is gone */
	if (rc < 0)
		return -1;
	if (heard.note.kind != CONTROL_GO)
		return err_kind(e, ERR_BUG, "an unexpected note");
	in->ca = heard.tail;
	in->ca_n = heard.tail_n;
	return 0;
}

static int (*const apply[STEP_KINDS])(struct init *in, const struct step *s,
				      struct err *e) = {
	[STEP_IDENTITY] = init_identity,
	[STEP_THREAD] = thread_start,
	[STEP_ROOT] = root_make,
	[STEP_DIRECTORY] = root_directory,
	[STEP_TEMPLATE] = root_template,
	[STEP_LINK] = root_link,
	[STEP_PRIVATE] = root_private,
	[STEP_BIND] = root_bind,
	[STEP_OVERLAY] = root_overlay,
	[STEP_DEVICE] = special_device,
	[STEP_TERMINALS] = special_terminals,
	[STEP_PROC] = special_proc,
	[STEP_PIN] = root_pin,
	[STEP_GUARD] = root_pin,
	[STEP_COVER] = root_cover,
	[STEP_KEY_FILE] = key_files_make,
	[STEP_TRUST] = trust_make,
	[STEP_SEAL] = root_seal,
	[STEP_ENTER] = root_enter,
	[STEP_WORKDIR] = root_workdir,
	[STEP_HOLD] = hold_begin,
	[STEP_LAYERS] = layers_make,
	[STEP_HOSTNAME] = box_hostname,
	[STEP_SEPARATE] = box_separate,
	[STEP_NETWORK] = box_network,
	[STEP_PTY] = special_pty,
	[STEP_REPORT] = init_report,
	[STEP_CGROUP] = limits_enter,
	[STEP_RLIMITS] = limits_note,
	[STEP_LIMITS] = confinement_limits,
	[STEP_FORGET] = confinement_forget,
	[STEP_CAPABILITIES] = confinement_capabilities,
	[STEP_LANDLOCK] = confinement_landlock,
	[STEP_SECCOMP] = confinement_seccomp,
	[STEP_JOIN] = thread_join,
	[STEP_GO] = init_go,
	[STEP_CERTIFICATE] = trust_certificate,
	[STEP_KEEPER] = spawn_keeper,
	[STEP_SYSCALLS] = confinement_syscalls,
	[STEP_COMMAND] = spawn_command,
};

_Noreturn void init_fail(struct init *in, const struct err *e)
{
	struct control_note note = {
		.kind = CONTROL_FAILED, .value = in->status, .err = *e,
	};
	struct err ignored;

	/* Unheard, the end of the socket says the same. */
	(void)!control_send(in->control_fd, &note, SV(""), &ignored);
	_exit(LAUNCH_FAILED);
}

static void apply_steps(struct init *in, const struct step *steps,
			size_t from, size_t to)
{
	struct err e = { 0 };

	for (size_t i = from; i < to; i++) {
		const struct step *s = &steps[i];

		if (in->plan->fail_step == i + 1)
			(void)err_kind(&e, ERR_BUG, "made to fail");
		else if (s->flags & STEP_READY)
			continue;
		else if (!apply[s->kind])
			(void)err_kind(&e, ERR_BUG, "no such step");
		else if (apply[s->kind](in, s, &e) == 0)
			continue;
		if (in->status == LAUNCH_FAILED)
			step_context(s, &e);
		init_fail(in, &e);
	}
}

static int take_trees(struct init *in, const struct control_in *note,
		      struct err *e)
{
	size_t n = in->trees_n + note->fds_n;
	int *grown = realloc(in->trees, n * sizeof *grown);

	if (!grown)
		return err_sys(e, "allocate");
	memcpy(grown + in->trees_n, note->fds, note->fds_n * sizeof *grown);
	in->trees = grown;
	in->trees_n = n;
	return 0;
}

/* Until the plan is whole. */
static int await_plan(struct init *in, struct err *e)
{
	do {
		int rc = control_receive(in->control_fd, &heard, false, e);

		if (rc == 0)
			_exit(0);	/* there will be none */
		if (rc < 0)
			return -1;
		if (heard.note.kind != CONTROL_TREES &&
		    heard.note.kind != CONTROL_PLAN)
			return err_kind(e, ERR_BUG, "an unexpected note");
		if (heard.fds_n && take_trees(in, &heard, e) < 0)
			return -1;
	} while (heard.note.kind != CONTROL_PLAN);
	return 0;
}

void init_build(struct init *in)
{
	const struct plan *plan = in->plan;
	struct err e;

	if (await_plan(in, &e) < 0)
		init_fail(in, &e);
	apply_steps(in, plan->steps, plan->early, plan->built);
}

static void tell(struct init *in, enum control_kind kind, int value)
{
	struct control_note note = { .kind = kind, .value = value };
	struct err ignored;

	if (control_send(in->control_fd, &note, SV(""), &ignored) < 0)
		_exit(LAUNCH_FAILED);
}

/* Orphans become our children: without a child there is nobody else. */
static bool is_alone(void)
{
	return waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD;
}

/* Killed at once: a process that was told to die makes no other. */
static void kill_the_rest(void)
{
	if (is_alone())
		return;
	(void)kill(-1, SIGKILL);
	while (waitpid(-1, NULL, __WALL) >= 0 || errno == EINTR)
		;
}

/* Everything that ended; also what was adopted from below. */
static void reap(struct init *in)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);

		if (pid <= 0)
			return;
		if (pid != in->command)
			continue;
		if (WIFSTOPPED(status)) {
			tell(in, CONTROL_STOPPED, WSTOPSIG(status));
			continue;
		}
		kill_the_rest();
		keeper_end(in->keeper);
		tell(in, CONTROL_EXITED, status);
		in->command = 0;
	}
}

static void on_control(struct init *in)
{
	struct err e;

	if (control_receive(in->control_fd, &heard, false, &e) <= 0)
		_exit(0);
	if (heard.note.kind == CONTROL_SIGNAL && in->command)
		(void)kill(-in->command, heard.note.value);
	if (heard.note.kind == CONTROL_CALL &&
	    box_give_socket(in, heard.note.value, &e) < 0)
		_exit(LAUNCH_FAILED);
	if (heard.note.kind == CONTROL_ENTER && box_give_spaces(in, &e) < 0)
		init_fail(in, &e);
}

static _Noreturn void reap_and_wait(struct init *in)
{
	struct signalfd_siginfo info;
	struct pollfd fds[4] = {
		{ .fd = in->control_fd, .events = POLLIN },
		{ .fd = in->signal_fd, .events = POLLIN },
		{ .fd = in->mounts_fd, .events = POLLPRI },
		{ .fd = keeper_listener(in->keeper), .events = POLLIN },
	};
	struct err e;

	for (;;) {
		if (poll(fds, 4, keeper_timeout_ms(in->keeper)) < 0 &&
		    errno != EINTR)
			_exit(LAUNCH_FAILED);
		if (fds[2].revents && hold_check(in, &e) < 0)
			init_fail(in, &e);
		if (fds[1].revents) {
			/* One wait finds all children, whatever it says. */
			(void)!read(in->signal_fd, &info, sizeof info);
			reap(in);
		}
		if (fds[3].revents & POLLIN) {
			if (keeper_serve(in->keeper, &e) < 0)
				init_fail(in, &e);
		} else if (fds[3].revents) {
			fds[3].fd = -1;		/* nobody is left to ask */
		}
		keeper_retry(in->keeper);
		if (fds[0].revents)
			on_control(in);
	}
}

/* Signals are taken from a descriptor; blocked, none can kill pid 1. */
static int begin(struct init *in, struct err *e)
{
	sigset_t all, child;

	(void)sigfillset(&all);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return err_sys(e, "block the signals");
	in->signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (in->signal_fd < 0)
		return err_sys(e, "signalfd");
	in->umask = umask(0);
	return 0;
}

static int keep_few(const struct init *in, struct err *e)
{
	const int keep[] = { in->control_fd, in->signal_fd, in->mounts_fd,
			     keeper_listener(in->keeper) };

	return process_close_except(keep, countof(keep), e);
}

_Noreturn void init_run(const struct plan *plan, const struct step *early,
			const struct limits_groups *groups, int control_fd,
			const int stdio_fd[3])
{
	struct init in = {
		.plan = plan, .groups = groups, .control_fd = control_fd,
		.root_fd = -1,
		.stdio_fd = { stdio_fd[0], stdio_fd[1], stdio_fd[2] },
		.host_dev_fd = -1, .cover_dir_fd = -1, .cover_file_fd = -1,
		.devpts_fd = -1, .layers_fd = -1,
		.pty = { .master = -1, .slave = -1 }, .ca_fd = -1,
		.keeper_fd = { -1, -1 }, .bundle_fd = -1, .java_fd = -1,
		.browser_fd = -1, .signal_fd = -1, .mounts_fd = -1,
		.status = LAUNCH_FAILED,
	};
	struct err e;

	if (begin(&in, &e) < 0)
		init_fail(&in, &e);
	apply_steps(&in, early, 1, plan->early);	/* 0 is the parent's */
	thread_entered(&in);
	apply_steps(&in, plan->steps, plan->built, plan->steps_n);
	if (keep_few(&in, &e) < 0)
		init_fail(&in, &e);
	tell(&in, CONTROL_RUNNING, 0);
	reap_and_wait(&in);
}
