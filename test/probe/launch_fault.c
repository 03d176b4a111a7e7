/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launcher for tests: the launch, without helpers, record or network, and
 * with a step that is made to fail.
 *
 *	launch-fault [--fail N | --steps | --explain | --json] [--ca FILE]
 *		[--set NAME=VALUE] [--seal PATH] [--pin PATH]
 *		[--STATEMENT VALUE]... -- COMMAND...
 *
 * --fail N makes step N of the plan fail; --steps prints how many there are.
 * The exit status is what `stockade run` would give.
 */
#include <stdio.h>
#include <stdlib.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "io.h"
#include "launch.h"
#include "own.h"
#include "parse.h"

enum { LIST_MAX = 16 };

struct options {
	size_t fail_step;
	bool steps, explain, json;
	const char *ca_file;
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

/* Until the command has ended; what the inner terminal says goes out. */
static int follow(struct sandbox *sb)
{
	for (;;) {
		struct pollfd fds[2] = {
			{ .fd = sb->control_fd, .events = POLLIN },
			{ .fd = sb->pty_fd, .events = POLLIN },
		};
		struct sandbox_event event;
		char text[4096];

		if (poll(fds, 2, -1) < 0)
			return LAUNCH_FAILED;
		if (fds[1].revents) {
			ssize_t n = read(sb->pty_fd, text, sizeof text);

			if (n > 0)
				(void)!write(1, text, (size_t)n);
			else
				close_fd(&sb->pty_fd);
			continue;
		}
		event = sandbox_next(sb);
		if (event.kind == SANDBOX_LOST)
			return LAUNCH_FAILED;
		if (event.kind == SANDBOX_EXITED)
			return WIFSIGNALED(event.value) ?
				       128 + WTERMSIG(event.value) :
				       WEXITSTATUS(event.value);
	}
}

static int launch(const struct plan *plan, struct sv ca)
{
	struct sandbox sb;
	struct err e = { 0 };
	int status;

	if (sandbox_start(plan, &sb, &e) < 0 || sandbox_prepared(&sb, &e) < 0 ||
	    sandbox_go(&sb, ca, &e) < 0) {
		status = sb.status;
		sandbox_kill(&sb);
		die(status, e.msg);
	}
	status = follow(&sb);
	sandbox_kill(&sb);
	return status;
}

int main(int argc, char **argv)
{
	char cwd[4096];
	struct options o = { 0 };
	struct policy p = policy_new();
	struct policy_source source = { .home = sv_str(getenv("HOME")) };
	struct launch_input in = { .environ = environ, .stdio = { 0, 1, 2 } };
	auto_buf struct buf text = buf_new(1 << 20);
	auto_buf struct buf ca = buf_new(16384);
	struct plan plan;
	struct err e = { 0 };
	int status = 0;

	if (!getcwd(cwd, sizeof cwd))
		die(LAUNCH_FAILED, "no working directory");
	source.base = sv_str(cwd);
	in.cwd = cwd;
	in.argv = parse(argc, argv, &o, &p, &source);
	in.wants_ca = o.ca_file;
	in.variables = o.variables;
	in.variables_n = o.variables_n;
	in.sealed = o.sealed;
	in.sealed_n = o.sealed_n;
	in.pinned = o.pinned;
	in.pinned_n = o.pinned_n;
	if (policy_check(&p, &e) < 0 ||
	    (o.ca_file && io_read_file(AT_FDCWD, o.ca_file, &ca, &e) < 0))
		die(LAUNCH_FAILED, e.msg);
	if (plan_build(&plan, &p, &in, &e) < 0)
		die(plan.status, e.msg);
	plan.fail_step = o.fail_step;
	if (o.explain) {
		plan_print(&plan, &text, o.json);
		(void)!write(1, text.p, text.n);
	} else if (o.steps) {
		(void)printf("%zu\n", plan_step_count(&plan));
	} else {
		status = launch(&plan, buf_sv(&ca));
	}
	plan_free(&plan);
	policy_free(&p);
	return status;
}
