/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plan that open what the policy names.
 *
 * Whose file system does not answer, a server's or a FUSE daemon's, would keep
 * the run from ever starting, and its user from ending it.  So a process that
 * can be left behind does all this (aside.h), and the run is refused when no
 * answer has come in time.  Each part says at what it looks before it does
 * (builder_at()), which sets the time anew.
 *
 * That process costs a fortieth of a start.  It is spared where the policy names
 * nothing and the working directory is on a disk: then the walk looks before it
 * enters a file system that has none, and all is done again as above.
 */
#include "builder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "aside.h"
#include "exposure.h"

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
	       key_files_plan(b, e) < 0 || guards_plan(b, e) < 0 ||
	       walk_plan(b, e) < 0 || links_plan(b, e) < 0 ||
	       exposure_look(b, e) < 0 ? -1 : 0;
}

static void work(void *arg)
{
	struct look *look = arg;

	look->rc = look_at_all(look->b, look->e);
}

/* Without a question to it, and without a name. */
static bool is_on_a_disk(int dir_fd)
{
	struct statx stx;

	return statx(dir_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0,
		     &stx) == 0 && stx.stx_dev_major != 0;
}

bool look_must_leave(struct builder *b, int dir_fd, const char *name)
{
	struct statx stx;

	if (!b->here)
		return false;
	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
		  AT_STATX_DONT_SYNC, 0, &stx) == 0 && stx.stx_dev_major != 0)
		return false;
	b->left = true;
	return true;
}

/* From then on as aside.c does. */
static void listen_if_late(struct builder *b)
{
	sigset_t mask;

	if (!b->here || loop_now_ms() < b->patient_ms)
		return;
	b->patient_ms = UINT64_MAX;
	aside_impatient(&mask);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
}

bool look_in_time(struct builder *b, struct sv path, uint64_t until_ms)
{
	builder_at(b, path);
	listen_if_late(b);
	return loop_now_ms() <= until_ms;
}

static int look_here(struct builder *b, struct err *e)
{
	sigset_t mask;
	int rc;

	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	b->here = true;
	b->patient_ms = loop_now_ms() + ASIDE_PATIENCE_MS;
	rc = look_at_all(b, e);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	return rc;
}

/* As they were before anything was looked at, but for what is allocated. */
static void forget(struct builder *b, const struct builder *builder,
		   const struct plan *plan)
{
	struct arena arena = b->plan->arena;

	*b->plan = *plan;
	b->plan->arena = arena;
	*b = *builder;
}

static int look_aside(struct builder *b, struct err *e)
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

/* What every run hides has no origin.  It is in the state directory, which was
 * opened before. */
static bool is_anything_named(const struct policy *p)
{
	for (size_t i = 0; i < p->grants_n; i++)
		if (p->grants[i].origin.file.p)
			return true;
	return false;
}

int look_plan(struct builder *b, struct err *e)
{
	const struct builder builder = *b;
	const struct plan plan = *b->plan;
	int rc;

	/* With a secret the home directory is looked at as well (exposure.c). */
	if (is_anything_named(b->policy) || b->policy->secrets_n ||
	    !is_on_a_disk(AT_FDCWD))
		return look_aside(b, e);
	rc = look_here(b, e);
	if (!b->left)
		return rc;
	forget(b, &builder, &plan);
	return look_aside(b, e);
}
