/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a policy to a plan: see launch.h.
 *
 * The parts are called in an order that their data demands: the environment
 * has the PATH by which the command is found; the command and the grants are
 * areas; guards and masks need to know all areas; mounts are sorted last.
 */
#include "builder.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "area.h"
#include "devices.h"
#include "exposure.h"
#include "kept.h"
#include "made.h"
#include "own.h"
#include "process.h"
#include "template.h"
#include "userns.h"

enum { PLAN_ARENA_MAX = 96 << 20, STEPS_USUAL = 128 };

static bool is_counted(const struct plan *plan, int i)
{
	return i != 0 && plan->limits.by_kind[LIMIT_OUTPUT].set;
}

static int plan_stdio(struct plan *plan, const int stdio[3], struct err *e)
{
	for (int i = 0; i < 3; i++) {
		int fd = stdio[i];
		int flags = fcntl(fd, F_GETFL);
		struct stat st;

		if (flags < 0 || fstat(fd, &st) < 0)
			return err_sys(e, "standard descriptor %d", i);
		if ((flags & O_PATH) || S_ISDIR(st.st_mode))
			return err_kind(e, ERR_POLICY, "standard descriptor %d "
					"is a directory: it would show what "
					"lies below and around it", i);
		plan->stdio_fd[i] = fd;
		/* A socket could carry descriptors, and its peer's name. */
		if (S_ISSOCK(st.st_mode) || is_counted(plan, i))
			plan->stdio[i] = PLAN_STDIO_RELAY;
		if (S_ISCHR(st.st_mode) && isatty(fd)) {
			plan->stdio[i] = PLAN_STDIO_PTY;
			plan->wants_pty = true;
		}
	}
	return 0;
}

static int plan_argv(struct builder *b, struct err *e)
{
	size_t n = 0;
	char **argv;

	while (b->in->argv[n])
		n++;
	argv = arena_alloc(b->arena, (n + 1) * sizeof *argv);
	if (!argv)
		return err_kind(e, ERR_LIMIT, "the command is too long");
	for (size_t i = 0; i < n; i++) {
		const char *word = builder_str(b, sv_str(b->in->argv[i]));

		memcpy(&argv[i], &word, sizeof word);
	}
	b->plan->argv = argv;
	return 0;
}

static void add(struct builder *b, enum step_kind kind, const char *why)
{
	builder_step(b, kind, SV(""), sv_str(why))->flags = STEP_SYSTEM;
}

static void plan_groups(struct builder *b)
{
	auto_buf struct buf text = buf_new(2048);

	limits_put_groups(&b->plan->limits, &text);
	if (b->plan->limits.places_n)
		add(b, STEP_CGROUP, builder_str(b, buf_sv(&text)));
}

static void plan_rlimits(struct builder *b)
{
	auto_buf struct buf text = buf_new(256);

	limits_put_rlimits(&b->plan->limits, &text);
	if (text.n)
		add(b, STEP_RLIMITS, builder_str(b, buf_sv(&text)));
}

/* An optional profile that is not there has no program. */
static int check_syscalls(const struct builder *b, struct err *e)
{
	for (size_t i = 0; i < b->policy->syscalls_n; i++) {
		const struct syscalls_rule *r = &b->policy->syscalls[i];

		if (r->program.n == 0 && !r->optional)
			return err_kind(e, ERR_BUG, "%.*s: no filter was made",
					SV_FMT(sv_head(r->text, 100)));
	}
	return 0;
}

static void plan_syscalls(struct builder *b, const struct syscalls_rule *r)
{
	if (r->program.n)
		builder_step(b, STEP_SYSCALLS, SV(""), r->text)->source =
			r->program;
}

/* From the tree that is built to the command that runs. */
static void plan_end(struct builder *b)
{
	if (b->plan->wants_ca)
		builder_step(b, STEP_TRUST, SV("/etc/stockade"),
			     SV("system"))->flags = STEP_SYSTEM;
	add(b, STEP_SEAL, "the root is read-only from here");
	add(b, STEP_ENTER, "pivot_root; the old root is detached meanwhile");
	builder_step(b, STEP_WORKDIR, areas_find(b, sv_str(b->in->cwd)) ?
		     builder_dup(b, sv_str(b->in->cwd)) : SV("/"),
		     SV("the working directory"));
	b->plan->built = b->plan->steps_n;
	add(b, STEP_HOLD, "what is covered and guarded has to stay so");
	add(b, STEP_PTY, !b->plan->wants_pty ? "a session of its own" :
	    b->policy->screen == SCREEN_FILTER ?
	    "a session with a terminal of its own, and its output filtered" :
	    "a session with a terminal of its own");
	if (b->plan->wants_pty)
		add(b, STEP_REPORT, "the terminal's other side to the parent");
	add(b, STEP_LANDLOCK, "this root only; written where granted");
	/* The word comes last as a rule: it is slept for once, not twice. */
	add(b, STEP_GO, "wait for the parent's word");
	add(b, STEP_JOIN, "wait for the thread; the host is gone");
	if (b->plan->wants_ca)
		add(b, STEP_CERTIFICATE, "this run's authority is trusted");
	plan_rlimits(b);
	if (b->plan->creation_n)
		add(b, STEP_KEEPER, "what is guarded and not there is not "
		    "made");
	for (size_t i = 0; i < b->policy->syscalls_n; i++)
		plan_syscalls(b, &b->policy->syscalls[i]);
	builder_step(b, STEP_COMMAND, sv_str(b->plan->path),
		     SV("the command"))->flags = STEP_SYSTEM;
}

static void plan_local_ports(struct builder *b, const struct policy *p)
{
	struct plan *plan = b->plan;

	for (size_t i = 0; i < p->reaches_n; i++) {
		uint16_t *port;

		if (!sv_eq(p->reaches[i].host, SV("localhost")))
			continue;
		port = arena_push(b->arena, &plan->local_ports,
				  &plan->local_ports_n, &plan->local_ports_cap);
		if (port)
			*port = p->reaches[i].port;
		else
			b->full = true;
	}
}

/* What no plan changes. */
static int begin(struct builder *b, const int stdio[3], const struct policy *p,
		 struct err *e)
{
	/* Room for a usual plan: an array that grows leaves pages behind. */
	b->plan->steps = arena_alloc(b->arena, STEPS_USUAL *
				     sizeof *b->plan->steps);
	b->plan->steps_cap = b->plan->steps ? STEPS_USUAL : 0;
	if (limits_decide(p, &b->plan->limits, e) < 0 ||
	    plan_stdio(b->plan, stdio, e) < 0 || identity_begin(b, e) < 0)
		return -1;
	plan_groups(b);
	plan_local_ports(b, p);
	add(b, STEP_SEPARATE, "mount ipc uts cgroup namespaces");
	layers_plan(b);
	builder_step(b, STEP_HOSTNAME, SV(HOST_NAME), SV("system"))->flags =
		STEP_SYSTEM;
	add(b, STEP_THREAD, "one that builds the root meanwhile");
	add(b, STEP_NETWORK, "a namespace, lo, all routes local, every TCP "
	    "connection and DNS question to edge");
	add(b, STEP_LIMITS, "no core file, signals, personality");
	add(b, STEP_FORGET, "wipe the caller's environment; undumpable");
	add(b, STEP_CAPABILITIES, "all sets empty, no_new_privs");
	b->plan->debug = p->debug;
	add(b, STEP_SECCOMP, p->debug ?
	    "the agent's filter, with tracing (debug on)" :
	    "the agent's filter");
	b->plan->early = b->plan->steps_n;
	return b->full ? err_kind(e, ERR_LIMIT, "out of memory") : 0;
}

struct plan *plan_new(const int stdio[3], const struct policy *p,
		      struct err *e)
{
	struct builder b = { 0 };
	struct arena arena;

	if (arena_new_shared(PLAN_ARENA_MAX, &arena, e) < 0)
		return NULL;
	b.plan = arena_make(&arena, struct plan);
	*b.plan = (struct plan){ .arena = arena, .status = LAUNCH_FAILED };
	b.arena = &b.plan->arena;
	process_cpus(&b.plan->cpus);
	if (begin(&b, stdio, p, e) < 0) {
		plan_free(b.plan);
		return NULL;
	}
	return b.plan;
}

static void keep_seen(struct builder *b)
{
	struct builder *seen = arena_make(b->arena, struct builder);

	if (!seen) {
		b->full = true;
		return;
	}
	/* Pages of it are there when they are written. */
	if (b->plan->creation_n) {
		b->plan->made = arena_make(b->arena, struct made_log);
		b->plan->kept = arena_make(b->arena, struct kept);
		b->full |= !b->plan->made || !b->plan->kept;
	}
	*seen = *b;
	seen->in = NULL;	/* the caller's, who may be done with it */
	b->plan->seen = seen;
}

int plan_build(struct plan *plan, const struct policy *p,
	       const struct launch_input *in, struct err *e)
{
	struct builder builder = {
		.plan = plan, .policy = p, .in = in, .arena = &plan->arena,
	};
	struct builder *b = &builder;

	plan->wants_ca = in->wants_ca;
	identity_plan(b);
	if (look_plan(b, e) < 0 || plan_argv(b, e) < 0 ||
	    devices_plan(b, e) < 0 || areas_mount(b, e) < 0 || overlay_plan(b, e) < 0 ||
	    idmap_plan(b, e) < 0 || template_plan(b, e) < 0 ||
	    limits_plan_io(b, e) < 0 || check_syscalls(b, e) < 0)
		return -1;
	plan_end(b);
	exposure_add_words(b);
	keep_seen(b);
	if (b->full)
		return err_kind(e, ERR_LIMIT, "the plan is too large");
	return 0;
}

void plan_free(struct plan *plan)
{
	struct arena arena;

	if (!plan)
		return;
	limits_forget(&plan->limits);
	exposure_free(plan->exposure);
	for (size_t i = 0; i < plan->steps_n; i++)
		close_fd(&plan->steps[i].tree_fd);
	for (size_t i = 0; i < plan->overlays_n; i++)
		close_fd(&plan->overlays[i].whole.fd);
	arena = plan->arena;	/* which holds the plan itself */
	arena_free(&arena);
}

size_t plan_step_count(const struct plan *plan)
{
	return plan->steps_n;
}
