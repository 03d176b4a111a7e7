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
#include <sys/xattr.h>
#include <unistd.h>

#include "entry.h"
#include "own.h"

enum { BLOCK = 256 << 10, NAMES_MAX = 128 << 10, VALUE_MAX = 64 << 10,
       OWNERS_FROM = 2000000000 };

/* Where something is made of what. */
struct stage {
	struct apply *a;
	int from_dir_fd, to_dir_fd;
	const char *from, *to;
};

static int copy_range(int to_fd, int from_fd, off_t at, off_t end,
		      struct err *e)
{
	static char block[BLOCK];

	while (at < end) {
		off_t left = end - at;
		size_t want = left < BLOCK ? (size_t)left : BLOCK;
		ssize_t n = pread(from_fd, block, want, at);

		if (n == 0)
			break;
		if (n > 0)
			n = pwrite(to_fd, block, (size_t)n, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "copy");
		at += n;
	}
	return 0;
}

static int copy_contents(int to_fd, int from_fd, off_t size, struct err *e)
{
	off_t end = 0;

	for (;;) {
		off_t at = lseek(from_fd, end, SEEK_DATA);

		if (at < 0 && errno == ENXIO)
			break;		/* nothing but a hole */
		end = at < 0 ? -1 : lseek(from_fd, at, SEEK_HOLE);
		if (end < 0)
			return err_sys(e, "find its contents");
		if (copy_range(to_fd, from_fd, at, end, e) < 0)
			return -1;
	}
	if (ftruncate(to_fd, size) < 0)
		return err_sys(e, "give it its size");
	return 0;
}

static int copy_attributes(int to_fd, int from_fd, struct err *e)
{
	static char value[VALUE_MAX];
	auto_buf struct buf names = buf_new(NAMES_MAX);

	if (entry_attributes(from_fd, &names, e) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i += strlen(names.p + i) + 1) {
		const char *name = names.p + i;
		ssize_t n = fgetxattr(from_fd, name, value, sizeof value);

		if (n < 0 || fsetxattr(to_fd, name, value, (size_t)n, 0) < 0)
			return err_sys(e, "copy the attribute %.100s", name);
	}
	return 0;
}

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
	if (copy_attributes(fd, from_fd, e) < 0)
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

/* What is staged of one op, and the change that is at work. */
struct staging {
	struct apply *a;
	const struct apply_op *op;
	int upper_fd;		/* of the tree */
	int parent_fd;		/* where the op's place is */
};

/* Runs `make` (or finish_dir()) for one change of the op. */
static int at_change(const struct staging *g, const struct change *change,
		     bool finish, struct err *e)
{
	struct sv below = sv_from(change->path, g->op->path.n);
	bool is_top = below.n == 0;
	struct stage s = {
		.a = g->a, .from = change_base(change->path).p,
		.to = is_top ? g->op->ours.p : change_base(change->path).p,
	};
	auto_fd int from_fd = path_open_beneath(g->upper_fd,
						change_parent(change->path),
						O_RDONLY | O_DIRECTORY, e);
	auto_fd int top_fd = -1, to_fd = -1;

	if (from_fd < 0)
		return -1;
	if (!is_top) {
		top_fd = openat(g->parent_fd, g->op->ours.p, O_RDONLY |
				O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (top_fd < 0)
			return err_sys(e, "open what is staged");
		to_fd = path_open_beneath(top_fd,
					  change_parent(sv_from(below, 1)),
					  O_RDONLY | O_DIRECTORY, e);
		if (to_fd < 0)
			return -1;
	}
	s.from_dir_fd = from_fd;
	s.to_dir_fd = is_top ? g->parent_fd : to_fd;
	return finish ? finish_dir(&s, e) : make_one(&s, change->mode, e);
}

static int at_changes(const struct staging *g, const struct changes *c,
		      struct err *e)
{
	size_t first = g->op->change, end = first + 1;

	while (end < c->n && c->list[end].tree == g->op->tree &&
	       change_is_below(c->list[end].path, g->op->path))
		end++;
	for (size_t i = first; i < end; i++)
		if (c->list[i].chosen &&
		    at_change(g, &c->list[i], false, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(c->list[i].path));
	for (size_t i = end; i > first; i--) {
		const struct change *change = &c->list[i - 1];

		if (change->chosen && S_ISDIR(change->mode) &&
		    at_change(g, change, true, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(change->path));
	}
	return 0;
}

static int stage_op(struct apply *a, struct held *h, const struct changes *c,
		    struct apply_op *op, struct err *e)
{
	struct staging g = { .a = a, .op = op };
	auto_fd int upper_fd = held_open_upper(h, op->tree, e);
	auto_fd int parent_fd = upper_fd < 0 ? -1 :
				apply_open_parent(a, op, e);

	if (parent_fd < 0)
		return -1;
	g.upper_fd = upper_fd;
	g.parent_fd = parent_fd;
	if (op->kind == APPLY_ADD || op->kind == APPLY_REPLACE) {
		if (at_changes(&g, c, e) < 0)
			return -1;
		return apply_version(parent_fd, op->ours.p, &op->new, e);
	}
	return 0;
}

int stage_all(struct apply *a, struct held *h, const struct changes *c,
	      struct err *e)
{
	for (size_t i = 0; i < a->ops_n; i++)
		if (stage_op(a, h, c, &a->ops[i], e) < 0)
			return err_ctx(e, "stage %.*s",
				       SV_FMT(a->ops[i].path));
	return 0;
}
