/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stockade run`: from the command line to the command's status.
 *
 *	policy		what was asked for, merged and checked
 *	sandbox		pid 1 is there, before there are secrets to copy
 *	secrets		sources opened, vault starts (it takes longest)
 *	plan		the host is looked at, while pid 1 makes the network
 *	record		the run's trail begins, while pid 1 builds the root
 *	go		vault is ready, the root stands: the command executes
 *	supervise	supervise.c, until the command has ended
 *	end		the last record, synced; nothing is left running
 *
 * Any failure before `go` ends in -1: the command has not run.
 */
#include "run.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bounds.h"
#include "cache_store.h"
#include "complaint.h"
#include "exposure.h"
#include "launch.h"
#include "obstacle.h"
#include "own.h"
#include "process.h"
#include "program.h"
#include "publish.h"
#include "relay.h"
#include "run_control.h"
#include "run_dir.h"
#include "run_held.h"
#include "run_hidden.h"
#include "run_key_files.h"
#include "run_record.h"
#include "secret_file.h"
#include "source.h"
#include "supervise.h"
#include "warden.h"
#include "worktree.h"

enum { POLICY_FILES_MAX = 128, SEALED_MAX = 5 };
#define STORE "templates"	/* in the state directory */

/* Everything of one run; run_fini() undoes it in the right order. */
struct run {
	struct policy policy;
	struct loop *loop;
	struct run_record record;
	struct warden warden;
	struct launch_input input;
	const char *sealed[SEALED_MAX], *pinned[POLICY_FILES_MAX];
	struct plan *plan;		/* owned */
	struct sandbox sandbox;
	struct terminal terminal;
	struct bounds bounds;
	struct relay relays[3];
	struct run_held held;
	struct leavings leavings;
	struct run_sentry sentry;
	struct run_control control;
	struct secret_file secrets;
	bool has_record, has_warden, has_sandbox, is_planned;
	bool needs_reaping;	/* pid 1, by us */
	struct launch_variable *variables;	/* owned */
	struct cache_set caches;
	struct publish *publish;
	char cwd[PATH_MAX];
};

struct run_flags {
	bool explain, json;
};

static void kill_sandbox(struct run *r)
{
	if (r->has_sandbox)
		sandbox_kill(&r->sandbox);
	r->has_sandbox = false;
}

/* Nothing runs any more, and the user's terminal is the user's. */
static void end_sandbox(struct run *r)
{
	run_sentry_close(&r->sentry);
	/* Where only pid 1 is left, it ends when we do, and what the kernel
	 * then clears away is in nobody's way. */
	if (!r->sandbox.empty || r->sandbox.groups.n)
		kill_sandbox(r);
	publish_close(r->publish);
	r->publish = NULL;
	for (size_t i = 0; i < countof(r->relays); i++)
		relay_close(&r->relays[i]);
	terminal_close(&r->terminal);
}

/* Which limit was reached, if one was: to a person, and what records it. */
static struct sv tell_limit(const struct run *r, bool timed_out, int *status)
{
	enum limit_kind kind = bounds_verdict(&r->bounds, &r->sandbox,
					      timed_out, status);
	struct sv text = bounds_text(&r->bounds, kind);

	if (text.n)
		(void)fprintf(stderr, "stockade: limit %.*s reached\n",
			      SV_FMT(text));
	return text;
}

static void run_fini(struct run *r)
{
	run_control_close(&r->control);
	end_sandbox(r);
	bounds_close(&r->bounds);
	if (r->has_warden)
		warden_fini(&r->warden);
	plan_free(r->plan);
	if (r->has_record)
		run_record_fini(&r->record);
	loop_free(r->loop);
	free(r->variables);
	leavings_fini(&r->leavings);
	cache_set_close(&r->caches);
	run_held_fini(&r->held);
	secret_file_close(&r->secrets);
	policy_free(&r->policy);
	if (!r->sandbox.empty || r->needs_reaping)
		kill_sandbox(r);
}
#define auto_run __attribute__((cleanup(run_fini)))

static int command_missing(struct err *e)
{
	return err_kind(e, ERR_POLICY, "no command given: stockade run "
			"[FLAGS] -- COMMAND...");
}

/* An entry that may be missing: vault, which is reading the file, knows. */
static bool may_lack_entry(const struct policy *p)
{
	for (size_t i = 0; i < p->secrets_n; i++)
		if (p->secrets[i].optional && p->secrets[i].entry.n)
			return true;
	return false;
}

static int make_variables(struct run *r, struct err *e)
{
	struct launch_input *in = &r->input;
	const struct credential_set *set = &r->warden.credentials;

	if (set->n == 0)
		return 0;
	if (may_lack_entry(&r->policy) &&
	    warden_await_vault(&r->warden, e) < 0)
		return -1;
	r->variables = calloc(set->n, sizeof *r->variables);
	if (!r->variables)
		return err_sys(e, "allocate the environment");
	for (size_t i = 0; i < set->n; i++) {
		if (set->v[i].absent)
			continue;
		r->variables[in->variables_n++] = (struct launch_variable){
			.name = set->v[i].rule->name,
			.value = credential_placeholder(&set->v[i]),
		};
	}
	in->variables = r->variables;
	return run_key_files(&r->policy, set, in, e);
}

/* What decides over later runs: state, programs, policies.  The texts live in
 * the policy's arena. */
static int list_sealed(struct run *r, struct err *e)
{
	struct arena *a = &r->policy.arena;
	struct sv folders[2], state;
	size_t n = 0;

	if (program_dir().n == 0)
		return err_sys(e, "find the folder of this program");
	if (run_state_path(a, &state, e) < 0 ||
	    source_folders(a, folders, e) < 0)
		return -1;
	r->sealed[n++] = arena_str(a, state);
	r->sealed[n++] = arena_str(a, program_dir());
	r->sealed[n++] = helper_installed_dir();
	for (size_t i = 0; i < countof(folders); i++)
		if (folders[i].n)
			r->sealed[n++] = arena_str(a, folders[i]);
	for (size_t i = 0; i < n; i++)
		if (!r->sealed[i])
			return err_kind(e, ERR_LIMIT, "out of memory");
	r->input.sealed = r->sealed;
	r->input.sealed_n = n;
	return 0;
}

/* All but the variables of secrets, which nobody has read yet. */
static int make_input(struct run *r, char **argv, struct err *e)
{
	r->input = (struct launch_input){
		.argv = argv, .environ = environ, .cwd = r->cwd,
		.pinned = r->pinned,
		.wants_ca = policy_needs_tls(&r->policy),
	};
	if (list_sealed(r, e) < 0)
		return -1;
	if (r->policy.files_n > POLICY_FILES_MAX)
		return err_kind(e, ERR_LIMIT, "more than %d policy files",
				POLICY_FILES_MAX);
	for (size_t i = 0; i < r->policy.files_n; i++)
		r->pinned[r->input.pinned_n++] = arena_str(&r->policy.arena,
							   r->policy.files[i]);
	return 0;
}

static int begin_plan(struct run *r, struct err *e)
{
	static const int stdio[3] = { 0, 1, 2 };

	r->plan = plan_new(stdio, &r->policy, e);
	return r->plan ? 0 : -1;
}

/* Directories that this policy's runs find again. */
static int open_caches(struct run *r, bool make, struct err *e)
{
	if (cache_set_open(&r->caches, &r->policy, r->cwd, make, e) < 0)
		return -1;
	r->input.caches = r->caches.list;
	r->input.caches_n = r->caches.n;
	return 0;
}

/* Where later runs find what this one leaves them: checked, and its name. */
static int open_store(struct run *r, struct err *e)
{
	auto_buf struct buf path = buf_new(PATH_MAX);
	auto_fd int fd = -1;
	struct sv state;

	if (run_state_path(&r->policy.arena, &state, e) < 0 ||
	    run_state_open(STORE, true, &fd, e) < 0)
		return -1;
	buf_put(&path, state);
	buf_puts(&path, "/" STORE);
	if (buf_check(&path, "the state directory's name", e) < 0)
		return -1;
	r->input.store = arena_str(&r->policy.arena, buf_sv(&path));
	return r->input.store ? 0 : err_kind(e, ERR_LIMIT, "out of memory");
}

/* Where this run's changes are held, under its name. */
static int open_held(struct run *r, struct err *e)
{
	int fd;

	if (r->policy.workspace != WORKSPACE_OVERLAY)
		return 0;
	if (run_record_name(&r->record, e) < 0)
		return -1;
	r->record.kept = r->policy.keep;
	if (run_held_begin(&r->held, r->record.id, r->policy.keep, &r->input,
			   e) < 0)
		return -1;
	if (!r->plan->limits.by_kind[LIMIT_WORKSPACE].set)
		return 0;
	fd = sandbox_layers(&r->sandbox, r->plan, e);
	return fd < 0 ? -1 : run_held_limit(&r->held, fd, r->plan, &r->input,
				       e);
}

static int explain(struct run *r, char **argv, bool json, struct err *e)
{
	auto_buf struct buf text = buf_new(16 << 20);

	if (begin_plan(r, e) < 0 || make_input(r, argv, e) < 0 ||
	    open_caches(r, false, e) < 0 ||
	    run_key_files(&r->policy, NULL, &r->input, e) < 0 ||
	    plan_build(r->plan, &r->policy, &r->input, e) < 0)
		return -1;
	plan_print(r->plan, &text, json);
	if (buf_check(&text, "the plan", e) < 0)
		return -1;
	(void)fwrite(text.p, 1, text.n, stdout);
	return 0;
}

static int open_terminal(struct run *r, struct err *e)
{
	const int stdio[3] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };

	if (sandbox_pty(&r->sandbox, e) < 0)
		return -1;
	if (terminal_open(&r->terminal, r->loop, stdio,
			  steal_fd(&r->sandbox.pty_fd), e) < 0)
		return -1;
	r->terminal.count = &r->bounds.output;
	r->terminal.filtered = r->policy.screen == SCREEN_FILTER;
	return 0;
}

static int open_relays(struct run *r, struct err *e)
{
	for (int i = 0; i < 3; i++) {
		if (r->sandbox.relay_fd[i] < 0)
			continue;
		if (relay_open(&r->relays[i], r->loop, i,
			       steal_fd(&r->sandbox.relay_fd[i]), i != 0,
			       e) < 0)
			return -1;
		r->relays[i].count = i ? &r->bounds.output : NULL;
	}
	return 0;
}

/* What the secrets are called inside, and nothing else of them. */
static int open_warden(struct run *r, char **argv, struct err *e)
{
	r->has_warden = true;
	if (warden_init(&r->warden, r->loop, &r->policy, &r->record.trail,
			&r->secrets.seal, e) < 0)
		return -1;
	secret_file_close(&r->secrets);
	r->has_record = true;
	if (run_record_command(&r->record, &r->warden.credentials, argv,
			       e) < 0)
		return -1;
	credential_set_forget(&r->warden.credentials);
	return make_variables(r, e);
}

static int release(struct run *r, struct err *e)
{
	/*
	 * No core, no ptrace by the user's other processes.  Not earlier: the
	 * maps of the new user namespace are written through /proc, which a
	 * process that is not dumpable may not do for its child.
	 */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(e, "prctl PR_SET_DUMPABLE");
	if (r->plan->wants_pty && open_terminal(r, e) < 0)
		return -1;
	if (open_relays(r, e) < 0 ||
	    run_held_guard(&r->held, r->sandbox.pidfd, e) < 0 ||
	    bounds_watch(&r->bounds, r->loop, &r->sandbox, e) < 0)
		return -1;
	if (sandbox_go(&r->sandbox, buf_sv(&r->warden.ca_pem), e) < 0)
		return -1;
	run_held_tidy(&r->held);
	return 0;
}

/* While pid 1 builds, vault looks for the secrets in what there will be. */
static int search(struct run *r, struct err *e)
{
	const struct exposure *x = r->plan->exposure;

	return x ? warden_search(&r->warden, buf_sv(&x->text), e) : 0;
}

static int check_found(const struct run *r, struct err *e)
{
	struct sv name, where;
	size_t at;

	if (!warden_has_found(&r->warden, &name, &at))
		return 0;
	where = exposure_at(r->plan->exposure, at);
	if (where.p[0] != '/')
		return err_kind(e, ERR_POLICY, "secret %.*s: its value is also "
				"in %.*s, which the agent has", SV_FMT(name),
				SV_FMT(where));
	return err_kind(e, ERR_POLICY, "secret %.*s: its value is also in "
			"%.*s, which the agent can read (write `hide %.*s`)",
			SV_FMT(name), SV_FMT(where), SV_FMT(where));
}

/* pid 1, the plan and vault come up side by side; then the command executes. */
static int start(struct run *r, char **argv, struct err *e)
{
	if (begin_plan(r, e) < 0) {
		obstacle_explain(e);
		return -1;
	}
	if (bounds_open(&r->bounds, r->plan, e) < 0)
		return -1;
	r->has_sandbox = true;
	/* Before there are secrets in this memory, of which it has a copy. */
	if (sandbox_start(r->plan, &r->sandbox, e) < 0) {
		obstacle_explain(e);
		return -1;
	}
	/* All else afterwards: pid 1 has as much to do. */
	r->loop = loop_new(e);
	if (!r->loop || run_held_recover(e) < 0 ||
	    make_input(r, argv, e) < 0 || open_warden(r, argv, e) < 0 ||
	    run_make_hidden(e) < 0 || open_store(r, e) < 0 ||
	    open_caches(r, true, e) < 0 ||
	    publish_open(&r->publish, &r->policy, r->loop, &r->sandbox,
			 &r->warden, e) < 0 ||
	    open_held(r, e) < 0 ||
	    plan_build(r->plan, &r->policy, &r->input, e) < 0 ||
	    search(r, e) < 0 ||
	    run_held_note(&r->held, r->plan, r->sandbox.pid, e) < 0)
		return -1;
	r->is_planned = true;
	/* Two threads build the sandbox, and the record is only needed when they
	 * have done it. */
	if (sandbox_build(r->plan, &r->sandbox, e) < 0)
		return -1;
	process_give_way(true);
	if (sandbox_network(&r->sandbox, e) < 0) {
		obstacle_explain(e);
		return -1;
	}
	r->record.most = r->policy.limits[LIMIT_RECORD].value;
	if (publish_check(r->publish, r->sandbox.tcp_fd, e) < 0 ||
	    run_record_init(&r->record, e) < 0 ||
	    run_record_start(&r->record, r->cwd, e) < 0)
		return -1;
	process_give_way(false);
	if (warden_await_vault(&r->warden, e) < 0 || check_found(r, e) < 0 ||
	    warden_serve(&r->warden, steal_fd(&r->sandbox.tcp_fd),
			 steal_fd(&r->sandbox.dns_fd), e) < 0)
		return -1;
	return release(r, e);
}

/* A command that is not there is the shell's 127, not our failure. */
static int status_of_failure(const struct run *r, const struct err *e)
{
	int status = r->sandbox.status;

	if (status == LAUNCH_FAILED && r->plan)
		status = r->plan->status;
	if (status != LAUNCH_NOT_FOUND && status != LAUNCH_NOT_EXECUTABLE)
		return -1;
	complain("", e->msg, false);
	return status;
}

/* To a person; a program reads the log. */
static void tell_denials(const struct run *r)
{
	if (r->warden.denied && isatty(STDERR_FILENO))
		(void)fprintf(stderr, "stockade: %" PRIu64 " denied: "
			      "`stockade log %s --denied` says why\n",
			      r->warden.denied, r->record.id);
}

/* If it can be; the failure itself is told in any case. */
static void record_failure(struct run *r, const struct err *why)
{
	struct err ignored;

	if (!r->is_planned)
		return;
	if (r->record.trail.fd < 0 &&
	    (run_record_init(&r->record, &ignored) < 0 ||
	     run_record_start(&r->record, r->cwd, &ignored) < 0))
		return;
	run_record_failed(&r->record, why);
}

/* The command has not run: the status, or -1. */
static int end_failed(struct run *r, struct supervision *s, struct err *e)
{
	int status;

	end_sandbox(r);
	supervise_fini(s);
	if (r->sandbox.reached == LIMIT_MEMORY)
		(void)err_ctx(e, "limit %.*s reached", SV_FMT(
			bounds_text(&r->bounds, LIMIT_MEMORY)));
	run_held_explain(&r->held, e);
	status = status_of_failure(r, e);
	record_failure(r, e);
	return status;
}

static void prepare(struct run *r, struct supervision *s)
{
	r->needs_reaping = !process_orphans_are_reaped();
	run_prepare();
	s->loop = r->loop;
	s->warden = &r->warden;
	s->sandbox = &r->sandbox;
	s->terminal = r->plan->wants_pty ? &r->terminal : NULL;
	s->publish = r->publish;
	s->bounds = &r->bounds;
	s->leavings = &r->leavings;
	r->sentry.plan = r->plan;
	r->sentry.loop = r->loop;
	r->sentry.sandbox = &r->sandbox;
	r->sentry.warden = &r->warden;
	s->sentry = &r->sentry;
	r->control.loop = r->loop;
	r->control.warden = &r->warden;
	r->control.run = r->record.id;
	s->asked = &r->control;
}

static void tell(const struct run *r, struct buf *hint)
{
	tell_denials(r);
	run_sentry_tell(&r->sentry, r->record.id);
	if (hint->n && buf_cstr(hint))
		complain("", hint->p, false);
	/* What an overlay holds is named by `apply`. */
	if (r->policy.workspace != WORKSPACE_OVERLAY)
		leavings_tell(&r->leavings, r->record.id);
}

static int run(struct run *r, char **argv, struct err *e)
{
	struct supervision s;
	struct err other;
	auto_buf struct buf hint = buf_new(4 * PATH_MAX);
	struct sv limit;
	int status, rc;

	if (supervise_signals(&s, e) < 0)
		return -1;
	worktree_look(&r->policy, r->cwd, &hint);
	if (start(r, argv, e) < 0)
		return end_failed(r, &s, e);
	/* While the command runs: */
	prepare(r, &s);
	status = supervise(&s, r->policy.limits[LIMIT_TIME].value, e);
	supervise_fini(&s);
	end_sandbox(r);
	warden_hear_out(&r->warden);
	/* Nobody writes any more; that pid 1 still has the overlay mounted is in
	 * nobody's way, and only a kept one's next run waits for it. */
	rc = run_held_end(&r->held, e);
	limit = tell_limit(r, s.timed_out, &status);
	if (run_record_end(&r->record, &r->warden, status, limit, &other) < 0) {
		*e = other;
		return -1;
	}
	if (rc < 0)
		return -1;
	tell(r, &hint);
	return s.interrupted && status == 128 + SIGINT ? RUN_INTERRUPTED :
							 status;
}

int run_main(int argc, char **argv, struct err *e)
{
	struct run_flags f = { 0 };
	const struct flag_spec own[] = {
		{ .name = "explain", .set = &f.explain },
		{ .name = "json", .set = &f.json },
		{ 0 },
	};
	static struct source_options options;
	auto_run struct run r = { 0 };
	int first = 0;

	r.sandbox.pidfd = r.sandbox.control_fd = -1;
	r.record.trail.fd = -1;
	r.held = run_held_none();
	r.sentry = run_sentry_none();
	r.control = run_control_none();
	r.secrets = SECRET_FILE_NONE;
	if (flags_parse(own, &options, argc, argv, &first, e) < 0)
		return -1;
	if (first >= argc)
		return command_missing(e);
	if (f.json && !f.explain)
		return err_kind(e, ERR_POLICY, "--json goes with --explain");
	if (!getcwd(r.cwd, sizeof r.cwd))
		return err_sys(e, "find the working directory");
	if (source_load(&options, &r.policy, e) < 0 ||
	    run_hide(&r.policy, e) < 0)
		return -1;
	if (f.explain)
		return explain(&r, argv + first, f.json, e);
	/* A person is asked while Ctrl-C still ends this. */
	if (secret_file_prepare(&r.secrets, &r.policy, e) < 0)
		return -1;
	return run(&r, argv + first, e);
}
