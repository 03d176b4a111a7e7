/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging: what is new is made beside its place, complete, under a name of ours
 * (apply.h).  A new directory is staged as a whole, and of what is in it only
 * what was chosen.
 *
 * Carried over: contents with their holes, permissions without setuid and
 * setgid, times, a user's attributes and ACLs; not security.* ones.  A symbolic
 * link is made anew, with the words it has.
 */
#include "apply.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "copy.h"
#include "entry.h"
#include "own.h"

enum { OWNERS_FROM = 2000000000 };

/* Where something is made of what. */
struct stage {
	struct apply *a;
	int from_dir_fd, to_dir_fd;
	const char *from, *to;
};

/* Owner first (it clears modes), times last (all else changes them). */
static int dress(int fd, int from_fd, const struct stat *st, struct err *e)
{
	/* A directory's own say when entries came and went: now, here. */
	const struct timespec now[2] = {
		{ .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW },
	};
	const struct timespec kept[2] = { st->st_atim, st->st_mtim };
	mode_t mode = st->st_mode & 01777;
	struct stat made;

	if (fstat(fd, &made) < 0)
		return err_sys(e, "look at what was made");
	/* Root alone can, and gives nothing to an id that only a sandbox has. */
	if (geteuid() == 0 && st->st_uid < OWNERS_FROM &&
	    st->st_gid < OWNERS_FROM && fchown(fd, st->st_uid, st->st_gid) < 0)
		return err_sys(e, "give it its owner");
	if (copy_attributes(fd, from_fd, false, e) < 0)
		return -1;
	/* The group of what is made there later: the host's directory said. */
	if (S_ISDIR(made.st_mode))
		mode |= made.st_mode & S_ISGID;
	if (fchmod(fd, mode) < 0)
		return err_sys(e, "give it its mode");
	if (futimens(fd, S_ISDIR(made.st_mode) ? now : kept) < 0)
		return err_sys(e, "give it its times");
	return 0;
}

static int make_file(const struct stage *s, struct err *e)
{
	auto_fd int from_fd = entry_open(s->from_dir_fd, s->from, 0, e);
	auto_fd int to_fd = -1;
	struct stat st;

	if (from_fd < 0)
		return -1;
	if (fstat(from_fd, &st) < 0)
		return err_sys(e, "look at it");
	if (!S_ISREG(st.st_mode))
		return err_kind(e, ERR_DENIED, "it was replaced meanwhile");
	to_fd = openat(s->to_dir_fd, s->to, O_WRONLY | O_CREAT | O_EXCL |
		       O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to_fd < 0)
		return err_sys(e, "make it");
	if (copy_contents(to_fd, from_fd, st.st_size, e) < 0)
		return -1;
	return dress(to_fd, from_fd, &st, e);
}

static int make_link(const struct stage *s, struct err *e)
{
	auto_buf struct buf text = buf_new(PATH_MAX);
	struct timespec times[2];
	struct stat st;

	if (entry_read_link(s->from_dir_fd, s->from, &text, e) < 0)
		return -1;
	if (fstatat(s->from_dir_fd, s->from, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at it");
	if (!buf_cstr(&text))
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (symlinkat(text.p, s->to_dir_fd, s->to) < 0)
		return err_sys(e, "make the link");
	if (geteuid() == 0 && st.st_uid < OWNERS_FROM &&
	    st.st_gid < OWNERS_FROM &&
	    fchownat(s->to_dir_fd, s->to, st.st_uid, st.st_gid,
		     AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give it its owner");
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (utimensat(s->to_dir_fd, s->to, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give it its times");
	return 0;
}

static int make_one(const struct stage *s, mode_t mode, struct err *e)
{
	if (apply_step(s->a, e) < 0)
		return -1;
	if (S_ISREG(mode))
		return make_file(s, e);
	if (S_ISLNK(mode))
		return make_link(s, e);
	/* Open to us until all is in it. */
	if (mkdirat(s->to_dir_fd, s->to, 0700) < 0)
		return err_sys(e, "make the directory");
	return 0;
}

/* A staged directory that has all it shall have. */
static int finish_dir(const struct stage *s, struct err *e)
{
	auto_fd int from_fd = entry_open(s->from_dir_fd, s->from, O_DIRECTORY,
					 e);
	auto_fd int to_fd = -1;
	struct stat st;

	if (from_fd < 0)
		return -1;
	to_fd = openat(s->to_dir_fd, s->to, O_RDONLY | O_DIRECTORY |
		       O_NOFOLLOW | O_CLOEXEC);
	if (to_fd < 0 || fstat(from_fd, &st) < 0)
		return err_sys(e, "finish the directory");
	return dress(to_fd, from_fd, &st, e);
}

/* Which change is staged with which op, for those that are linked to it. */
struct staged {
	const struct apply_op *op;
	uint64_t ino;
};

/* What is staged of one op, and the change that is at work. */
struct staging {
	struct apply *a;
	const struct apply_op *op;
	const struct changes *c;
	struct staged *staged;	/* as many as c->n */
	int upper_fd;		/* of the tree */
	int parent_fd;		/* where the op's place is */
};

/* The directory that this change of op is staged in. */
static int open_staged_parent(const struct apply_op *op, int parent_fd,
			      struct sv path, struct err *e)
{
	struct sv below = sv_from(path, op->path.n);
	auto_fd int top_fd = openat(parent_fd, below.n ? op->ours.p : ".",
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				    O_CLOEXEC);

	if (top_fd < 0)
		return err_sys(e, "open what is staged");
	if (below.n == 0)
		return steal_fd(&top_fd);
	return path_open_beneath(top_fd, change_parent(sv_from(below, 1)),
				 O_RDONLY | O_DIRECTORY, e);
}

static const char *staged_name(const struct apply_op *op, struct sv path)
{
	return path.n == op->path.n ? op->ours.p : change_base(path).p;
}

/* Between two directories that one file system keeps apart, or when the file
 * has as many names as it can, it is a copy. */
static bool cannot_link(int error)
{
	return error == EXDEV || error == EMLINK || error == EOPNOTSUPP ||
	       error == ENOSYS || error == EPERM;
}

/* 1 when s->to is a further name of that, 0 when it cannot be. */
static int make_name(const struct stage *s, int dir_fd, const char *name,
		     struct err *e)
{
	if (apply_step(s->a, e) < 0)
		return -1;
	if (linkat(dir_fd, name, s->to_dir_fd, s->to, 0) == 0)
		return 1;
	return cannot_link(errno) ? 0 : err_sys(e, "link it");
}

static int link_to_host(const struct staging *g, const struct stage *s,
			const struct change *change, struct err *e)
{
	const struct unchanged *u = &g->c->unchanged[change->host - 1];
	const struct apply_host *host = &g->a->hosts[u->host];
	auto_fd int dir_fd = apply_open_dir(g->a, u->tree,
					    change_parent(u->path), e);
	struct apply_version made;
	int rc;

	if (dir_fd < 0)
		return -1;
	rc = make_name(s, dir_fd, change_base(u->path).p, e);
	if (rc <= 0)
		return rc;
	if (apply_version(s->to_dir_fd, s->to, &made, e) < 0)
		return -1;
	return apply_is_same(&made, &host->was) ? 1 :
	       err_kind(e, ERR_DENIED, "%.*s was changed meanwhile",
			SV_FMT(u->path));
}

static int link_to_staged(const struct staging *g, const struct stage *s,
			  const struct change *change, struct err *e)
{
	struct sv path = change_linked(g->c, change);
	const struct staged *first = &g->staged[change->first - 1];
	auto_fd int parent_fd = apply_open_parent(g->a, first->op, e);
	auto_fd int dir_fd = parent_fd < 0 ? -1 :
			     open_staged_parent(first->op, parent_fd, path, e);
	struct apply_version made;
	int rc;

	if (dir_fd < 0)
		return -1;
	rc = make_name(s, dir_fd, staged_name(first->op, path), e);
	if (rc <= 0)
		return rc;
	if (apply_version(s->to_dir_fd, s->to, &made, e) < 0)
		return -1;
	return made.ino == first->ino ? 1 :
	       err_kind(e, ERR_DENIED, "what was staged is gone");
}

static int make_change(const struct staging *g, const struct stage *s,
		       const struct change *change, struct err *e)
{
	size_t i = (size_t)(change - g->c->list);
	struct apply_version made;
	int rc = 0;

	if (change->host)
		rc = link_to_host(g, s, change, e);
	else if (change->first)
		rc = link_to_staged(g, s, change, e);
	/* A name of another file is never dressed. */
	if (rc == 0 && make_one(s, change->mode, e) < 0)
		rc = -1;
	if (rc < 0 || apply_version(s->to_dir_fd, s->to, &made, e) < 0)
		return -1;
	g->staged[i] = (struct staged){ g->op, made.ino };
	return 0;
}

/* Makes one change of the op, or finishes a directory of it. */
static int at_change(const struct staging *g, const struct change *change,
		     bool finish, struct err *e)
{
	struct stage s = {
		.a = g->a, .from = change_base(change->path).p,
		.to = staged_name(g->op, change->path),
	};
	auto_fd int from_fd = path_open_beneath(g->upper_fd,
						change_parent(change->path),
						O_RDONLY | O_DIRECTORY, e);
	auto_fd int to_fd = from_fd < 0 ? -1 :
			    open_staged_parent(g->op, g->parent_fd,
					       change->path, e);

	if (to_fd < 0)
		return -1;
	s.from_dir_fd = from_fd;
	s.to_dir_fd = to_fd;
	return finish ? finish_dir(&s, e) : make_change(g, &s, change, e);
}

static size_t end_of(const struct staging *g)
{
	const struct changes *c = g->c;
	size_t end = g->op->change + 1;

	while (end < c->n && c->list[end].tree == g->op->tree &&
	       change_is_below(c->list[end].path, g->op->path))
		end++;
	return end;
}

static int make_changes(const struct staging *g, struct err *e)
{
	const struct change *list = g->c->list;

	for (size_t i = g->op->change, end = end_of(g); i < end; i++)
		if (list[i].chosen && at_change(g, &list[i], false, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(list[i].path));
	return 0;
}

static int finish_changes(const struct staging *g, struct err *e)
{
	const struct change *list = g->c->list;

	for (size_t i = end_of(g); i > g->op->change; i--)
		if (list[i - 1].chosen && S_ISDIR(list[i - 1].mode) &&
		    at_change(g, &list[i - 1], true, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(list[i - 1].path));
	return 0;
}

static int stage_op(struct staging *g, struct held *h, struct apply_op *op,
		    bool finish, struct err *e)
{
	auto_fd int upper_fd = held_open_upper(h, op->tree, e);
	auto_fd int parent_fd = upper_fd < 0 ? -1 :
				apply_open_parent(g->a, op, e);

	if (parent_fd < 0)
		return -1;
	if (op->kind != APPLY_ADD && op->kind != APPLY_REPLACE)
		return 0;
	g->op = op;
	g->upper_fd = upper_fd;
	g->parent_fd = parent_fd;
	if (!finish)
		return make_changes(g, e);
	if (finish_changes(g, e) < 0)
		return -1;
	return apply_version(parent_fd, op->ours.p, &op->new, e);
}

/* Directories are finished when all is in them: one that is closed to us could
 * not be looked into for a file that another name is linked to. */
int stage_all(struct apply *a, struct held *h, const struct changes *c,
	      struct err *e)
{
	struct staging g = {
		.a = a, .c = c,
		.staged = arena_alloc(a->arena, (c->n + 1) *
				      sizeof(struct staged)),
	};

	if (!g.staged)
		return err_kind(e, ERR_LIMIT, "out of memory");
	for (size_t i = 0; i < 2 * a->ops_n; i++) {
		struct apply_op *op = &a->ops[i % a->ops_n];

		if (stage_op(&g, h, op, i >= a->ops_n, e) < 0)
			return err_ctx(e, "stage %.*s", SV_FMT(op->path));
	}
	return 0;
}
