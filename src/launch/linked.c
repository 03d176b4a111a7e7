/* SPDX-License-Identifier: Apache-2.0 */
/* Files that may have more names than are known: see linked.h. */
#include "linked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "area.h"
#include "dir.h"
#include "guards.h"
#include "own.h"

enum { GUARD_DEPTH_MAX = 16 };

static int compare(const void *left, const void *right)
{
	const struct sv *a = left, *b = right;

	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return memcmp(a->p, b->p, a->n);
}

bool linked_is_covered(const struct linked_files *l, struct sv path)
{
	return bsearch(&path, l->covered, l->covered_n, sizeof path, compare);
}

static bool is_hide(const struct builder *b, struct sv why)
{
	for (size_t i = 0; i < b->policy->grants_n; i++)
		if (b->policy->grants[i].kind == GRANT_HIDE &&
		    sv_eq(b->policy->grants[i].text, why))
			return true;
	return false;
}

static bool has_other_names(const struct path_identity *id)
{
	return id->links > 1 && id->type != S_IFDIR && id->type != S_IFLNK;
}

static int note(struct linked_files *l, const struct linked *file,
		struct err *e)
{
	struct linked *at;

	for (size_t i = 0; i < l->n; i++) {
		at = &l->v[i];
		if (!path_same(&at->id, &file->id))
			continue;
		at->known += file->known;
		at->hidden = at->hidden || file->hidden;
		if (file->kind == STEP_COVER)
			at->kind = STEP_COVER;
		return 0;
	}
	at = arena_push(l->b->arena, &l->v, &l->n, &l->cap);
	if (!at)
		return err_kind(e, ERR_LIMIT, "out of memory");
	*at = *file;
	return 0;
}

static bool is_noted_mount(const struct step *s)
{
	return (s->kind == STEP_COVER || s->kind == STEP_GUARD) &&
	       !(s->flags & STEP_SYSTEM);
}

/* Covered and guarded, or covered twice: it is one name. */
static bool is_repeated(const struct linked_files *l, size_t index)
{
	const struct step *mounts = l->b->mounts;

	for (size_t i = 0; i < index; i++)
		if (is_noted_mount(&mounts[i]) &&
		    sv_eq(mounts[i].target, mounts[index].target))
			return true;
	return false;
}

static int unseen(const struct step *step, const char *what, struct err *e)
{
	return err_kind(e, ERR_POLICY, "%.*s is guarded, and what is in it may "
			"have other names, but %s; a `write` of that path lifts "
			"the guard", SV_FMT(step->target), what);
}

/* What lies in a guarded directory, few files as a rule: hooks, an editor's
 * tasks.  Takes dir_fd, which may be none: then errno says why. */
static int note_guarded_dir(struct linked_files *l, const struct step *step,
			    int dir_fd, unsigned depth, struct err *e)
{
	auto_fd int taken_fd = dir_fd;
	auto_dir DIR *dir = dir_take(&taken_fd);
	const struct dirent *d;

	builder_at(l->b, step->target);
	if (!dir && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;	/* replaced meanwhile: the mount will say so */
	if (!dir)
		return unseen(step, "a directory there cannot be read", e);
	if (depth == GUARD_DEPTH_MAX)
		return unseen(step, "it is too deep to be looked through", e);
	while ((d = dir_next(dir)) != NULL) {
		struct linked file = {
			.kind = STEP_GUARD, .path = step->target,
			.why = step->why,
		};

		if (d->d_type == DT_LNK ||
		    path_identify_at(dir_fd, d->d_name, &file.id) < 0)
			continue;
		if (file.id.type == S_IFDIR &&
		    note_guarded_dir(l, step, openat(
			    dir_fd, d->d_name, O_RDONLY | O_DIRECTORY |
			    O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), depth + 1,
				     e) < 0)
			return -1;
		if (has_other_names(&file.id) && note(l, &file, e) < 0)
			return -1;
	}
	return errno ? unseen(step, "a directory there cannot be read", e) : 0;
}

static int note_mount(struct linked_files *l, size_t index, struct err *e)
{
	const struct step *step = &l->b->mounts[index];
	struct linked file = {
		.id = step->identity, .known = 1, .kind = step->kind,
		.path = step->target, .why = step->why,
	};
	int fd;

	builder_at(l->b, step->target);
	if (step->kind == STEP_COVER &&
	    path_identify_at(AT_FDCWD, builder_str(l->b, step->target),
			     &file.id) < 0)
		return 0;
	if (step->kind == STEP_GUARD && file.id.type == S_IFDIR &&
	    sv_eq(step->why, SV(GUARDED_BY_DEFAULT))) {
		fd = path_open_exact(AT_FDCWD, step->target, O_RDONLY |
				     O_DIRECTORY | O_NONBLOCK, e);
		errno = fd < 0 ? e->code : 0;
		return note_guarded_dir(l, step, fd, 0, e);
	}
	if (!has_other_names(&file.id))
		return 0;
	file.known = !is_repeated(l, index);
	file.hidden = step->kind == STEP_COVER && is_hide(l->b, step->why);
	return note(l, &file, e);
}

/* What the walk has covered and guarded. */
static int note_mounts(struct linked_files *l, struct err *e)
{
	for (size_t i = 0; i < l->b->mounts_n; i++) {
		if (!is_noted_mount(&l->b->mounts[i]))
			continue;
		if (l->b->mounts[i].kind == STEP_COVER)
			l->covered[l->covered_n++] = l->b->mounts[i].target;
		if (note_mount(l, i, e) < 0)
			return -1;
	}
	return 0;
}

/* What `hide` names may lie outside of all grants, its other name in one. */
static int note_hidden(struct linked_files *l, struct err *e)
{
	const struct policy *p = l->b->policy;

	for (size_t i = 0; i < p->grants_n; i++) {
		const struct grant *g = &p->grants[i];
		struct linked file = {
			.kind = STEP_COVER, .hidden = true, .why = g->text,
		};
		struct area found;
		struct err ignored;

		if (g->kind != GRANT_HIDE || g->is_glob ||
		    area_resolve(l->b, g->path, &found, &ignored) < 0 ||
		    linked_is_covered(l, found.path) ||
		    !has_other_names(&found.identity))
			continue;
		file.id = found.identity;
		file.path = found.path;
		if (note(l, &file, e) < 0)
			return -1;
	}
	return 0;
}

static int note_policy(struct linked_files *l, struct sv path, struct err *e)
{
	struct linked file = {
		.kind = STEP_GUARD, .path = path, .why = SV("the policy itself"),
	};
	struct area found;
	struct err ignored;

	if (area_resolve(l->b, path, &found, &ignored) < 0 ||
	    !has_other_names(&found.identity))
		return 0;
	file.id = found.identity;
	return note(l, &file, e);
}

/* They decide over later runs, wherever they lie. */
static int note_policies(struct linked_files *l, struct err *e)
{
	const struct builder *b = l->b;

	for (size_t i = 0; i < b->in->pinned_n; i++)
		if (note_policy(l, sv_str(b->in->pinned[i]), e) < 0)
			return -1;
	for (size_t i = 0; i < b->policy->files_n; i++)
		if (note_policy(l, b->policy->files[i], e) < 0)
			return -1;
	return 0;
}

int linked_note(struct linked_files *l, struct builder *b, struct err *e)
{
	l->b = b;
	l->covered = arena_alloc(b->arena,
				 (b->mounts_n + 1) * sizeof *l->covered);
	if (!l->covered)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (note_mounts(l, e) < 0)
		return -1;
	qsort(l->covered, l->covered_n, sizeof *l->covered, compare);
	return note_hidden(l, e) < 0 || note_policies(l, e) < 0 ? -1 : 0;
}

struct linked *linked_incomplete(const struct linked_files *l)
{
	for (size_t i = l->n; i-- > 0;)
		if (l->v[i].known < l->v[i].id.links)
			return &l->v[i];
	return NULL;
}
