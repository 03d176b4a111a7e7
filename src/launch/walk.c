/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dot mask, `hide`, and the guards at any depth: one bounded walk over the
 * trees that the policy names.
 *
 * What is found is covered by a mount (STEP_COVER), so the walk must have seen
 * a tree whole before the command may.  It has a budget of entries and time;
 * past it the run is refused, because the rest would be shown unseen.
 *
 * Links: a symbolic link cannot carry a mount.  A dot-file that is one shows
 * only where it points to; what it points to is outside every grant, and then
 * absent, or in one, and then has met these rules itself.  `hide` on a link
 * also covers its target.
 *
 * A directory that cannot be read may become readable later to somebody who
 * owns it: it is covered whole.  So is a socket, as a read-only mount does not
 * stop connect(); also directly in the trees that are not searched further,
 * where a daemon of the user's may keep one (.git/fsmonitor--daemon.ipc).
 */
#include "builder.h"

#include <unistd.h>

#include "area.h"
#include "dir.h"
#include "dotfiles.h"
#include "glob.h"
#include "guards.h"
#include "loop.h"
#include "own.h"

enum {
	WALK_ENTRIES_MAX = 4000000,
	WALK_MS_MAX = 10000,
	WALK_DEPTH_MAX = 200,
	WALK_COVERS_MAX = 20000,
	WALK_CLOCK_EVERY = 1024,
};

#define SOCKET_OF_HOST SV("a socket of the host")

/* How the entries of a directory are looked at. */
enum {
	LOOK_DOTS = 1,		/* the dot mask holds here */
	LOOK_HIDDEN = 2,	/* all is covered but what leads to something shown */
	LOOK_WRITE = 4,		/* in a write grant: guards hold */
	LOOK_SOCKETS = 8,	/* for nothing but sockets, and not below */
	LOOK_GIT = 16,		/* in .git: its modules too */
	LOOK_MODULES = 32,	/* below .git/modules, .git/worktrees */
};

struct walk {
	struct builder *b;
	const struct area *root;
	uint64_t until_ms;
	unsigned entries, covers, depth;
	bool *visited;		/* by the index of the area */
	size_t n;
	char path[PATH_MAX];
};

/* One entry, while it is looked at. */
struct entry {
	struct sv name, path;
	unsigned char type;	/* DT_* */
	const struct area *area;	/* that has this very path, or NULL */
};

static int walk_dir(struct walk *w, int dir_fd, unsigned look, struct err *e);

static int refuse(struct walk *w, const char *what, struct err *e)
{
	return err_kind(e, ERR_LIMIT, "%.*s (%.*s) has %s to look through for "
			"dot-files; grant smaller directories, or run in one",
			SV_FMT(w->root->path), SV_FMT(w->root->why), what);
}

static int cover(struct walk *w, struct sv path, struct sv why, struct err *e)
{
	if (++w->covers > WALK_COVERS_MAX)
		return refuse(w, "too many entries to hide", e);
	builder_mount(w->b, STEP_COVER, builder_dup(w->b, path), why)->flags =
		STEP_OPTIONAL;
	return 0;
}

/* The statement of that kind that names path, or NULL. */
static const struct grant *named_by(const struct walk *w, enum grant_kind kind,
				    struct sv path)
{
	const struct builder *b = w->b;

	for (size_t i = 0; i < b->marks_n; i++) {
		const struct grant *g = &b->marks[i];

		if (g->kind == kind && (g->is_glob ? glob_match(g->path, path) :
						     sv_eq(g->path, path)))
			return g;
	}
	return NULL;
}

/* Could a statement of that kind name something below path? */
static bool named_below(const struct walk *w, enum grant_kind kind,
			struct sv path)
{
	const struct builder *b = w->b;

	for (size_t i = 0; i < b->marks_n; i++) {
		const struct grant *g = &b->marks[i];

		if (g->kind == kind &&
		    (g->is_glob ? glob_may_match_below(g->path, path) :
				  area_strictly_contains(path, g->path)))
			return true;
	}
	return false;
}

static bool leads_to_something(const struct walk *w, struct sv path)
{
	for (size_t i = 0; i < w->b->areas_n; i++)
		if (w->b->areas[i].kind >= AREA_CODE &&
		    area_strictly_contains(path, w->b->areas[i].path))
			return true;
	return named_below(w, GRANT_SHOW, path);
}

static int hide_entry(struct walk *w, const struct entry *entry,
		      const struct grant *g, struct err *e)
{
	struct area target;
	struct err ignored;

	if (entry->type != DT_LNK)
		return cover(w, entry->path, g->text, e);
	if (area_resolve(w->b, entry->path, &target, &ignored) < 0 ||
	    !areas_find(w->b, target.path))
		return 0;
	return cover(w, target.path, g->text, e);
}

/* 1 when the entry is covered or absent, 0 when it is shown; may narrow or
 * widen how the entries below are looked at. */
static int mask_entry(struct walk *w, const struct entry *entry,
		      unsigned *look, struct err *e)
{
	const struct grant *hide = named_by(w, GRANT_HIDE, entry->path);

	if (hide)
		return hide_entry(w, entry, hide, e) < 0 ? -1 : 1;
	/* A socket is not what `show` speaks of: it opens what listens there. */
	if (entry->type == DT_SOCK && !entry->area)
		return cover(w, entry->path, SOCKET_OF_HOST, e) < 0 ? -1 : 1;
	if (entry->area || named_by(w, GRANT_SHOW, entry->path)) {
		*look = (*look & ~(unsigned)LOOK_HIDDEN) | LOOK_DOTS;
		return 0;
	}
	if (!(*look & LOOK_HIDDEN) &&
	    (!(*look & LOOK_DOTS) || entry->name.p[0] != '.' ||
	     dotfile_is_shown(entry->name)))
		return 0;
	if (entry->type == DT_LNK)
		return 1;
	if (entry->type == DT_DIR && leads_to_something(w, entry->path)) {
		*look |= LOOK_HIDDEN;
		return 0;
	}
	return cover(w, entry->path, SV("dot-file"), e) < 0 ? -1 : 1;
}

static bool is_one_of(struct sv name, const char *const *list)
{
	for (; *list; list++)
		if (sv_eq(name, sv_str(*list)))
			return true;
	return false;
}

/*
 * A submodule's repository lies in the one around it, at any depth below
 * .git/modules, and `git status` out here reads its configuration; a linked
 * worktree's says where its configuration is.
 */
static bool is_module_guarded(const struct entry *entry)
{
	static const char *const files[] = {
		"config", "config.worktree", "commondir", "attributes", NULL,
	};

	if (entry->type == DT_DIR)
		return sv_eq(entry->name, SV("hooks"));
	return is_one_of(entry->name, files);
}

static bool is_directory(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/*
 * A directory that looks like a bare repository is one to every git command
 * that is started in it, whatever it is called.
 */
static int guard_bare(struct walk *w, int dir_fd, const struct entry *head,
		      struct err *e)
{
	struct sv dir = builder_dup(w->b, area_parent(head->path));
	const struct sv git = SV(".git/");

	if (!is_directory(dir_fd, "objects") || !is_directory(dir_fd, "refs"))
		return 0;
	for (const char *const *at = dotfile_guards; *at; at++) {
		struct sv name = sv_str(*at);

		if (!sv_starts(name, git))
			continue;
		name = sv_from(name, git.n);
		if (faccessat(dir_fd, name.p, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
		    guards_add_found(w->b, builder_printf(w->b, "%.*s/%s",
							  SV_FMT(dir), name.p),
				     e) < 0)
			return -1;
	}
	return guards_add_git_dir(w->b, dir, e);
}

static int guard_entry(struct walk *w, int dir_fd, const struct entry *entry,
		       unsigned look, struct err *e)
{
	const struct grant *g = named_by(w, GRANT_GUARD, entry->path);

	if (g)
		return guards_add(w->b, builder_dup(w->b, entry->path),
				  g->text, e);
	if ((look & LOOK_MODULES) && sv_eq(entry->name, SV("HEAD")))
		return guards_add_git_dir(w->b, builder_dup(w->b,
					  area_parent(entry->path)), e);
	if ((look & LOOK_MODULES) && is_module_guarded(entry))
		return guards_add_found(w->b, builder_dup(w->b, entry->path),
					e);
	if (sv_eq(entry->name, SV("HEAD")))
		return guard_bare(w, dir_fd, entry, e);
	if (!dotfile_begins_guard(entry->name))
		return 0;
	return guards_add_default(w->b,
				  builder_dup(w->b, area_parent(entry->path)),
				  entry->name, e);
}

static int descend(struct walk *w, int dir_fd, const struct entry *entry,
		   unsigned look, struct err *e);

static bool leads_to_modules(struct sv name)
{
	return sv_eq(name, SV("modules")) || sv_eq(name, SV("worktrees"));
}

static int git_entry(struct walk *w, int dir_fd, const struct entry *entry,
		     unsigned look, struct err *e)
{
	static const char *const large[] = {
		"objects", "refs", "logs", "lfs", NULL,
	};
	const unsigned modules = LOOK_WRITE | LOOK_MODULES | LOOK_SOCKETS;

	if (entry->type == DT_SOCK)
		return cover(w, entry->path, SOCKET_OF_HOST, e);
	if (!(look & LOOK_WRITE))
		return 0;
	if (look & LOOK_MODULES) {
		if (sv_eq(entry->name, SV("HEAD")))
			return guards_add_git_dir(w->b, builder_dup(w->b,
						  area_parent(entry->path)), e);
		if (is_module_guarded(entry))
			return guards_add_found(w->b,
						builder_dup(w->b, entry->path),
						e);
		return entry->type != DT_DIR || is_one_of(entry->name, large) ?
			       0 : descend(w, dir_fd, entry, modules, e);
	}
	return look & LOOK_GIT && entry->type == DT_DIR &&
	       leads_to_modules(entry->name) ?
		       descend(w, dir_fd, entry, modules, e) : 0;
}

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

static int descend(struct walk *w, int dir_fd, const struct entry *entry,
		   unsigned look, struct err *e)
{
	int fd;

	if (dotfile_is_open(entry->name) &&
	    !(look & (LOOK_HIDDEN | LOOK_MODULES))) {
		look &= ~(unsigned)LOOK_DOTS;
		if (sv_eq(entry->name, SV(".git")))
			look |= LOOK_GIT;
		if (!named_below(w, GRANT_HIDE, entry->path) &&
		    !named_below(w, GRANT_GUARD, entry->path))
			look |= LOOK_SOCKETS;
	}
	fd = openat(dir_fd, entry->name.p, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !is_shut(w, fd))
		return walk_dir(w, fd, look, e);
	if (fd >= 0 || errno == EACCES || errno == EPERM || is_gone(errno)) {
		close_fd(&fd);
		return cover(w, entry->path, SV("an unreadable directory"), e);
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

static int walk_entry(struct walk *w, int dir_fd, struct entry *entry,
		      unsigned look, struct err *e)
{
	int masked;

	if (++w->entries > WALK_ENTRIES_MAX)
		return refuse(w, "more than four million entries", e);
	if (w->entries % WALK_CLOCK_EVERY == 0 && loop_now_ms() > w->until_ms)
		return refuse(w, "more than ten seconds' worth of entries", e);
	if (look & LOOK_SOCKETS)
		return git_entry(w, dir_fd, entry, look, e);
	entry->area = area_of(w, entry->path);
	/* Not what has this name out here. */
	if (entry->area && (entry->area->kind == AREA_PRIVATE ||
			    entry->area->source.n))
		return 0;
	/* A redundant one, a program in a writable tree, is as its tree is. */
	if (entry->area && !entry->area->redundant)
		look = entry->area->write ? look | LOOK_WRITE :
					    look & ~(unsigned)LOOK_WRITE;
	masked = mask_entry(w, entry, &look, e);
	if (masked)
		return masked < 0 ? -1 : 0;
	if ((look & LOOK_WRITE) && guard_entry(w, dir_fd, entry, look, e) < 0)
		return -1;
	if (entry->type != DT_DIR)
		return 0;
	if (look & LOOK_GIT)
		look = (look & ~(unsigned)LOOK_GIT) |
		       (leads_to_modules(entry->name) ? LOOK_MODULES : 0u);
	return descend(w, dir_fd, entry, look, e);
}

/* w->path[0..n] is dir's; adds the name, and takes it off again. */
static int walk_name(struct walk *w, DIR *dir, const struct dirent *d,
		     unsigned look, struct err *e)
{
	size_t n = w->n, length = strlen(d->d_name);
	struct entry entry = { .type = d->d_type };
	struct stat st;
	int rc;

	if (length + 2 > sizeof w->path - n)
		return refuse(w, "paths that are too long", e);
	if (n > 1)
		w->path[w->n++] = '/';
	memcpy(w->path + w->n, d->d_name, length + 1);
	w->n += length;
	entry.path = sv_of(w->path, w->n);
	entry.name = sv_of(w->path + w->n - length, length);
	if (entry.type == DT_UNKNOWN &&
	    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		entry.type = (unsigned char)IFTODT(st.st_mode);
	rc = walk_entry(w, dirfd(dir), &entry, look, e);
	w->n = n;
	return rc;
}

/* Takes dir_fd. */
static int walk_dir(struct walk *w, int dir_fd, unsigned look, struct err *e)
{
	auto_fd int fd = dir_fd;
	auto_dir DIR *dir = dir_take(&fd);
	const struct dirent *d;

	if (!dir)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (++w->depth > WALK_DEPTH_MAX)
		return refuse(w, "directories that are too deep", e);
	while ((d = dir_next(dir)) != NULL)
		if (walk_name(w, dir, d, look, e) < 0)
			return -1;
	if (errno)
		return err_sys(e, "read %.*s", (int)w->n, w->path);
	w->depth--;
	return 0;
}

/*
 * A grant of a git directory itself, or of a part of it, as a linked worktree
 * needs one: what git executes is guarded there as it is inside a tree.
 */
static int look_at_git(struct walk *w, const struct area *area, unsigned *look,
		       struct err *e)
{
	struct sv path = area->path;

	bool whole = named_below(w, GRANT_HIDE, path) ||
		     named_below(w, GRANT_GUARD, path);
	unsigned more = sv_ends(path, SV("/.git")) ? LOOK_GIT :
			sv_find_sv(path, SV("/.git/modules/")) < path.n ||
			sv_find_sv(path, SV("/.git/worktrees/")) < path.n ?
			LOOK_MODULES : 0;

	if (!area->write || !more)
		return 0;
	*look = LOOK_WRITE | more | (whole ? 0u : LOOK_SOCKETS);
	return more != LOOK_GIT ? 0 :
	       guards_add_default(w->b, area_parent(path), SV(".git"), e);
}

static int walk_area(struct walk *w, const struct area *area, struct err *e)
{
	unsigned look = LOOK_DOTS | (area->write ? LOOK_WRITE : 0u);
	int fd = path_open_exact(AT_FDCWD, area->path, O_RDONLY | O_DIRECTORY |
				 O_NONBLOCK, e);

	if (fd < 0 && (e->code == EACCES || e->code == EPERM))
		return cover(w, area->path, SV("an unreadable directory"), e);
	if (fd < 0)
		return err_ctx(e, "%.*s", SV_FMT(area->why));
	if (area_check(area, fd, e) < 0 ||
	    look_at_git(w, area, &look, e) < 0) {
		(void)close(fd);
		return -1;
	}
	w->root = area;
	w->depth = 0;
	w->n = area->path.n;
	memcpy(w->path, area->path.p, area->path.n);
	return walk_dir(w, fd, look, e);
}

/* What `hide` names without a pattern need not lie in a tree that is walked. */
static int hide_named(struct walk *w, struct err *e)
{
	const struct policy *p = w->b->policy;

	for (size_t i = 0; i < p->grants_n; i++) {
		const struct grant *g = &p->grants[i];
		struct area found;

		if (g->kind != GRANT_HIDE || g->is_glob)
			continue;
		if (area_resolve(w->b, g->path, &found, e) < 0) {
			if (e->code == ENOENT || e->code == ENOTDIR)
				continue;
			if (e->code != EACCES)
				return err_ctx(e, "%.*s", SV_FMT(g->text));
			found.path = g->path;
		}
		if (areas_find(w->b, found.path) &&
		    areas_find(w->b, found.path)->kind != AREA_PRIVATE &&
		    cover(w, found.path, g->text, e) < 0)
			return -1;
	}
	return 0;
}

int walk_plan(struct builder *b, struct err *e)
{
	struct walk *w = arena_make(b->arena, struct walk);

	if (!w)
		return err_kind(e, ERR_LIMIT, "out of memory");
	w->b = b;
	w->until_ms = loop_now_ms() + WALK_MS_MAX;
	w->visited = arena_alloc(b->arena, b->areas_n * sizeof *w->visited);
	if (!w->visited)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (hide_named(w, e) < 0)
		return -1;
	for (size_t i = 0; i < b->areas_n; i++) {
		const struct area *area = &b->areas[i];

		if (area->kind != AREA_NAMED || w->visited[i] ||
		    area->source.n ||
		    area->identity.type != S_IFDIR)
			continue;
		if (walk_area(w, area, e) < 0)
			return -1;
	}
	return 0;
}
