/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of held changes: see held_record.h.
 *
 * A record is written and synced before what it speaks of is done.  Counts are
 * of all changes, names of the first ones only, each cut to a bound: a run can
 * hold a million, and a record is one line.
 */
#include "held_record.h"

#include "own.h"
#include "resume.h"

/* 2 lists of 32 names of 512 bytes fit in a line, also when each byte of them
 * takes six. */
enum { PATHS_MAX = 32, PATH_RECORDED_MAX = 512 };

#define auto_trail __attribute__((cleanup(trail_close)))

static int finish(struct trail *t, struct err *e)
{
	return trail_commit(t, e) < 0 ? -1 : trail_sync(t, e);
}

static struct json *begin(struct trail *t, const char *event,
			  const struct held *h)
{
	struct json *j = trail_begin(t, event);

	json_put_str(j, "run", h->run);
	if (held_is_name(h->id))
		json_put_str(j, "kept", h->id);
	return j;
}

/* Which changes a record counts. */
struct selection {
	const struct held_verb *v;
	const bool *marks;	/* one for each, or NULL: the chosen */
};

static bool is_selected(const struct selection *s, size_t i)
{
	return s->marks ? s->marks[i] : s->v->changes.list[i].chosen;
}

struct counts {
	uint64_t all, guarded, conflicts;
};

static struct counts count(const struct selection *s)
{
	struct counts c = { 0 };

	for (size_t i = 0; i < s->v->changes.n; i++) {
		const struct change *change = &s->v->changes.list[i];

		if (!is_selected(s, i))
			continue;
		c.all++;
		c.guarded += change->guarded;
		c.conflicts += change->conflict;
	}
	return c;
}

/* "M /home/me/project/src/a.c" */
static int put_paths(struct json *j, const char *key,
		     const struct selection *s, struct err *e)
{
	unsigned n = 0;

	json_key(j, key);
	json_open(j, '[');
	for (size_t i = 0; i < s->v->changes.n && n < PATHS_MAX; i++) {
		const struct change *change = &s->v->changes.list[i];
		auto_buf struct buf b = buf_new(4 * PATH_MAX);

		if (!is_selected(s, i))
			continue;
		buf_putc(&b, (char)change->kind);
		buf_putc(&b, ' ');
		held_verb_put_path(s->v, change, &b);
		if (buf_check(&b, "a path", e) < 0)
			return -1;
		json_sv(j, sv_head(buf_sv(&b), PATH_RECORDED_MAX));
		n++;
	}
	json_close(j, ']');
	return 0;
}

static int put_changes(struct json *j, const struct held_verb *v,
		       struct err *e)
{
	const struct selection chosen = { .v = v };
	struct counts n = count(&chosen);

	json_put_u64(j, "changes", n.all);
	json_put_u64(j, "guarded", n.guarded);
	json_put_u64(j, "conflicts", n.conflicts);
	return put_paths(j, "paths", &chosen, e);
}

int held_record_apply(const struct held_verb *v, const bool *left,
		      struct err *e)
{
	const struct selection others = { .v = v, .marks = left };
	struct counts n = count(&others);
	auto_trail struct trail t;
	struct json *j;

	if (resume_trail(v->held.run, &t, e) < 0)
		return -1;
	j = begin(&t, "apply", &v->held);
	if (put_changes(j, v, e) < 0)
		return -1;
	json_put_u64(j, "left", n.all);
	json_put_u64(j, "left_guarded", n.guarded);
	json_put_u64(j, "left_conflicts", n.conflicts);
	if (put_paths(j, "left_paths", &others, e) < 0)
		return -1;
	return finish(&t, e);
}

int held_record_discard(const struct held_verb *v, struct err *e)
{
	auto_trail struct trail t;

	if (resume_trail(v->held.run, &t, e) < 0 ||
	    put_changes(begin(&t, "discard", &v->held), v, e) < 0)
		return -1;
	return finish(&t, e);
}

int held_record_lost(const struct held_verb *v, const struct err *why,
		     struct err *e)
{
	auto_trail struct trail t;

	if (resume_trail(v->held.run, &t, e) < 0)
		return -1;
	json_put_str(begin(&t, "discard", &v->held), "unreadable", why->msg);
	return finish(&t, e);
}

int held_record_undone(const char *run, struct sv why, struct err *e)
{
	auto_trail struct trail t;
	struct json *j;

	if (resume_trail(run, &t, e) < 0)
		return -1;
	j = trail_begin(&t, "undone");
	json_put_str(j, "run", run);
	json_put_sv(j, "reason", why);
	return finish(&t, e);
}
