/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's entries were: see seen.h.  The list is written whole, renamed,
 * and grows by every apply of a run. */
#include "seen.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "apply.h"
#include "cur.h"
#include "dir.h"
#include "entry.h"
#include "io.h"
#include "own.h"

enum { SEEN_MAX = 256 << 20, DEPTH_MAX = 200 };
#define SEEN "seen"

static bool is_after(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec :
					a->tv_nsec > b->tv_nsec;
}

bool seen_is_later(const struct held *h, uint32_t tree, struct sv path,
		   const struct stat *st)
{
	if (!is_after(&st->st_ctim, &h->began))
		return false;
	for (size_t i = 0; i < h->seen_n; i++) {
		const struct held_seen *s = &h->seen[i];

		if (s->tree == tree && s->ino == st->st_ino &&
		    s->ctime.tv_sec == st->st_ctim.tv_sec &&
		    s->ctime.tv_nsec == st->st_ctim.tv_nsec &&
		    sv_eq(s->path, path))
			return false;
	}
	return true;
}

static int add(struct held *h, struct cur *c, struct err *e)
{
	struct held_seen *s = arena_push(&h->arena, &h->seen, &h->seen_n,
					 &h->seen_cap);

	if (!s)
		return err_kind(e, ERR_LIMIT, "out of memory");
	s->tree = cur_u32(c);
	s->path = arena_dup(&h->arena, cur_sv(c, SEEN_MAX));
	s->ino = cur_u64(c);
	s->ctime.tv_sec = (time_t)cur_u64(c);
	s->ctime.tv_nsec = (long)cur_u32(c);
	return s->path.p ? 0 : err_kind(e, ERR_LIMIT, "out of memory");
}

/* Nothing, where there is no list. */
static int read_list(int run_fd, struct buf *ret, struct err *e)
{
	if (io_read_file(run_fd, SEEN, ret, e) == 0 ||
	    (e->kind == ERR_SYS && e->code == ENOENT))
		return 0;
	return -1;
}

int seen_load(struct held *h, struct err *e)
{
	auto_buf struct buf text = buf_new(SEEN_MAX);
	struct cur c;

	if (read_list(h->fd, &text, e) < 0)
		return -1;
	for (c = cur_of(buf_sv(&text)); c.rest.n && !c.bad;)
		if (add(h, &c, e) < 0)
			return -1;
	return cur_done(&c) ? 0 :
	       err_kind(e, ERR_PROTO, "%s: a list that this version does not "
			"know", SEEN);
}

static void put(struct buf *b, uint32_t tree, struct sv path,
		const struct stat *st)
{
	buf_put_u32(b, tree);
	buf_put_sv(b, path);
	buf_put_u64(b, st->st_ino);
	buf_put_u64(b, (uint64_t)st->st_ctim.tv_sec);
	buf_put_u32(b, (uint32_t)st->st_ctim.tv_nsec);
}

/* What an added directory has brought. */
struct brought {
	struct buf *out;
	uint32_t tree;
	unsigned depth;
	struct buf path;
};

static void put_brought(struct brought *b, int at_fd, const char *name);

static void put_below(struct brought *b, int dir_fd)
{
	auto_dir DIR *dir = dir_again(dir_fd);
	const struct dirent *entry;

	while (dir && (entry = dir_next(dir)) != NULL)
		put_brought(b, dir_fd, entry->d_name);
}

static void put_brought(struct brought *b, int at_fd, const char *name)
{
	size_t n = b->path.n;
	auto_fd int fd = -1;
	struct stat st;

	if (b->depth == DEPTH_MAX ||
	    fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	buf_putc(&b->path, '/');
	buf_puts(&b->path, name);
	if (!b->path.full)
		put(b->out, b->tree, buf_sv(&b->path), &st);
	if (S_ISDIR(st.st_mode) && !b->path.full)
		fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			    O_CLOEXEC);
	if (fd >= 0) {
		b->depth++;
		put_below(b, fd);
		b->depth--;
	}
	b->path.n = n;
}

/* A kept sandbox may change it again, which is no conflict then. */
static void put_directory(const struct apply_op *op, int dir_fd,
			  struct buf *out)
{
	struct brought b = {
		.out = out, .tree = op->tree, .path = buf_new(PATH_MAX),
	};
	auto_fd int fd = openat(dir_fd, change_base(op->path).p, O_RDONLY |
				O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	buf_put(&b.path, op->path);
	if (fd >= 0)
		put_below(&b, fd);
	buf_free(&b.path);
}

/* What is gone, or cannot be looked at, is not noted: a conflict at worst. */
static void put_op(const struct apply *a, const struct apply_op *op,
		   struct buf *b)
{
	struct err ignored;
	auto_fd int dir_fd = apply_open_parent(a, op, &ignored);
	struct apply_version now;
	struct stat st;

	if (dir_fd < 0)
		return;
	if (op->parent_seen && fstat(dir_fd, &st) == 0)
		put(b, op->tree, change_parent(op->path), &st);
	if (apply_version(dir_fd, change_base(op->path).p, &now,
			  &ignored) < 0 ||
	    entry_look(dir_fd, change_base(op->path).p, &st, &ignored) <= 0)
		return;
	/* Not what somebody has written there since. */
	if (apply_is_same(&now, &op->old) || apply_is_same(&now, &op->new))
		put(b, op->tree, op->path, &st);
	if (S_ISDIR(st.st_mode) && op->kind != APPLY_MODE &&
	    apply_is_same(&now, &op->new))
		put_directory(op, dir_fd, b);
}

/* Its ctime is of the name that it was given, or that was taken back. */
static void put_host(const struct apply *a, const struct apply_host *host,
		     struct buf *b)
{
	struct err ignored;
	auto_fd int dir_fd = apply_open_dir(a, host->tree,
					    change_parent(host->path),
					    &ignored);
	const char *name = change_base(host->path).p;
	struct apply_version now;
	struct stat st;

	if (dir_fd >= 0 && apply_version(dir_fd, name, &now, &ignored) == 0 &&
	    apply_is_same(&now, &host->was) &&
	    entry_look(dir_fd, name, &st, &ignored) > 0)
		put(b, host->tree, host->path, &st);
}

static int write_list(int run_fd, const struct buf *text, struct err *e)
{
	auto_fd int fd = -1;

	if (buf_check(text, "the list of what was seen", e) < 0)
		return -1;
	fd = openat(run_fd, SEEN ".new", O_WRONLY | O_CREAT | O_TRUNC |
		    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "note what was seen");
	if (io_write_all(fd, buf_sv(text), e) < 0)
		return -1;
	if (fsync(fd) < 0 || renameat(run_fd, SEEN ".new", run_fd, SEEN) < 0)
		return err_sys(e, "note what was seen");
	return 0;
}

int seen_note(struct apply *a, struct err *e)
{
	auto_buf struct buf text = buf_new(SEEN_MAX);
	auto_fd int run_fd = openat(a->store_fd, a->id.p, O_RDONLY |
				    O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (run_fd < 0)
		return errno == ENOENT ? 0 :
		       err_sys(e, "note what was touched");
	if (read_list(run_fd, &text, e) < 0)
		return -1;
	for (size_t i = 0; i < a->ops_n; i++)
		put_op(a, &a->ops[i], &text);
	for (size_t i = 0; i < a->hosts_n; i++)
		put_host(a, &a->hosts[i], &text);
	return apply_step(a, e) < 0 ? -1 : write_list(run_fd, &text, e);
}

enum seen_directory seen_directory(const struct held *h, uint32_t tree,
				   struct sv path, const struct stat *st)
{
	enum seen_directory answer = SEEN_UNKNOWN;

	for (size_t i = 0; i < h->seen_n; i++) {
		if (h->seen[i].tree != tree || !sv_eq(h->seen[i].path, path))
			continue;
		if (h->seen[i].ino == st->st_ino)
			return SEEN_SAME;
		answer = SEEN_OTHER;
	}
	return answer;
}

/* Directories that both layers have, from one of them down. */
struct directories {
	const struct held *held;
	uint32_t tree;
	unsigned depth;
	struct buf *out;
	size_t n;
	char path[PATH_MAX];
};

static void note_below(struct directories *d, int upper_fd, int lower_fd);

static void note_one(struct directories *d, int upper_fd, int lower_fd,
		     const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	auto_fd int upper = openat(upper_fd, name, flags);
	auto_fd int lower = upper < 0 ? -1 : openat(lower_fd, name, flags);
	size_t n = d->n, length = strlen(name);
	struct stat st;

	if (lower < 0 || fstat(lower, &st) < 0 || d->depth == DEPTH_MAX ||
	    n + length + 2 > sizeof d->path)
		return;
	if (n)
		d->path[d->n++] = '/';
	memcpy(d->path + d->n, name, length);
	d->n += length;
	/* Its ctime says nothing here: the run has lasted until now. */
	st.st_ctim = (struct timespec){ 0 };
	/* An earlier run of a kept sandbox has seen it: that stands. */
	if (seen_directory(d->held, d->tree, sv_of(d->path, d->n), &st) ==
	    SEEN_UNKNOWN)
		put(d->out, d->tree, sv_of(d->path, d->n), &st);
	d->depth++;
	note_below(d, upper, lower);
	d->depth--;
	d->n = n;
}

static void note_below(struct directories *d, int upper_fd, int lower_fd)
{
	auto_dir DIR *dir = dir_again(upper_fd);
	const struct dirent *entry;

	while (dir && (entry = dir_next(dir)) != NULL)
		if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)
			note_one(d, upper_fd, lower_fd, entry->d_name);
}

int seen_note_directories(struct held *h, struct err *e)
{
	auto_buf struct buf text = buf_new(SEEN_MAX);

	if (read_list(h->fd, &text, e) < 0)
		return -1;
	for (size_t i = 0; i < h->trees_n; i++) {
		struct directories *d = arena_make(&h->arena,
						   struct directories);
		auto_fd int upper_fd = -1, lower_fd = -1;
		int there = held_find_upper(h, i, &upper_fd, e);

		if (there < 0)
			return -1;
		/* A file that is shown alone has no directories. */
		if (there == 0 || h->trees[i].only.n)
			continue;
		lower_fd = held_open_lower(h, i, e);
		if (lower_fd < 0)
			return -1;
		if (!d)
			return err_kind(e, ERR_LIMIT, "out of memory");
		d->held = h;
		d->tree = (uint32_t)i;
		d->out = &text;
		note_below(d, upper_fd, lower_fd);
	}
	return write_list(h->fd, &text, e);
}
