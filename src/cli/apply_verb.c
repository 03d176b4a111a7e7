/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stockade apply`: makes a run's changes on the host, all that are chosen or
 * none.
 *
 * Left alone, and listed: what has changed on the host meanwhile, what would run
 * something later (without --guarded), and what is never applied.  The status is
 * 1 then.
 */
#include <stdio.h>

#include "apply.h"
#include "held_record.h"
#include "held_verbs.h"
#include "own.h"

enum { STATUS_LEFT = 1 };

static bool is_chosen(const struct change *change)
{
	return change->chosen;
}

static bool is_marked(const struct change *change)
{
	return change->refused || change->conflict || change->guarded;
}

/* Those that are chosen now; NULL without memory. */
static bool *mark_chosen(struct held_verb *v)
{
	bool *marks = arena_alloc(&v->held.arena, v->changes.n + 1);

	for (size_t i = 0; marks && i < v->changes.n; i++)
		marks[i] = v->changes.list[i].chosen;
	return marks;
}

/* Takes back the choice of what is not to be applied; how many. */
static size_t leave(struct held_verb *v, bool guarded)
{
	struct changes *c = &v->changes;
	const struct change *dir = NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct change *at = &c->list[i];
		bool in_left = dir && at->tree == dir->tree &&
			       change_is_below(at->path, dir->path);

		if (!at->chosen)
			continue;
		if (!in_left && !at->refused && !at->conflict &&
		    (guarded || !at->guarded))
			continue;
		at->chosen = false;
		n++;
		/* Without a new directory nothing can be in it. */
		if (!in_left && S_ISDIR(at->mode) &&
		    at->kind != CHANGE_MODIFIED)
			dir = at;
	}
	return n;
}

/* What apply_changes() tells when it is about to begin. */
struct decision {
	const struct held_verb *v;
	bool *left;
	bool recorded;
};

static int record(void *ctx, struct err *e)
{
	struct decision *d = ctx;

	if (held_record_apply(d->v, d->left, e) < 0)
		return -1;
	d->recorded = true;
	return 0;
}

static int carry_out(struct held_verb *v, struct decision *d, struct err *e)
{
	static struct apply apply;
	struct err why;

	apply.decided = record;
	apply.ctx = d;
	if (apply_changes(&apply, &v->held, &v->changes, e) == 0)
		return d->recorded ? 0 : record(d, e);
	/* With a journal it is not over: whoever reads that records it. */
	if (!d->recorded || journal_is_there(v->store_fd))
		return -1;
	why = *e;
	if (held_record_undone(v->held.run, sv_str(why.msg), e) < 0)
		return err_ctx(e, "%.150s", why.msg);
	*e = why;
	return -1;
}

static bool was_left(const struct change *change)
{
	return !change->chosen && is_marked(change);
}

static int forget(struct held_verb *v, struct err *e)
{
	if (changes_drop(&v->held, &v->changes, e) < 0)
		return err_ctx(e, "applied, but");
	v->changes = (struct changes){ 0 };
	return held_verb_tidy(v, e);
}

int apply_main(int argc, char **argv, struct err *e)
{
	bool guarded = false;
	const struct held_flag flags[] = {
		{ "--guarded", &guarded }, { 0 },
	};
	auto_verb struct held_verb v = { .flags = flags, .store_fd = -1 };
	struct decision d = { .v = &v };
	size_t left;
	int any;

	if (held_verb_parse(&v, argc, argv, e) < 0)
		return -1;
	any = held_verb_open(&v, true, e);
	if (any < 0)
		return -1;
	if (!any)
		return err_kind(e, ERR_POLICY, "no run holds any changes");
	held_verb_choose_parents(&v);
	d.left = mark_chosen(&v);
	if (!d.left)
		return err_kind(e, ERR_LIMIT, "out of memory");
	left = leave(&v, guarded);
	for (size_t i = 0; i < v.changes.n; i++)
		d.left[i] &= !v.changes.list[i].chosen;
	if (carry_out(&v, &d, e) < 0 ||
	    held_verb_list(&v, is_chosen, e) < 0)
		return -1;
	if (left) {
		(void)printf("left as it is on the host:\n");
		if (fflush(stdout) == EOF || held_verb_list(&v, was_left, e) < 0)
			return -1;
	}
	return forget(&v, e) < 0 ? -1 : left ? STATUS_LEFT : 0;
}
