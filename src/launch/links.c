/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other names of a file that is covered or guarded.
 *
 * A cover lies over a name, and a hard link that was made before the run is a
 * second name of the same file, as good as the first: the masked file would be
 * read, and the guarded one written, by that one.  So when a covered or guarded
 * file has more names than are covered or guarded already, the visible trees
 * are looked through for the others, those too that are not searched for
 * dot-files, and each gets the same mount.
 *
 * Nearly no file has a second name, so nearly no run looks.  One that has to
 * has a budget, as the walk has, and is refused past it.
 *
 * A name that the policy itself shows (`show`, or a grant of just that path)
 * stays visible, unless the file is hidden by a `hide`.
 */
#include "builder.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "area.h"
#include "dir.h"
#include "glob.h"
#include "guards.h"
#include "loop.h"
#include "own.h"

enum {
	LINKS_ENTRIES_MAX = 4000000,
	LINKS_MS_MAX = 10000,
	LINKS_CLOCK_EVERY = 1024,
	LINKS_DEPTH_MAX = 200,
	GUARD_DEPTH_MAX = 16,
};

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* A file with names that nobody has looked at yet. */
struct linked {
	struct path_identity id;
	uint32_t known;		/* names that have a mount of their own */
	enum step_kind kind;	/* STEP_COVER or STEP_GUARD */
	bool hidden;		/* by a `hide`, to which `show` yields */
	struct sv path, why;
};

struct search {
	struct builder *b;
	struct linked *files;
	size_t files_n, files_cap;
	struct sv *covered;	/* sorted */
	size_t covered_n;
	const struct linked *wanted;	/* one of them, for messages */
	struct sv root;
	uint64_t until_ms;
	unsigned entries, depth;
	char path[PATH_MAX];
	size_t n;
};

static int compare(const void *left, const void *right)
{
	const struct sv *a = left, *b = right;

	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return memcmp(a->p, b->p, a->n);
}

static bool is_covered(const struct search *s, struct sv path)
{
	return bsearch(&path, s->covered, s->covered_n, sizeof path, compare);
}

static int refuse(const struct search *s, const char *what, struct err *e)
{
	return err_kind(e, ERR_LIMIT, "%.*s (%.*s) has another name, a hard "
			"link, and %.*s has %s to look through for it; remove "
			"that name, or grant smaller directories",
			SV_FMT(s->wanted->path), SV_FMT(s->wanted->why),
			SV_FMT(s->root), what);
}

static bool is_hide(const struct builder *b, struct sv why)
{
	for (size_t i = 0; i < b->policy->grants_n; i++)
		if (b->policy->grants[i].kind == GRANT_HIDE &&
		    sv_eq(b->policy->grants[i].text, why))
			return true;
	return false;
}

static bool identify(int dir_fd, const char *path, struct path_identity *ret)
{
	struct stat st;

	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret = (struct path_identity){
		.dev = st.st_dev, .ino = st.st_ino,
		.type = st.st_mode & S_IFMT, .links = (uint32_t)st.st_nlink,
	};
	return true;
}

static bool has_other_names(const struct path_identity *id)
{
	return id->links > 1 && id->type != S_IFDIR && id->type != S_IFLNK;
}

static int note(struct search *s, const struct linked *file, struct err *e)
{
	struct linked *at;

	for (size_t i = 0; i < s->files_n; i++) {
		at = &s->files[i];
		if (!path_same(&at->id, &file->id))
			continue;
		at->known += file->known;
		at->hidden = at->hidden || file->hidden;
		if (file->kind == STEP_COVER)
			at->kind = STEP_COVER;
		return 0;
	}
	at = arena_push(s->b->arena, &s->files, &s->files_n, &s->files_cap);
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
static bool is_repeated(const struct search *s, size_t index)
{
	const struct step *mounts = s->b->mounts;

	for (size_t i = 0; i < index; i++)
		if (is_noted_mount(&mounts[i]) &&
		    sv_eq(mounts[i].target, mounts[index].target))
			return true;
	return false;
}

/* What lies in a guarded directory, few files as a rule: hooks, an editor's
 * tasks.  Takes dir_fd. */
static int note_guarded_dir(struct search *s, const struct step *step,
			    int dir_fd, unsigned depth, struct err *e)
{
	auto_fd int taken_fd = dir_fd;
	auto_dir DIR *dir = dir_take(&taken_fd);
	const struct dirent *d;

	if (!dir)
		return err_kind(e, ERR_LIMIT, "out of memory");
	while (depth < GUARD_DEPTH_MAX && (d = dir_next(dir)) != NULL) {
		struct linked file = {
			.kind = STEP_GUARD, .path = step->target,
			.why = step->why,
		};
		int fd;

		if (d->d_type == DT_LNK ||
		    !identify(dir_fd, d->d_name, &file.id))
			continue;
		fd = file.id.type != S_IFDIR ? -1 :
		     openat(dir_fd, d->d_name, O_RDONLY | O_DIRECTORY |
			    O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0 &&
		    note_guarded_dir(s, step, fd, depth + 1, e) < 0)
			return -1;
		if (has_other_names(&file.id) && note(s, &file, e) < 0)
			return -1;
	}
	return 0;
}

static int note_mount(struct search *s, size_t index, struct err *e)
{
	const struct step *step = &s->b->mounts[index];
	struct linked file = {
		.id = step->identity, .known = 1, .kind = step->kind,
		.path = step->target, .why = step->why,
	};
	int fd;

	if (step->kind == STEP_COVER &&
	    !identify(AT_FDCWD, builder_str(s->b, step->target), &file.id))
		return 0;
	if (step->kind == STEP_GUARD && file.id.type == S_IFDIR &&
	    sv_eq(step->why, SV(GUARDED_BY_DEFAULT))) {
		fd = path_open_exact(AT_FDCWD, step->target, O_RDONLY |
				     O_DIRECTORY | O_NONBLOCK, e);
		return fd < 0 ? 0 : note_guarded_dir(s, step, fd, 0, e);
	}
	if (!has_other_names(&file.id))
		return 0;
	file.known = !is_repeated(s, index);
	file.hidden = step->kind == STEP_COVER && is_hide(s->b, step->why);
	return note(s, &file, e);
}

/* What the walk has covered and guarded. */
static int note_mounts(struct search *s, struct err *e)
{
	for (size_t i = 0; i < s->b->mounts_n; i++) {
		if (!is_noted_mount(&s->b->mounts[i]))
			continue;
		if (s->b->mounts[i].kind == STEP_COVER)
			s->covered[s->covered_n++] = s->b->mounts[i].target;
		if (note_mount(s, i, e) < 0)
			return -1;
	}
	return 0;
}

/* What `hide` names may lie outside of all grants, its other name in one. */
static int note_hidden(struct search *s, struct err *e)
{
	const struct policy *p = s->b->policy;

	for (size_t i = 0; i < p->grants_n; i++) {
		const struct grant *g = &p->grants[i];
		struct linked file = {
			.kind = STEP_COVER, .hidden = true, .why = g->text,
		};
		struct area found;
		struct err ignored;

		if (g->kind != GRANT_HIDE || g->is_glob ||
		    area_resolve(s->b, g->path, &found, &ignored) < 0 ||
		    is_covered(s, found.path) ||
		    !has_other_names(&found.identity))
			continue;
		file.id = found.identity;
		file.path = found.path;
		if (note(s, &file, e) < 0)
			return -1;
	}
	return 0;
}

static int note_policy(struct search *s, struct sv path, struct err *e)
{
	struct linked file = {
		.kind = STEP_GUARD, .path = path, .why = SV("the policy itself"),
	};
	struct area found;
	struct err ignored;

	if (area_resolve(s->b, path, &found, &ignored) < 0 ||
	    !has_other_names(&found.identity))
		return 0;
	file.id = found.identity;
	return note(s, &file, e);
}

/* They decide over later runs, wherever they lie. */
static int note_policies(struct search *s, struct err *e)
{
	const struct builder *b = s->b;

	for (size_t i = 0; i < b->in->pinned_n; i++)
		if (note_policy(s, sv_str(b->in->pinned[i]), e) < 0)
			return -1;
	for (size_t i = 0; i < b->policy->files_n; i++)
		if (note_policy(s, b->policy->files[i], e) < 0)
			return -1;
	return 0;
}

static bool is_named(const struct builder *b, struct sv path)
{
	for (size_t i = 0; i < b->areas_n; i++)
		if (sv_eq(b->areas[i].path, path))
			return true;
	for (size_t i = 0; i < b->policy->grants_n; i++) {
		const struct grant *g = &b->policy->grants[i];

		if (g->kind == GRANT_SHOW &&
		    (g->is_glob ? glob_match(g->path, path) :
				  sv_eq(g->path, path)))
			return true;
	}
	return false;
}

/* A name of one of the files: it gets the mount that the first name has. */
static void found(struct search *s, struct linked *file, struct sv path)
{
	const struct area *around = areas_find(s->b, path);
	struct step *step;

	file->known++;
	if (file->kind == STEP_GUARD && (!around || !around->write))
		return;
	if (file->kind == STEP_COVER && !file->hidden && is_named(s->b, path))
		return;
	step = builder_mount(s->b, file->kind, builder_dup(s->b, path),
			     builder_printf(s->b, "another name of %.*s: %.*s",
					    SV_FMT(file->path),
					    SV_FMT(file->why)));
	step->identity = file->id;
	step->flags = file->kind == STEP_COVER ? STEP_OPTIONAL : 0;
}

static void look(struct search *s, int dir_fd, struct sv path,
		 const char *name)
{
	struct path_identity id;

	if (is_covered(s, path) || !identify(dir_fd, name, &id))
		return;
	for (size_t i = 0; i < s->files_n; i++)
		if (path_same(&s->files[i].id, &id))
			found(s, &s->files[i], path);
}

/* Where a directory's own list of numbers says what fstat() would. */
static bool numbers_are_true(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC ||
	       fs.f_type == XFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC;
}

static bool is_wanted(const struct search *s, ino_t ino)
{
	for (size_t i = 0; i < s->files_n; i++)
		if (s->files[i].id.ino == ino)
			return true;
	return false;
}

static int search_dir(struct search *s, int dir_fd, struct err *e);

static int search_entry(struct search *s, int dir_fd, const struct dirent *d,
			bool trusted, struct err *e)
{
	struct sv path = sv_of(s->path, s->n);
	bool maybe_dir = (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN) &&
			 !is_covered(s, path);
	int fd = -1;

	if (++s->entries > LINKS_ENTRIES_MAX)
		return refuse(s, "more than four million entries", e);
	if (s->entries % LINKS_CLOCK_EVERY == 0 && loop_now_ms() > s->until_ms)
		return refuse(s, "more than ten seconds' worth of entries", e);
	if (d->d_type == DT_LNK)
		return 0;
	if (maybe_dir)
		fd = openat(dir_fd, d->d_name, O_RDONLY | O_DIRECTORY |
			    O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return search_dir(s, fd, e);
	/* Who owns it could open it for himself later. */
	if (maybe_dir && (errno == EACCES || errno == EPERM)) {
		builder_mount(s->b, STEP_COVER, builder_dup(s->b, path),
			      SV("an unreadable directory"))->flags =
			STEP_OPTIONAL;
		return 0;
	}
	if (d->d_type != DT_DIR && (!trusted || is_wanted(s, d->d_ino)))
		look(s, dir_fd, path, d->d_name);
	return 0;
}

/* s->path[0..n] is dir's.  Takes dir_fd. */
static int search_dir(struct search *s, int dir_fd, struct err *e)
{
	auto_fd int taken_fd = dir_fd;
	auto_dir DIR *dir = dir_take(&taken_fd);
	bool trusted = numbers_are_true(dir_fd);
	size_t n = s->n;
	const struct dirent *d;

	if (!dir)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (++s->depth > LINKS_DEPTH_MAX)
		return refuse(s, "directories that are too deep", e);
	while ((d = dir_next(dir)) != NULL) {
		size_t length = strlen(d->d_name);

		if (length + 2 > sizeof s->path - n)
			return refuse(s, "paths that are too long", e);
		if (n > 1)
			s->path[s->n++] = '/';
		memcpy(s->path + s->n, d->d_name, length + 1);
		s->n += length;
		if (search_entry(s, dir_fd, d, trusted, e) < 0)
			return -1;
		s->n = n;
	}
	if (errno)
		return err_sys(e, "read %.*s", (int)n, s->path);
	s->depth--;
	return 0;
}

static int search_area(struct search *s, const struct area *area,
		       struct err *e)
{
	int fd;

	s->root = area->path;
	if (area->identity.type != S_IFDIR) {
		look(s, AT_FDCWD, area->path,
		     builder_str(s->b, area->path));
		return 0;
	}
	fd = is_covered(s, area->path) ? -1 :
	     path_open_exact(AT_FDCWD, area->path, O_RDONLY | O_DIRECTORY |
			     O_NONBLOCK, e);
	if (fd < 0)	/* covered */
		return 0;
	if (area_check(area, fd, e) < 0) {
		(void)close(fd);
		return -1;
	}
	s->depth = 0;
	s->n = area->path.n;
	memcpy(s->path, area->path.p, area->path.n);
	return search_dir(s, fd, e);
}

/* A tree of the host's that is not the system's: those are too large, and an
 * ordinary user can make no link there. */
static bool is_searched(const struct area *area)
{
	return area && area->kind >= AREA_CODE;
}

static bool is_complete(struct search *s)
{
	for (size_t i = 0; i < s->files_n; i++)
		if (s->files[i].known < s->files[i].id.links)
			s->wanted = &s->files[i];
	return !s->wanted;
}

int links_plan(struct builder *b, struct err *e)
{
	struct search *s = arena_make(b->arena, struct search);

	if (!s)
		return err_kind(e, ERR_LIMIT, "out of memory");
	s->b = b;
	s->covered = arena_alloc(b->arena, (b->mounts_n + 1) * sizeof *s->covered);
	if (!s->covered)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (note_mounts(s, e) < 0)
		return -1;
	qsort(s->covered, s->covered_n, sizeof *s->covered, compare);
	if (note_hidden(s, e) < 0 || note_policies(s, e) < 0)
		return -1;
	if (is_complete(s))
		return 0;
	s->until_ms = loop_now_ms() + LINKS_MS_MAX;
	for (size_t i = 0; i < b->areas_n; i++)
		if (is_searched(&b->areas[i]) &&
		    !is_searched(areas_around(b, b->areas[i].path)) &&
		    search_area(s, &b->areas[i], e) < 0)
			return -1;
	return 0;
}
