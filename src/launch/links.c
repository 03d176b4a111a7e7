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
#include <sys/vfs.h>
#include <unistd.h>

#include "area.h"
#include "dents.h"
#include "glob.h"
#include "linked.h"
#include "loop.h"
#include "own.h"

enum {
	LINKS_ENTRIES_MAX = 4000000,
	LINKS_MS_MAX = 10000,
	LINKS_CLOCK_EVERY = 1024,
};

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

struct search {
	struct builder *b;
	struct linked_files files;
	const struct linked *wanted;	/* one of them, for messages */
	struct sv root;
	uint64_t until_ms;
	unsigned entries, depth;
	struct dents_pile dents;
	char path[PATH_MAX];	/* of what is looked at now */
	size_t path_n;
};

static int refuse(const struct search *s, const char *what, struct err *e)
{
	return err_kind(e, ERR_LIMIT, "%.*s (%.*s) has another name, a hard "
			"link, and %.*s has %s to look through for it; remove "
			"that name, or grant smaller directories",
			SV_FMT(s->wanted->path), SV_FMT(s->wanted->why),
			SV_FMT(s->root), what);
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

	if (linked_is_covered(&s->files, path) ||
	    path_identify_at(dir_fd, name, &id) < 0)
		return;
	for (size_t i = 0; i < s->files.n; i++)
		if (path_same(&s->files.v[i].id, &id))
			found(s, &s->files.v[i], path);
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
	for (size_t i = 0; i < s->files.n; i++)
		if (s->files.v[i].id.ino == ino)
			return true;
	return false;
}

static int search_dir(struct search *s, int dir_fd, struct err *e);

static int search_entry(struct search *s, int dir_fd, const struct dirent *d,
			bool trusted, struct err *e)
{
	struct sv path = sv_of(s->path, s->path_n);
	bool maybe_dir = (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN) &&
			 !linked_is_covered(&s->files, path);
	int fd = -1;

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

/* s->path is dir_fd's; adds the name, and takes it off again. */
static int search_name(struct search *s, int dir_fd, const struct dirent *d,
		       bool trusted, struct err *e)
{
	size_t n = s->path_n, length = strlen(d->d_name);
	int rc;

	if (length + 2 > sizeof s->path - n)
		return refuse(s, "paths that are too long", e);
	if (n > 1)
		s->path[s->path_n++] = '/';
	memcpy(s->path + s->path_n, d->d_name, length + 1);
	s->path_n += length;
	builder_at(s->b, sv_of(s->path, s->path_n));
	rc = search_entry(s, dir_fd, d, trusted, e);
	s->path_n = n;
	s->b->at = sv_of(s->path, n);
	return rc;
}

static int check_time(struct search *s, struct err *e)
{
	return look_in_time(s->b, sv_of(s->path, s->path_n),
			    s->until_ms) ? 0 :
	       refuse(s, "more than ten seconds' worth of entries", e);
}

/* Is it no directory, and by its number another file? */
static bool is_other(const struct search *s, const struct dirent *d,
		     bool trusted)
{
	return d->d_type == DT_LNK ||
	       (trusted && d->d_type != DT_DIR && d->d_type != DT_UNKNOWN &&
		!is_wanted(s, d->d_ino));
}

/* s->path is dir_fd's, which it takes. */
static int search_dir(struct search *s, int dir_fd, struct err *e)
{
	auto_fd int fd = dir_fd;
	bool trusted = numbers_are_true(fd);
	struct dents *dents;
	const struct dirent *d;

	if (s->depth == DENTS_DEPTH_MAX)
		return refuse(s, "directories that are too deep", e);
	dents = dents_pile_begin(&s->dents, s->depth++, fd);
	if (!dents)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (check_time(s, e) < 0)
		return -1;
	while ((d = dents_next(dents)) != NULL) {
		if (++s->entries > LINKS_ENTRIES_MAX)
			return refuse(s, "more than four million entries", e);
		if (s->entries % LINKS_CLOCK_EVERY == 0 &&
		    check_time(s, e) < 0)
			return -1;
		if (is_other(s, d, trusted))
			continue;
		if (search_name(s, fd, d, trusted, e) < 0)
			return -1;
	}
	if (errno)
		return err_sys(e, "read %.*s", (int)s->path_n, s->path);
	s->depth--;
	return 0;
}

static int search_area(struct search *s, const struct area *area,
		       struct err *e)
{
	auto_fd int fd = -1;

	s->root = area->path;
	if (area->identity.type != S_IFDIR) {
		look(s, AT_FDCWD, area->path,
		     builder_str(s->b, area->path));
		return 0;
	}
	if (linked_is_covered(&s->files, area->path))
		return 0;
	fd = path_open_exact(AT_FDCWD, area->path, O_RDONLY | O_DIRECTORY |
			     O_NONBLOCK, e);
	if (fd < 0)	/* covered by the walk, or code that cannot be read */
		return 0;
	if (area_check(area, fd, e) < 0)
		return -1;
	s->depth = 0;
	s->path_n = area->path.n;
	memcpy(s->path, area->path.p, area->path.n);
	return search_dir(s, steal_fd(&fd), e);
}

/* A tree of the host's that is not the system's: those are too large, and an
 * ordinary user can make no link there. */
static bool is_searched(const struct area *area)
{
	return area && area->kind >= AREA_CODE;
}

static int search_areas(struct search *s, struct err *e)
{
	struct builder *b = s->b;

	for (size_t i = 0; i < b->areas_n; i++)
		if (is_searched(&b->areas[i]) &&
		    !is_searched(areas_around(b, b->areas[i].path)) &&
		    search_area(s, &b->areas[i], e) < 0)
			return -1;
	return 0;
}

int links_plan(struct builder *b, struct err *e)
{
	struct search *s = arena_make(b->arena, struct search);
	int rc;

	if (!s)
		return err_kind(e, ERR_LIMIT, "out of memory");
	s->b = b;
	if (linked_note(&s->files, b, e) < 0)
		return -1;
	s->wanted = linked_incomplete(&s->files);
	if (!s->wanted)
		return 0;
	s->until_ms = loop_now_ms() + LINKS_MS_MAX;
	rc = search_areas(s, e);
	dents_pile_free(&s->dents);
	return rc;
}
