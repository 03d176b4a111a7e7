/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launcher for tests: the launch, without helpers, record or network, and
 * with a step that is made to fail.
 *
 *	launch-fault [--fail N | --steps | --explain | --json] [--ca FILE]
 *		[--store DIRECTORY] [--held DIRECTORY]
 *		[--set NAME=VALUE] [--seal PATH] [--pin PATH]
 *		[--STATEMENT VALUE]... -- COMMAND...
 *
 * Without a store the plan can only be looked at.  --fail N makes step N of the
 * plan fail; --steps prints how many there are.  The exit status is what `stockade run` would give.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "io.h"
#include "launch.h"
#include "loop.h"
#include "own.h"
#include "parse.h"
#include "terminal.h"

enum { LIST_MAX = 16 };

struct options {
	size_t fail_step;
	bool steps, explain, json;
	const char *ca_file, *store, *held;
	struct launch_variable variables[LIST_MAX];
	size_t variables_n;
	const char *sealed[LIST_MAX], *pinned[LIST_MAX];
	size_t sealed_n, pinned_n;
};

static _Noreturn void die(int status, const char *text)
{
	(void)fprintf(stderr, "stockade: %s\n", text);
	exit(status);
}

static void one_option(struct options *o, struct policy *p,
		       const struct policy_source *source, const char *word,
		       const char *value)
{
	struct err e = { 0 };
	const char *equals = strchr(value, '=');

	if (strcmp(word, "fail") == 0) {
		o->fail_step = strtoul(value, NULL, 10);
	} else if (strcmp(word, "ca") == 0) {
		o->ca_file = value;
	} else if (strcmp(word, "store") == 0) {
		o->store = value;
	} else if (strcmp(word, "held") == 0) {
		o->held = value;
	} else if (strcmp(word, "seal") == 0 && o->sealed_n < LIST_MAX) {
		o->sealed[o->sealed_n++] = value;
	} else if (strcmp(word, "pin") == 0 && o->pinned_n < LIST_MAX) {
		o->pinned[o->pinned_n++] = value;
	} else if (strcmp(word, "set") == 0 && equals &&
		   o->variables_n < LIST_MAX) {
		o->variables[o->variables_n++] = (struct launch_variable){
			sv_of(value, (size_t)(equals - value)),
			sv_str(equals + 1),
		};
	} else if (policy_flag(p, sv_str(word), sv_str(value), source, &e) < 0) {
		die(LAUNCH_FAILED, e.msg);
	}
}

static char **parse(int argc, char **argv, struct options *o, struct policy *p,
		    const struct policy_source *source)
{
	int i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		const char *word = argv[i] + 2;

		if (!*word)
			return argv + i + 1;
		if (strcmp(word, "steps") == 0)
			o->steps = true;
		else if (strcmp(word, "explain") == 0)
			o->explain = true;
		else if (strcmp(word, "json") == 0)
			o->explain = o->json = true;
		else if (i + 1 < argc)
			one_option(o, p, source, word, argv[++i]);
		else
			die(LAUNCH_FAILED, "an option without its value");
	}
	return argv + i;
}

struct follow {
	struct loop *loop;
	struct sandbox *sb;
	struct terminal terminal;
	struct watch control, signals;
	int status;
};

static void on_control(struct watch *w, uint32_t events)
{
	struct follow *f = container_of(w, struct follow, control);
	struct sandbox_event event = sandbox_next(f->sb);
	struct err e;

	(void)events;
	if (event.kind == SANDBOX_NOTHING)
		return;
	if (event.kind == SANDBOX_STOPPED) {
		terminal_suspend(&f->terminal);
		if (sandbox_signal(f->sb, SIGCONT, &e) == 0)
			return;
	}
	f->status = LAUNCH_FAILED;
	if (event.kind == SANDBOX_EXITED)
		f->status = WIFSIGNALED(event.value) ?
				    128 + WTERMSIG(event.value) :
				    WEXITSTATUS(event.value);
	loop_stop(f->loop);
}

static void on_signal(struct watch *w, uint32_t events)
{
	struct follow *f = container_of(w, struct follow, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(w->fd, &info, sizeof info) == sizeof info)
		terminal_signal(&f->terminal, (int)info.ssi_signo);
}

static int watch_signals(struct follow *f, struct err *e)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGWINCH);
	(void)sigaddset(&set, SIGCONT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "signalfd");
	f->signals.ready = on_signal;
	return loop_watch(f->loop, &f->signals, fd, EPOLLIN, e);
}

static int follow(struct follow *f, bool wants_pty, struct sv ca, struct err *e)
{
	static const int stdio[3] = { 0, 1, 2 };

	f->loop = loop_new(e);
	if (!f->loop || sandbox_network(f->sb, e) < 0 ||
	    (wants_pty && sandbox_pty(f->sb, e) < 0))
		return -1;
	if (f->sb->pty_fd >= 0 &&
	    (terminal_open(&f->terminal, f->loop, stdio,
			   steal_fd(&f->sb->pty_fd), e) < 0 ||
	     watch_signals(f, e) < 0))
		return -1;
	f->control.ready = on_control;
	if (sandbox_go(f->sb, ca, e) < 0 ||
	    loop_watch(f->loop, &f->control, f->sb->control_fd, EPOLLIN, e) < 0)
		return -1;
	return loop_run(f->loop, e);
}

static int launch(struct plan *plan, struct sv ca)
{
	struct sandbox sb;
	struct follow f = { .sb = &sb };
	struct err e = { 0 };
	int rc = sandbox_start(plan, &sb, &e);

	if (rc == 0)
		rc = sandbox_build(plan, &sb, &e);
	if (rc == 0)
		rc = follow(&f, plan->wants_pty, ca, &e);
	if (rc < 0)
		f.status = sb.status;
	sandbox_kill(&sb);
	terminal_close(&f.terminal);
	loop_free(f.loop);
	if (rc < 0)
		die(f.status, e.msg);
	return f.status;
}

int main(int argc, char **argv)
{
	char cwd[4096];
	struct options o = { 0 };
	struct policy p = policy_new();
	struct policy_source source = { .home = sv_str(getenv("HOME")) };
	struct launch_input in = { .environ = environ };
	auto_buf struct buf text = buf_new(1 << 20);
	auto_buf struct buf ca = buf_new(16384);
	struct plan *plan;
	struct err e = { 0 };
	int status = 0;

	if (!getcwd(cwd, sizeof cwd))
		die(LAUNCH_FAILED, "no working directory");
	source.base = sv_str(cwd);
	in.cwd = cwd;
	in.argv = parse(argc, argv, &o, &p, &source);
	in.wants_ca = o.ca_file;
	in.store = o.store;
	in.held = o.held;
	in.variables = o.variables;
	in.variables_n = o.variables_n;
	in.sealed = o.sealed;
	in.sealed_n = o.sealed_n;
	in.pinned = o.pinned;
	in.pinned_n = o.pinned_n;
	if (policy_check(&p, &e) < 0 ||
	    (o.ca_file && io_read_file(AT_FDCWD, o.ca_file, &ca, &e) < 0))
		die(LAUNCH_FAILED, e.msg);
	plan = plan_new((int[]){ 0, 1, 2 }, &p, &e);
	if (!plan || plan_build(plan, &p, &in, &e) < 0)
		die(plan ? plan->status : LAUNCH_FAILED, e.msg);
	plan->fail_step = o.fail_step;
	if (o.explain) {
		plan_print(plan, &text, o.json);
		(void)!write(1, text.p, text.n);
	} else if (o.steps) {
		(void)printf("%zu\n", plan_step_count(plan));
	} else {
		status = launch(plan, buf_sv(&ca));
	}
	plan_free(plan);
	policy_free(&p);
	return status;
}
