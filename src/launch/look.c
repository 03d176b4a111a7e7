/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plan that open what the policy names.
 *
 * Whose file system does not answer, a server's or a FUSE daemon's, would keep
 * the run from ever starting, and its user from ending it.  So a process that
 * can be left behind does all this (aside.h), and the run is refused when no
 * answer has come in time.  Each part says at what it looks before it does
 * (builder_at()), which sets the time anew.
 */
#include "builder.h"

#include "aside.h"

struct look {
	struct builder *b;
	struct err *e;
	int rc;
};

static int look_at_all(struct builder *b, struct err *e)
{
	marks_plan(b);
	if (environment_plan(b, e) < 0)
		return -1;
	if (system_plan(b, e) < 0)
		return err_ctx(e, "the system's part of the sandbox");
	return command_plan(b, e) < 0 || grants_plan(b, e) < 0 ||
	       caches_check(b, e) < 0 || refusals_check(b, e) < 0 ||
	       guards_plan(b, e) < 0 || walk_plan(b, e) < 0 ||
	       links_plan(b, e) < 0 ? -1 : 0;
}

static void work(void *arg)
{
	struct look *look = arg;

	look->rc = look_at_all(look->b, look->e);
}

int look_plan(struct builder *b, struct err *e)
{
	struct look look = { .b = b, .e = e, .rc = -1 };
	int rc;

	builder_at(b, b->in->cwd ? sv_str(b->in->cwd) : SV("/"));
	rc = aside_run(work, &look, &b->until_ms, e);
	if (rc > 0)
		return err_kind(e, ERR_LIMIT, "%.*s: the file system there does "
				"not answer; unmount it, or grant smaller "
				"directories, or run in one", SV_FMT(b->at));
	return rc < 0 ? -1 : look.rc;
}
