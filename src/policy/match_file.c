/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deciding one path: see match_file.h.
 *
 * hide > guard > cache, write and read, of which the longer path wins.  Below the
 * grant that wins, dot-entries are masked unless they are shown.
 */
#include "match_file.h"

#include "dotfiles.h"
#include "glob.h"
#include "filepath.h"
#include "statement.h"
#include "text_form.h"

struct decision {
	const struct policy *p;
	const struct file_question *q;
	struct arena *a;
	struct file_answer *ret;
	struct buf *reason;
	bool full;
};

static struct filepath path_of(const struct grant *g)
{
	return (struct filepath){
		.path = g->path, .is_glob = g->is_glob,
		.grants = g->kind == GRANT_READ || g->kind == GRANT_WRITE,
	};
}

/* The first statement of a kind that names path or something above it. */
static const struct grant *find_above(const struct policy *p,
				      enum grant_kind kind, struct sv path,
				      size_t *ret_n)
{
	for (size_t i = 0; i < p->grants_n; i++) {
		struct filepath f = path_of(&p->grants[i]);

		if (p->grants[i].kind == kind &&
		    filepath_covers(&f, path, ret_n))
			return &p->grants[i];
	}
	return NULL;
}

static bool is_named(const struct policy *p, enum grant_kind kind,
		     struct sv path)
{
	for (size_t i = 0; i < p->grants_n; i++) {
		struct filepath f = path_of(&p->grants[i]);

		if (p->grants[i].kind == kind && filepath_match(&f, path))
			return true;
	}
	return false;
}

static bool is_below_or_at(struct sv path, struct sv dir)
{
	return sv_starts(path, dir) &&
	       (path.n == dir.n || dir.n == 1 || path.p[dir.n] == '/');
}

/* The longest read or write grant; *ret_n is how much of the path it names.
 * Without one, the working directory, or 0. */
static const struct grant *find_area(const struct decision *d, size_t *ret_n)
{
	const struct grant *best = NULL;
	size_t best_n = is_below_or_at(d->q->path, d->q->cwd) ? d->q->cwd.n : 0;

	for (size_t i = 0; i < d->p->grants_n; i++) {
		const struct grant *g = &d->p->grants[i];
		struct filepath f = path_of(g);
		size_t n = 0;

		if ((g->kind != GRANT_READ && g->kind != GRANT_WRITE &&
		     g->kind != GRANT_CACHE) ||
		    !filepath_covers(&f, d->q->path, &n))
			continue;
		if (n > best_n || (n == best_n && (!best ||
				   g->kind == GRANT_WRITE))) {
			best = g;
			best_n = n;
		}
	}
	*ret_n = best_n;
	return best;
}

static void suggest(struct decision *d, const char *word, struct sv path)
{
	struct filepath f = { .path = path };
	auto_buf struct buf b = buf_new(3 * FILEPATH_MAX + 64);
	struct sv written = filepath_written(&f, d->a);

	buf_printf(&b, "%s ", word);
	text_form_word(&b, written);
	d->ret->allow_with = b.full ? (struct sv){ 0 } :
				      arena_dup(d->a, buf_sv(&b));
	d->full |= !written.p || !d->ret->allow_with.p;
}

static void because(struct decision *d, const char *what,
		    const struct grant *g)
{
	d->ret->grant = g;
	buf_puts(d->reason, what);
	if (!g)
		return;
	buf_puts(d->reason, ": ");
	buf_put(d->reason, sv_head(g->text, 400));
	buf_puts(d->reason, " (");
	origin_put(d->reason, &g->origin);
	buf_puts(d->reason, ")");
}

/* The end of the segment that starts behind the slash at `at`. */
static size_t segment_end(struct sv path, size_t at)
{
	return at + 1 + sv_find(sv_from(path, at + 1), '/');
}

/* The first masked prefix of the path below the area; 0 when there is none. */
static size_t find_masked(const struct decision *d, size_t area_n)
{
	struct sv path = d->q->path;

	for (size_t at = area_n == 1 ? 0 : area_n; at < path.n;) {
		size_t end = segment_end(path, at);
		struct sv name = sv_of(path.p + at + 1, end - at - 1);
		bool shown = is_named(d->p, GRANT_SHOW, sv_head(path, end));

		if (name.n && name.p[0] == '.' && !shown &&
		    !dotfile_is_shown(name))
			return end;
		if (dotfile_is_open(name))
			return 0;
		at = end;
	}
	return 0;
}

/* How much of the path that guard is; 0: it is not.  One that is a pattern has
 * one segment. */
static size_t guard_prefix(struct sv guard, struct sv path)
{
	struct sv first = sv_head(path, sv_find(path, '/'));

	if (glob_is_pattern(guard))
		return glob_match_segment(guard, first) ? first.n : 0;
	return is_below_or_at(path, guard) ? guard.n : 0;
}

/* The default guard that the path is at or below, as a prefix; 0 for none. */
static size_t find_default_guard(const struct decision *d, size_t area_n)
{
	struct sv path = d->q->path;

	for (size_t at = area_n == 1 ? 0 : area_n; at < path.n;
	     at = segment_end(path, at)) {
		struct sv rest = sv_from(path, at + 1);

		for (const char *const *g = dotfile_guards; *g; g++) {
			size_t n = guard_prefix(sv_str(*g), rest);

			if (n && !is_named(d->p, GRANT_WRITE,
					   sv_head(path, at + 1 + n)))
				return at + 1 + n;
		}
	}
	return 0;
}

/* With `workspace overlay` the working directory is writable. */
static bool is_held_cwd(const struct decision *d, size_t area_n)
{
	return d->p->workspace == WORKSPACE_OVERLAY && area_n &&
	       area_n == d->q->cwd.n &&
	       is_below_or_at(d->q->path, d->q->cwd);
}

static void decide_write(struct decision *d, const struct grant *area,
			 size_t area_n)
{
	size_t n;
	const struct grant *guard = find_above(d->p, GRANT_GUARD, d->q->path,
					       &n);

	if (guard) {
		because(d, "guarded by", guard);
		return;
	}
	if (is_held_cwd(d, area_n)) {
		area = NULL;
	} else if (!area || area->kind != GRANT_WRITE) {
		because(d, area ? "only readable by" :
			"the working directory is readable, not writable",
			area);
		suggest(d, "write", d->q->path);
		return;
	}
	n = find_default_guard(d, area_n);
	if (n) {
		because(d, "it may run something later, outside, and is guarded by default",
			NULL);
		suggest(d, "write", sv_head(d->q->path, n));
		return;
	}
	d->ret->allowed = true;
	because(d, area ? "writable by" : "the working directory is writable, "
		"and what is written held (workspace overlay)", area);
}

static void decide(struct decision *d)
{
	size_t n = 0;
	const struct grant *g = find_area(d, &n);

	/* What is in it is the agent's own: nothing there is masked. */
	if (g && g->kind == GRANT_CACHE) {
		d->ret->covered = d->ret->allowed = true;
		because(d, "kept for this policy, and not the host's: by", g);
		return;
	}
	g = find_above(d->p, GRANT_HIDE, d->q->path, &n);
	if (g) {
		d->ret->covered = true;
		because(d, "hidden by", g);
		return;
	}
	g = find_area(d, &n);
	if (n == 0) {
		because(d, "no statement grants it, so it does not exist inside",
			NULL);
		suggest(d, d->q->write ? "write" : "read", d->q->path);
		return;
	}
	d->ret->covered = true;
	if (find_masked(d, n)) {
		because(d, "dot-entries are masked inside a grant unless shown",
			NULL);
		suggest(d, "show", sv_head(d->q->path, find_masked(d, n)));
		return;
	}
	if (d->q->write) {
		decide_write(d, g, n);
		return;
	}
	d->ret->allowed = true;
	because(d, g ? "readable by" : "the working directory is readable", g);
}

int match_file(const struct policy *p, const struct file_question *q,
	       struct arena *a, struct file_answer *ret, struct err *e)
{
	auto_buf struct buf reason = buf_new(1000);
	struct file_answer answer = { 0 };
	struct decision d = {
		.p = p, .q = q, .a = a, .ret = &answer, .reason = &reason,
	};

	decide(&d);
	answer.reason = arena_dup(a, buf_sv(&reason));
	if (d.full || !answer.reason.p)
		return err_kind(e, ERR_LIMIT, "explain the decision: no memory");
	*ret = answer;
	return 0;
}
