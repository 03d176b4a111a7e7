/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade doctor`: runs the tries and prints what came of them, or lists what
 * becomes of system calls. */
#include "doctor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor_syscalls.h"
#include "doctor_text.h"
#include "doctor_tries.h"
#include "io.h"
#include "json.h"
#include "obstacle.h"
#include "own.h"
#include "parse.h"
#include "process.h"
#include "source.h"

enum { OUTPUT_MAX = 4 << 20 };

#define UNTRIED "needs the user namespace"

/* What the child says, in one write. */
struct outcome {
	int ok;
	char note[DOCTOR_NOTE_MAX];
	struct err err;
};

static _Noreturn void child(const struct doctor_try *t, int to_fd)
{
	struct outcome o = { 0 };
	struct err ignored;

	/* A try that hangs is a try that failed. */
	(void)alarm(10);
	o.ok = t->attempt(o.note, &o.err) == 0;
	if (io_write_all(to_fd, sv_of((const char *)&o, sizeof o),
			 &ignored) < 0)
		_exit(1);
	_exit(0);
}

static int run_child(const struct doctor_try *t, struct outcome *o,
		     struct err *e)
{
	auto_buf struct buf said = buf_new(sizeof *o);
	int ends[2];
	pid_t pid;
	int status;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	pid = fork();
	if (pid == 0)
		child(t, ends[1]);
	close_fd(&ends[1]);
	if (pid < 0) {
		close_fd(&ends[0]);
		return err_sys(e, "fork");
	}
	if (io_read_all(ends[0], &said, e) < 0)
		said.n = 0;
	close_fd(&ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	*o = (struct outcome){ 0 };
	if (said.n == sizeof *o)
		memcpy(o, said.p, sizeof *o);
	else if (WIFSIGNALED(status))
		err_kind(&o->err, ERR_SYS, "killed by signal %d",
			 WTERMSIG(status));
	else
		err_kind(&o->err, ERR_SYS, "no answer");
	o->note[sizeof o->note - 1] = 0;
	return 0;
}

static int run(const struct doctor_try *t, struct outcome *o, struct err *e)
{
	if (t->place != DOCTOR_SELF)
		return run_child(t, o, e);
	*o = (struct outcome){ 0 };
	o->ok = t->attempt(o->note, &o->err) == 0;
	return 0;
}

static bool was_untried(const struct outcome *o)
{
	return strcmp(o->err.msg, UNTRIED) == 0;
}

static const char *state(const struct doctor_try *t, const struct outcome *o)
{
	if (o->ok)
		return "ok";
	if (was_untried(o))
		return "untried";
	return t->required ? "missing" : "absent";
}

/* What helps depends on why: the same call is missing in an old kernel, and
 * refused in a container. */
static const char *remedy(const struct doctor_try *t, const struct outcome *o)
{
	bool refused = o->err.code == EPERM || o->err.code == EACCES;
	const char *known = NULL;

	if (o->ok || was_untried(o))
		return NULL;
	if (t->place == DOCTOR_DOOR || t->place == DOCTOR_HOST)
		known = obstacle_remedy(obstacle_find(&o->err));
	if (t->place == DOCTOR_INSIDE && refused)
		known = DOCTOR_IN_CONTAINER;
	return known ? known : t->remedy;
}

static void print_json(struct json *j, const struct doctor_try *t,
		       const struct outcome *o)
{
	json_open(j, '{');
	json_put_str(j, "name", t->name);
	json_put_bool(j, "ok", o->ok);
	json_put_bool(j, "required", t->required);
	json_put_str(j, "detail", o->ok ? o->note : o->err.msg);
	json_put_str(j, "remedy", remedy(t, o));
	json_close(j, '}');
}

struct report {
	struct buf *text;
	struct json *json;	/* NULL: for a person */
	size_t width;
	struct buf names;	/* of what is missing, and was tried */
	int missing, untried;
};

static void add(struct report *r, const struct doctor_try *t,
		const struct outcome *o)
{
	if (r->json)
		print_json(r->json, t, o);
	else
		doctor_put(r->text, r->width, t->name, state(t, o),
			   o->ok ? o->note : o->err.msg, remedy(t, o));
	if (o->ok || !t->required)
		return;
	r->missing++;
	if (was_untried(o))
		r->untried++;
	else
		buf_printf(&r->names, "%s%s", r->names.n ? ", " : "", t->name);
}

/* Runs everything; the number of required things missing, or -1. */
static int try_all(struct report *r, struct err *e)
{
	bool can_enter = true;

	for (const struct doctor_try *t = doctor_tries; t->name; t++) {
		struct outcome o = { 0 };

		if (!can_enter && (t->place == DOCTOR_INSIDE ||
				   t->place == DOCTOR_PROC))
			err_kind(&o.err, ERR_UNSUPP, UNTRIED);
		else if (run(t, &o, e) < 0)
			return -1;
		if (t->place == DOCTOR_DOOR)
			can_enter = o.ok;
		add(r, t, &o);
	}
	return 0;
}

static void conclude(struct report *r)
{
	if (r->missing == 0) {
		buf_puts(r->text, "\n`stockade run` can work here\n");
		return;
	}
	buf_puts(r->text, "\nmissing: ");
	buf_put(r->text, buf_sv(&r->names));
	if (r->untried)
		buf_printf(r->text, " (%d more could not be tried)",
			   r->untried);
	buf_puts(r->text, "\n`stockade run` cannot work here\n");
}

static int examine(struct buf *b, bool as_json, struct err *e)
{
	struct json j = json_line(b);
	struct report r = {
		.text = b, .json = as_json ? &j : NULL,
		.width = doctor_width(), .names = buf_new(4096),
	};
	int rc;

	if (as_json) {
		json_open(&j, '{');
		json_key(&j, "checks");
		json_open(&j, '[');
	}
	rc = try_all(&r, e);
	if (as_json) {
		json_close(&j, ']');
		json_put_bool(&j, "ok", r.missing == 0);
		json_close(&j, '}');
		buf_putc(b, '\n');
	} else {
		conclude(&r);
	}
	buf_free(&r.names);
	return rc < 0 ? -1 : r.missing;
}

/* With --syscalls the flags say of which policy. */
static int list_syscalls(const struct source_options *options, bool as_json,
			 struct buf *b, struct err *e)
{
	auto_policy struct policy p = { 0 };

	if ((options->files_n || options->statements_n) &&
	    source_load(options, &p, e) < 0)
		return -1;
	doctor_syscalls(&p, as_json, b);
	return 0;
}

int doctor_main(int argc, char **argv, struct err *e)
{
	static struct source_options options;
	auto_buf struct buf b = buf_new(OUTPUT_MAX);
	bool as_json = false, syscalls = false;
	const struct flag_spec own[] = {
		{ .name = "json", .set = &as_json },
		{ .name = "syscalls", .set = &syscalls },
		{ 0 },
	};
	int first = 0, missing = 0;

	if (flags_parse(own, &options, argc, argv, &first, e) < 0)
		return -1;
	if (first < argc ||
	    (!syscalls && (options.files_n || options.statements_n)))
		return err_kind(e, ERR_POLICY, "expected: stockade doctor "
				"[--json] [--syscalls [FLAGS]]");
	(void)signal(SIGPIPE, SIG_IGN);
	if (syscalls) {
		if (list_syscalls(&options, as_json, &b, e) < 0)
			return -1;
	} else {
		missing = examine(&b, as_json, e);
	}
	if (missing < 0 || buf_check(&b, "the report", e) < 0 ||
	    io_write_all(STDOUT_FILENO, buf_sv(&b), e) < 0)
		return -1;
	return missing != 0;
}
