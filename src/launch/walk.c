/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dot mask, `hide`, and the guards at any depth: one bounded walk over the
 * trees that the policy names.  What an entry is to the policy say walk_masks.c
 * and walk_guards.c.
 *
 * What is found is covered by a mount (STEP_COVER), so the walk must have seen
 * a tree whole before the command may.  It has a budget of entries and time;
 * past it the run is refused, because the rest would be shown unseen.
 *
 * A directory that cannot be read may become readable later to somebody who
 * owns it: it is covered whole.  So is a socket, as a read-only mount does not
 * stop connect(); also directly in the trees that are not searched further,
 * where a daemon of the user's may keep one (.git/fsmonitor--daemon.ipc).
 */
#include "walk.h"

#include <errno.h>
#include <unistd.h>

#include "area.h"
#include "dotfiles.h"
#include "loop.h"
#include "marks.h"
#include "own.h"

enum {
	WALK_ENTRIES_MAX = 4000000,
	WALK_MS_MAX = 10000,
	WALK_COVERS_MAX = 20000,
	WALK_CLOCK_EVERY = 1024,
};

/* Past a budget: the rest of w->root would be shown unseen. */
static int refuse(struct walk *w, const char *what, struct err *e)
{
	return err_kind(e, ERR_LIMIT, "%.*s (%.*s) has %s to look through for "
			"dot-files; grant smaller directories, or run in one",
			SV_FMT(w->root->path), SV_FMT(w->root->why), what);
}

int walk_cover(struct walk *w, struct sv path, struct sv why, struct err *e)
{
	if (++w->covers > WALK_COVERS_MAX)
		return err_kind(e, ERR_LIMIT, "%.*s (%.*s): more than %d names "
				"would have to be hidden; grant smaller "
				"directories, or run in one", SV_FMT(path),
				SV_FMT(why), WALK_COVERS_MAX);
	builder_mount(w->b, STEP_COVER, builder_dup(w->b, path), why)->flags =
		STEP_OPTIONAL;
	return 0;
}

static int cover_unreadable(struct walk *w, struct sv path, struct err *e)
{
	return walk_cover(w, path, SV("an unreadable directory"), e);
}

static int walk_dir(struct walk *w, int dir_fd, unsigned look, struct err *e);

/*
 * Root opens what the agent, who will be the grant's owner and nobody else,
 * cannot enter.  Nothing in there could be covered one by one, nor watched.
 */
static bool is_shut(const struct walk *w, int fd)
{
	const struct area *area = w->root;
	struct stat st;
	mode_t search;

	if (!w->b->plan->as_root)
		return false;
	if (fstat(fd, &st) < 0)
		return true;
	search = st.st_uid == area->owner ? S_IXUSR :
		 st.st_gid == area->group ? S_IXGRP : S_IXOTH;
	return !(st.st_mode & search);
}

/* The file system behind it is gone: a server, or a FUSE daemon that ended. */
static bool is_gone(int code)
{
	switch (code) {
	case EIO:
	case EREMOTEIO:
	case ESTALE:
	case ENOTCONN:
	case ECONNABORTED:
	case ETIMEDOUT:
	case EHOSTDOWN:
	case EHOSTUNREACH:
		return true;
	}
	return false;
}

static int descend(struct walk *w, int dir_fd, const struct walk_entry *entry,
		   unsigned look, struct err *e)
{
	int fd;

	if (dotfile_is_open(entry->name) &&
	    !(look & (LOOK_HIDDEN | LOOK_MODULES))) {
		look &= ~(unsigned)LOOK_DOTS;
		if (sv_eq(entry->name, SV(".git")))
			look |= LOOK_GIT;
		if (!marks_named_below(w->b, GRANT_HIDE, entry->path) &&
		    !marks_named_below(w->b, GRANT_GUARD, entry->path))
			look |= LOOK_SOCKETS;
	}
	builder_at(w->b, entry->path);
	if (look_must_leave(w->b, dir_fd, entry->name.p))
		return err_kind(e, ERR_DENIED, "%.*s is on no disk",
				SV_FMT(entry->path));
	fd = openat(dir_fd, entry->name.p, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !is_shut(w, fd))
		return walk_dir(w, fd, look, e);
	if (fd >= 0 || errno == EACCES || errno == EPERM || is_gone(errno)) {
		close_fd(&fd);
		return cover_unreadable(w, entry->path, e);
	}
	if (errno == ENOENT)
		return 0;
	return err_sys(e, "open %.*s", SV_FMT(entry->path));
}

static const struct area *area_of(struct walk *w, struct sv path)
{
	for (size_t i = 0; i < w->b->areas_n; i++) {
		if (sv_eq(w->b->areas[i].path, path)) {
			w->visited[i] = true;
			return &w->b->areas[i];
		}
	}
	return NULL;
}

static int walk_entry(struct walk *w, int dir_fd, struct walk_entry *entry,
		      unsigned look, struct err *e)
{
	int masked;

	if (look & LOOK_SOCKETS) {
		int below = walk_guard_unsearched(w, entry, look, e);

		return below <= 0 ? below :
		       descend(w, dir_fd, entry, LOOK_WRITE | LOOK_MODULES |
			       LOOK_SOCKETS, e);
	}
	entry->area = area_of(w, entry->path);
	/* Not what has this name out here. */
	if (entry->area && (entry->area->kind == AREA_PRIVATE ||
			    entry->area->source.n))
		return 0;
	/* A redundant one, a program in a writable tree, is as its tree is. */
	if (entry->area && !entry->area->redundant)
		look = entry->area->write ? look | LOOK_WRITE :
					    look & ~(unsigned)LOOK_WRITE;
	masked = walk_mask(w, entry, &look, e);
	if (masked)
		return masked < 0 ? -1 : 0;
	if ((look & LOOK_WRITE) && walk_guard(w, dir_fd, entry, look, e) < 0)
		return -1;
	if (entry->type != DT_DIR)
		return 0;
	if (look & LOOK_GIT)
		look = (look & ~(unsigned)LOOK_GIT) |
		       (walk_leads_to_modules(entry->name) ? LOOK_MODULES : 0u);
	return descend(w, dir_fd, entry, look, e);
}

/* Here a name that is of no kind that the policy or the defaults speak of is of
 * no interest, unless it is a socket's. */
static bool is_usual(unsigned look)
{
	return !(look & ~(unsigned)(LOOK_DOTS | LOOK_WRITE));
}

/* w->path is dir_fd's; adds the name, and takes it off again. */
static int walk_name(struct walk *w, int dir_fd, const struct dirent *d,
		     unsigned look, struct err *e)
{
	bool is_plain = is_usual(look) && d->d_type != DT_SOCK &&
			d->d_type != DT_UNKNOWN &&
			!sieve_lets_through(&w->sieve, d->d_name);
	struct walk_entry entry = { .type = d->d_type };
	size_t n = w->path_n, length;
	struct stat st;
	int rc;

	if (is_plain && entry.type != DT_DIR)
		return 0;
	length = strlen(d->d_name);
	if (length + 2 > sizeof w->path - n)
		return refuse(w, "paths that are too long", e);
	if (n > 1)
		w->path[w->path_n++] = '/';
	memcpy(w->path + w->path_n, d->d_name, length + 1);
	w->path_n += length;
	entry.path = sv_of(w->path, w->path_n);
	entry.name = sv_of(w->path + w->path_n - length, length);
	if (entry.type == DT_UNKNOWN &&
	    fstatat(dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		entry.type = (unsigned char)IFTODT(st.st_mode);
	rc = is_plain ? descend(w, dir_fd, &entry, look, e) :
			walk_entry(w, dir_fd, &entry, look, e);
	w->path_n = n;
	w->b->at = sv_of(w->path, n);
	return rc;
}

static int check_time(struct walk *w, struct err *e)
{
	return look_in_time(w->b, sv_of(w->path, w->path_n),
			    w->until_ms) ? 0 :
	       refuse(w, "more than ten seconds' worth of entries", e);
}

/* Takes dir_fd. */
static int walk_dir(struct walk *w, int dir_fd, unsigned look, struct err *e)
{
	auto_fd int fd = dir_fd;
	const struct dirent *d;
	struct dents *dents;

	if (w->depth == DENTS_DEPTH_MAX)
		return refuse(w, "directories that are too deep", e);
	dents = dents_pile_begin(&w->dents, w->depth++, fd);
	if (!dents)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (check_time(w, e) < 0)
		return -1;
	while ((d = dents_next(dents)) != NULL) {
		if (++w->entries > WALK_ENTRIES_MAX)
			return refuse(w, "more than four million entries", e);
		if (w->entries % WALK_CLOCK_EVERY == 0 && check_time(w, e) < 0)
			return -1;
		if (walk_name(w, fd, d, look, e) < 0)
			return -1;
	}
	if (errno)
		return err_sys(e, "read %.*s", (int)w->path_n, w->path);
	w->depth--;
	return 0;
}

static int walk_area(struct walk *w, const struct area *area, struct err *e)
{
	unsigned look = LOOK_DOTS | (area->write ? LOOK_WRITE : 0u);
	auto_fd int fd = -1;

	builder_at(w->b, area->path);
	fd = path_open_exact(AT_FDCWD, area->path, O_RDONLY | O_DIRECTORY |
			     O_NONBLOCK, e);
	if (fd < 0 && (e->code == EACCES || e->code == EPERM))
		return cover_unreadable(w, area->path, e);
	if (fd < 0)
		return err_ctx(e, "%.*s", SV_FMT(area->why));
	if (area_check(area, fd, e) < 0 ||
	    walk_guard_git_grant(w, area, &look, e) < 0)
		return -1;
	w->root = area;
	w->depth = 0;
	w->path_n = area->path.n;
	memcpy(w->path, area->path.p, area->path.n);
	return walk_dir(w, steal_fd(&fd), look, e);
}

static int walk_areas(struct walk *w, struct err *e)
{
	struct builder *b = w->b;

	if (walk_mask_named(w, e) < 0)
		return -1;
	for (size_t i = 0; i < b->areas_n; i++) {
		const struct area *area = &b->areas[i];

		if (area->kind == AREA_NAMED && !w->visited[i] &&
		    !area->source.n && area->identity.type == S_IFDIR &&
		    walk_area(w, area, e) < 0)
			return -1;
	}
	return 0;
}

/* Every name that walk_entry() and descend() treat otherwise than others. */
static void fill_sieve(struct walk *w)
{
	const struct builder *b = w->b;

	for (size_t i = 0; i < b->areas_n; i++)
		sieve_add_name(&w->sieve, area_base(b->areas[i].path));
	marks_sieve(b, &w->sieve);
	dotfiles_sieve(&w->sieve);
	walk_guard_sieve(w);
}

int walk_plan(struct builder *b, struct err *e)
{
	struct walk *w = arena_make(b->arena, struct walk);
	int rc;

	if (!w)
		return err_kind(e, ERR_LIMIT, "out of memory");
	w->b = b;
	w->visited = arena_alloc(b->arena, b->areas_n * sizeof *w->visited);
	if (!w->visited)
		return err_kind(e, ERR_LIMIT, "out of memory");
	fill_sieve(w);
	w->until_ms = loop_now_ms() + WALK_MS_MAX;
	rc = walk_areas(w, e);
	dents_pile_free(&w->dents);
	return rc;
}
