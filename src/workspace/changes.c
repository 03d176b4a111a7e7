/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run has changed: see changes.h.
 *
 * An upper layer is walked beside the host's tree, by descriptors.  Nothing that
 * a name in it leads to is opened: what is not a file or a directory is only
 * looked at, and symbolic links are read, never followed.
 *
 * Only overlayfs makes what it acts upon there: a whiteout is a device, which
 * nobody inside can make, and its attributes are kept from those inside.
 */
#include "changes.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "dir.h"
#include "dotfiles.h"
#include "entry.h"
#include "own.h"
#include "seen.h"

enum { DEPTH_MAX = 200, CHANGES_MAX = 2000000, MODES = 01777 };

struct walk {
	struct held *held;
	struct changes *ret;
	unsigned tree, depth;
	bool settle;
	bool first_only;	/* one is enough */
	size_t n;
	char path[PATH_MAX];	/* below the tree */
};

/* One directory of both; lower_fd is -1 where the host has none. */
struct pair {
	int upper_fd, lower_fd;
	bool opaque;	/* nothing below it is of the host's there */
	bool moved;	/* the host's is not the one that the run saw */
};

struct sv change_parent(struct sv path)
{
	size_t n = path.n;

	while (n && path.p[n - 1] != '/')
		n--;
	return sv_head(path, n ? n - 1 : 0);
}

struct sv change_base(struct sv path)
{
	size_t n = path.n;

	while (n && path.p[n - 1] != '/')
		n--;
	return sv_from(path, n);
}

/* path is below the tree that is walked. */
static bool is_later(const struct walk *w, struct sv path,
		     const struct stat *st)
{
	return seen_is_later(w->held, w->tree, path, st);
}

static struct sv path_of(const struct walk *w)
{
	return sv_of(w->path, w->n);
}

static bool is_done(const struct walk *w)
{
	return w->first_only && w->ret->n;
}

static bool is_guarded(const struct walk *w, mode_t mode)
{
	auto_buf struct buf path = buf_new(3 * PATH_MAX);

	buf_put(&path, w->held->trees[w->tree].path);
	buf_putc(&path, '/');
	buf_put(&path, path_of(w));
	/* What does not fit is not to be judged by half. */
	return path.full || dotfile_is_guarded(buf_sv(&path), mode);
}

static struct change *add(struct walk *w, enum change_kind kind, mode_t mode,
			  struct err *e)
{
	struct changes *c = w->ret;
	struct change *change = NULL;

	if (c->n < CHANGES_MAX)
		change = arena_push(&w->held->arena, &c->list, &c->n, &c->cap);
	if (change)
		*change = (struct change){
			.kind = kind, .tree = w->tree, .mode = mode,
			.path = arena_dup(&w->held->arena, path_of(w)),
			.guarded = is_guarded(w, mode),
		};
	if (!change || !change->path.p) {
		(void)err_kind(e, ERR_LIMIT, "too many changes to list");
		return NULL;
	}
	return change;
}

static int push(struct walk *w, const char *name, size_t *ret_n,
		struct err *e)
{
	size_t length = strlen(name);

	*ret_n = w->n;
	if (w->n + length + 2 > sizeof w->path || w->depth > DEPTH_MAX)
		return err_kind(e, ERR_LIMIT, "the changes lie too deep: "
				"%.200s...", w->path);
	if (w->n)
		w->path[w->n++] = '/';
	memcpy(w->path + w->n, name, length + 1);
	w->n += length;
	return 0;
}

static void pop(struct walk *w, size_t n)
{
	w->n = n;
	w->path[n] = 0;
}

/* A descriptor of its own for reading names, as a stream takes it. */
static DIR *open_names(int dir_fd, struct err *e)
{
	DIR *dir = dir_again(dir_fd);

	if (!dir)
		(void)err_sys(e, "read a directory");
	return dir;
}

/* What the host has there is to go: is anything of it later than the run, or
 * guarded? */
static int judge_lost(struct walk *w, int lower_fd, const char *name,
		      struct change *change, struct err *e)
{
	auto_fd int fd = -1;
	auto_dir DIR *dir = NULL;
	const struct dirent *d;
	struct stat st;
	int found = entry_look(lower_fd, name, &st, e);

	if (found <= 0)
		return found;
	change->conflict |= is_later(w, path_of(w), &st);
	change->guarded |= is_guarded(w, st.st_mode);
	if (!S_ISDIR(st.st_mode))
		return 0;
	fd = openat(lower_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	dir = fd < 0 ? NULL : open_names(fd, e);
	if (!dir) {
		/* What cannot be looked into is not removed. */
		change->conflict = true;
		return 0;
	}
	w->depth++;
	while ((d = dir_next(dir)) != NULL) {
		size_t n;
		int rc;

		rc = push(w, d->d_name, &n, e);
		if (rc == 0)
			rc = judge_lost(w, fd, d->d_name, change, e);
		pop(w, n);
		if (rc < 0)
			return -1;
	}
	w->depth--;
	return 0;
}

static int add_deleted(struct walk *w, const struct pair *at,
		       const char *name, const struct stat *lower,
		       struct err *e)
{
	struct change *change = add(w, CHANGE_DELETED, lower->st_mode, e);

	if (change)
		change->conflict = at->moved;
	return change ? judge_lost(w, at->lower_fd, name, change, e) : -1;
}

static const char *why_refused(const struct entry_at *upper, int fd)
{
	struct err ignored;

	switch (upper->st.st_mode & S_IFMT) {
	case S_IFLNK:
		return NULL;
	case S_IFREG:
	case S_IFDIR:
		return fd >= 0 && entry_has_foreign_notes(fd, &ignored) == 0 ?
			       NULL : "it has attributes of overlayfs";
	default:
		return "it is neither a file, a directory nor a link";
	}
}

/* What was copied up has a note of it. */
static bool was_the_hosts(int fd)
{
	char origin;

	return fgetxattr(fd, "user.overlay.origin", &origin, 0) >= 0;
}

/* The agent's file was the host's once, and the host has none there now. */
static bool is_lost_below(const struct walk *w, const struct pair *at, int fd)
{
	struct stat st;

	if (fd < 0 || at->opaque || !was_the_hosts(fd))
		return false;
	/* One that the agent has renamed has no such name below, either; but
	 * then nobody has touched the directory. */
	return at->lower_fd < 0 ||
	       (fstat(at->lower_fd, &st) == 0 && is_later(w, change_parent(path_of(w)), &st));
}

/*
 * A directory that took the name of another: what is in it may be as old as can
 * be.  Where it was not noted when the run ended: a rename changes its ctime
 * alone, entries that come and go its mtime as well, and to the same time.
 */
static int is_moved(const struct walk *w, int lower_fd, struct err *e)
{
	struct stat st;

	if (fstat(lower_fd, &st) < 0)
		return err_sys(e, "look at %.200s", w->path);
	switch (seen_directory(w->held, w->tree, path_of(w), &st)) {
	case SEEN_SAME:
		return 0;
	case SEEN_OTHER:
		return 1;
	case SEEN_UNKNOWN:
		break;
	}
	return is_later(w, path_of(w), &st) &&
	       (st.st_ctim.tv_sec != st.st_mtim.tv_sec ||
		st.st_ctim.tv_nsec != st.st_mtim.tv_nsec);
}

static int walk_pair(struct walk *w, const struct pair *at, struct err *e);

static int walk_dir(struct walk *w, const struct pair *at, const char *name,
		    int upper_fd, bool has_lower, struct err *e)
{
	auto_fd int lower_fd = -1;
	struct pair below = {
		.upper_fd = upper_fd, .lower_fd = -1,
		.opaque = at->opaque || entry_is_opaque(upper_fd) ||
			  /* Made inside: what the agent has renamed into it
			   * was never the host's there. */
			  (!has_lower && !was_the_hosts(upper_fd)),
	};

	if (has_lower) {
		int moved;

		lower_fd = openat(at->lower_fd, name, O_RDONLY | O_DIRECTORY |
				  O_NOFOLLOW | O_CLOEXEC);
		if (lower_fd < 0)
			return err_sys(e, "open %.200s", w->path);
		moved = is_moved(w, lower_fd, e);
		if (moved < 0)
			return -1;
		below.moved = at->moved || moved;
	}
	below.lower_fd = lower_fd;
	return walk_pair(w, &below, e);
}

/* Of two that have one type. */
static int is_equal(const struct entry_at *upper, const struct entry_at *lower,
		    struct err *e)
{
	/* setuid and setgid are not carried over, so they are no change. */
	if (!S_ISLNK(upper->st.st_mode) &&
	    ((upper->st.st_mode ^ lower->st.st_mode) & MODES))
		return 0;
	return compare_entries(upper, lower, e);
}

static bool has_more_names(const struct stat *st)
{
	return st->st_nlink > 1 && !S_ISDIR(st->st_mode);
}

static int add_unchanged(struct walk *w, const struct pair *at,
			 const struct entry_at *upper,
			 const struct entry_at *lower, struct err *e)
{
	struct changes *c = w->ret;
	struct unchanged *u;
	int usable = names_is_usable(upper, lower, e);

	if (usable < 0)
		return -1;
	u = c->unchanged_n < CHANGES_MAX ?
		    arena_push(&w->held->arena, &c->unchanged,
			       &c->unchanged_n, &c->unchanged_cap) : NULL;
	if (u)
		*u = (struct unchanged){
			.tree = w->tree, .inode = upper->st.st_ino,
			.mode = upper->st.st_mode,
			.path = arena_dup(&w->held->arena, path_of(w)),
			.guarded = is_guarded(w, upper->st.st_mode),
			.conflict = at->moved ||
				    is_later(w, path_of(w), &lower->st),
		};
	if (!u || !u->path.p)
		return err_kind(e, ERR_LIMIT, "too many names to list");
	u->usable = usable && !u->guarded && !u->conflict;
	return 0;
}

static int add_changed(struct walk *w, const struct pair *at,
		       const struct entry_at *upper,
		       const struct entry_at *lower, int fd, struct err *e)
{
	bool has_lower = lower->st.st_mode;
	bool other = has_lower && ((upper->st.st_mode ^ lower->st.st_mode) &
				   S_IFMT);
	struct change *change;

	if (has_lower && !other) {
		int equal = is_equal(upper, lower, e);

		if (equal > 0 && has_more_names(&upper->st))
			equal = add_unchanged(w, at, upper, lower, e) < 0 ?
					-1 : 1;
		if (equal)
			return equal < 0 ? err_ctx(e, "%.200s", w->path) : 0;
	}
	change = add(w, !has_lower ? CHANGE_ADDED :
			other ? CHANGE_TYPE : CHANGE_MODIFIED,
		     upper->st.st_mode, e);
	if (!change)
		return -1;
	change->refused = why_refused(upper, fd);
	change->inode = has_more_names(&upper->st) ? upper->st.st_ino : 0;
	change->conflict = at->moved;
	if (!has_lower)
		change->conflict |= is_lost_below(w, at, fd);
	else if (other)
		return judge_lost(w, at->lower_fd, lower->name, change, e);
	else
		change->conflict |= is_later(w, path_of(w), &lower->st);
	return 0;
}

static int walk_entry(struct walk *w, const struct pair *at, const char *name,
		      struct err *e)
{
	struct entry_at upper = { .dir_fd = at->upper_fd, .name = name };
	struct entry_at lower = { .dir_fd = at->lower_fd, .name = name };
	auto_fd int fd = -1;
	bool is_dir;
	int found;

	found = entry_look(at->upper_fd, name, &upper.st, e);
	if (found <= 0)
		return found;
	found = at->lower_fd < 0 ? 0 :
		entry_look(at->lower_fd, name, &lower.st, e);
	if (found < 0)
		return -1;
	if (entry_is_whiteout(&upper.st))
		return found ? add_deleted(w, at, name, &lower.st, e) : 0;
	is_dir = S_ISDIR(upper.st.st_mode);
	if (is_dir || S_ISREG(upper.st.st_mode)) {
		fd = entry_open(at->upper_fd, name, is_dir ? O_DIRECTORY : 0,
				e);
		if (fd < 0)
			return -1;
	}
	if (add_changed(w, at, &upper, &lower, fd, e) < 0)
		return -1;
	if (!is_dir || is_done(w))
		return 0;
	return walk_dir(w, at, name, fd, S_ISDIR(lower.st.st_mode), e);
}

static int settle_one(const struct pair *at, const char *name, struct err *e)
{
	if (mknodat(at->upper_fd, name, S_IFCHR, makedev(0, 0)) < 0)
		return err_sys(e, "note that %.200s is deleted", name);
	return 0;
}

/* What the host has, and a directory that replaces its has not. */
static int walk_missing(struct walk *w, const struct pair *at, struct err *e)
{
	auto_dir DIR *dir = open_names(at->lower_fd, e);
	const struct dirent *d;

	if (!dir)
		return -1;
	while (!is_done(w) && (d = dir_next(dir)) != NULL) {
		struct stat upper, lower;
		size_t n;
		int rc;

		rc = entry_look(at->upper_fd, d->d_name, &upper, e);
		if (rc == 0 &&
		    entry_look(at->lower_fd, d->d_name, &lower, e) <= 0)
			continue;
		if (rc < 0)
			return -1;
		if (rc > 0)
			continue;
		if (push(w, d->d_name, &n, e) < 0)
			return -1;
		rc = add_deleted(w, at, d->d_name, &lower, e);
		if (rc == 0 && w->settle)
			rc = settle_one(at, d->d_name, e);
		pop(w, n);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* In a directory that the agent may have closed to itself. */
static int settle_replaced(struct walk *w, const struct pair *at,
			   struct err *e)
{
	struct stat st;
	int rc;

	if (fstat(at->upper_fd, &st) < 0 || fchmod(at->upper_fd, 0700) < 0)
		return err_sys(e, "open a directory that is replaced");
	rc = walk_missing(w, at, e);
	if (rc == 0 && fremovexattr(at->upper_fd, "user.overlay.opaque") < 0 &&
	    errno != ENODATA)
		rc = err_sys(e, "note that a directory is not replaced");
	if (fchmod(at->upper_fd, st.st_mode & 07777) < 0 && rc == 0)
		rc = err_sys(e, "close a directory that is replaced");
	return rc;
}

/* Beside a file that is shown alone there may be what other trees, which share
 * the layer, have. */
static bool is_anothers(const struct walk *w, const char *name)
{
	struct sv only = w->held->trees[w->tree].only;

	return w->depth == 1 && only.n && !sv_eq(only, sv_str(name));
}

static int walk_pair(struct walk *w, const struct pair *at, struct err *e)
{
	auto_dir DIR *dir = open_names(at->upper_fd, e);
	const struct dirent *d;

	if (!dir)
		return -1;
	w->depth++;
	while (!is_done(w) && (d = dir_next(dir)) != NULL) {
		size_t n;
		int rc;

		if (is_anothers(w, d->d_name))
			continue;
		rc = push(w, d->d_name, &n, e);
		if (rc == 0)
			rc = walk_entry(w, at, d->d_name, e);
		pop(w, n);
		if (rc < 0)
			return -1;
	}
	w->depth--;
	if (!at->opaque || at->lower_fd < 0 || is_done(w))
		return 0;
	return w->settle ? settle_replaced(w, at, e) : walk_missing(w, at, e);
}

static int walk_tree(struct walk *w, struct err *e)
{
	auto_fd int upper_fd = -1, lower_fd = -1;
	int rc = held_find_upper(w->held, w->tree, &upper_fd, e);

	if (rc <= 0)
		return rc;
	lower_fd = held_open_lower(w->held, w->tree, e);
	return lower_fd < 0 ? -1 :
	       walk_pair(w, &(struct pair){ .upper_fd = upper_fd,
					    .lower_fd = lower_fd }, e);
}

static int find(struct held *h, bool settle, bool first_only,
		struct changes *ret, struct err *e)
{
	struct walk *w = arena_make(&h->arena, struct walk);

	if (!w)
		return err_kind(e, ERR_LIMIT, "out of memory");
	w->held = h;
	w->ret = ret;
	w->settle = settle;
	w->first_only = first_only;
	for (w->tree = 0; w->tree < h->trees_n && !is_done(w); w->tree++) {
		w->n = w->depth = 0;
		if (walk_tree(w, e) < 0)
			return -1;
	}
	return names_find(h, ret, e);
}

int changes_find(struct held *h, bool settle, struct changes *ret,
		 struct err *e)
{
	*ret = (struct changes){ 0 };
	return find(h, settle, false, ret, e);
}

int changes_any(struct held *h, struct err *e)
{
	struct changes c = { 0 };

	return find(h, false, true, &c, e) < 0 ? -1 : c.n > 0;
}
