/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole upper layer, as it is, in another place: see duplicate.h.
 *
 * An agent has made it, who may have made it deeper than there are descriptors or
 * a stack: the walk has one directory open on each side, and goes up by "..",
 * which leads where it came from, since nobody else is in either tree.
 */
#include "duplicate.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "copy.h"
#include "dir.h"
#include "entry.h"
#include "own.h"

enum { NAMES_MAX = 1 << 30, NUMBER_MAX = 24 };

/* A directory that the walk is in. */
struct level {
	struct level *up;	/* owned */
	struct buf names;	/* what was in it, joined by NULs */
	size_t at;
	struct stat st;
};

struct walk {
	int from_fd, to_fd;	/* owned; the innermost */
	int links_fd;
	struct level *in;	/* owned */
};

static void drop_level(struct walk *w)
{
	struct level *l = w->in;

	w->in = l->up;
	buf_free(&l->names);
	free(l);
}

static void walk_fini(struct walk *w)
{
	while (w->in)
		drop_level(w);
	close_fd(&w->from_fd);
	close_fd(&w->to_fd);
}
#define auto_walk __attribute__((cleanup(walk_fini)))

static int read_names(int dir_fd, struct buf *ret, struct err *e)
{
	auto_dir DIR *dir = dir_again(dir_fd);
	const struct dirent *d;

	if (!dir)
		return err_sys(e, "read a directory");
	while ((d = dir_next(dir)) != NULL) {
		buf_puts(ret, d->d_name);
		buf_putc(ret, 0);
	}
	if (errno)
		return err_sys(e, "read a directory");
	return buf_check(ret, "the names of a directory", e);
}

/* Owner first (it clears modes), times last (all else changes them). */
static int dress(int to_fd, int from_fd, const struct stat *st, struct err *e)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (geteuid() == 0 && fchown(to_fd, st->st_uid, st->st_gid) < 0)
		return err_sys(e, "give it its owner");
	if (copy_attributes(to_fd, from_fd, true, e) < 0)
		return -1;
	if (fchmod(to_fd, st->st_mode & 07777) < 0)
		return err_sys(e, "give it its mode");
	if (futimens(to_fd, times) < 0)
		return err_sys(e, "give it its times");
	return 0;
}

/* Its own mode may forbid us what its owner, whom we are, may have. */
static int open_up(int fd, const struct stat *st, mode_t needed, struct err *e)
{
	if ((st->st_mode & needed) == needed ||
	    fchmod(fd, (st->st_mode & 07777) | needed) == 0)
		return 0;
	return err_sys(e, "open it up for a moment");
}

static void close_again(int fd, const struct stat *st, mode_t needed)
{
	if ((st->st_mode & needed) != needed)
		(void)fchmod(fd, st->st_mode & 07777);
}

static int copy_file(const struct walk *w, const char *name,
		     const struct stat *st, struct err *e)
{
	auto_fd int from_fd = entry_open(w->from_fd, name, 0, e);
	auto_fd int to_fd = -1;
	int rc;

	if (from_fd < 0)
		return -1;
	to_fd = openat(w->to_fd, name, O_WRONLY | O_CREAT | O_EXCL |
		       O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to_fd < 0)
		return err_sys(e, "make it");
	/* Attributes are read by the mode that the file has now. */
	rc = open_up(from_fd, st, 0400, e);
	if (rc == 0)
		rc = copy_contents(to_fd, from_fd, st->st_size, e);
	if (rc == 0)
		rc = dress(to_fd, from_fd, st, e);
	close_again(from_fd, st, 0400);
	return rc;
}

/* Links, whiteouts, pipes and sockets: a name with a mode, and times. */
static int copy_special(const struct walk *w, const char *name,
			const struct stat *st, struct err *e)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	auto_buf struct buf text = buf_new(PATH_MAX);

	if (!S_ISLNK(st->st_mode)) {
		if (mknodat(w->to_fd, name, st->st_mode, st->st_rdev) < 0)
			return err_sys(e, "make it");
	} else {
		if (entry_read_link(w->from_fd, name, &text, e) < 0)
			return -1;
		if (!buf_cstr(&text))
			return err_kind(e, ERR_LIMIT, "out of memory");
		if (symlinkat(text.p, w->to_fd, name) < 0)
			return err_sys(e, "make the link");
	}
	if (geteuid() == 0 && fchownat(w->to_fd, name, st->st_uid, st->st_gid,
				       AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give it its owner");
	/* Whatever the umask is. */
	if (!S_ISLNK(st->st_mode) && !entry_is_whiteout(st) &&
	    fchmodat(w->to_fd, name, st->st_mode & 07777, 0) < 0)
		return err_sys(e, "give it its mode");
	if (utimensat(w->to_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give it its times");
	return 0;
}

/* One of several names: the first has a further one among the links, by which
 * the others are made. */
static int copy_linked(const struct walk *w, const char *name,
		       const struct stat *st, struct err *e)
{
	char number[NUMBER_MAX];

	(void)snprintf(number, sizeof number, "%" PRIu64,
		       (uint64_t)st->st_ino);
	if (linkat(w->links_fd, number, w->to_fd, name, 0) == 0)
		return 0;
	/* More names than this file system gives one file, as whiteouts have. */
	if (errno == EMLINK && unlinkat(w->links_fd, number, 0) < 0)
		return err_sys(e, "make another of a file with many names");
	if (errno != ENOENT && errno != EMLINK)
		return err_sys(e, "make a name of it");
	if ((S_ISREG(st->st_mode) ? copy_file(w, name, st, e) :
				    copy_special(w, name, st, e)) < 0)
		return -1;
	if (linkat(w->to_fd, name, w->links_fd, number, 0) < 0)
		return err_sys(e, "make a name of it");
	return 0;
}

/* from_fd and to_fd are the walk's from here on, whatever becomes of it. */
static int push(struct walk *w, int from_fd, int to_fd, const struct stat *st,
		struct err *e)
{
	struct level *l = calloc(1, sizeof *l);

	close_fd(&w->from_fd);
	close_fd(&w->to_fd);
	w->from_fd = from_fd;
	w->to_fd = to_fd;
	if (!l)
		return err_kind(e, ERR_LIMIT, "out of memory");
	*l = (struct level){ .up = w->in, .names = buf_new(NAMES_MAX),
			     .st = *st };
	w->in = l;
	return open_up(from_fd, st, 0700, e) < 0 ? -1 :
	       read_names(from_fd, &l->names, e);
}

static int enter(struct walk *w, const char *name, const struct stat *st,
		 struct err *e)
{
	auto_fd int from_fd = entry_open(w->from_fd, name, O_DIRECTORY, e);
	int to_fd;

	if (from_fd < 0)
		return -1;
	if (mkdirat(w->to_fd, name, 0700) < 0)
		return err_sys(e, "make the directory");
	to_fd = openat(w->to_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		       O_CLOEXEC);
	if (to_fd < 0)
		return err_sys(e, "open the directory");
	return push(w, steal_fd(&from_fd), to_fd, st, e);
}

/* All that is in it is copied.  Up first: its mode may forbid that then. */
static int leave(struct walk *w, struct err *e)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	auto_fd int from_fd = -1, to_fd = -1;
	struct stat st = w->in->st;
	bool is_top = !w->in->up;

	if (!is_top) {
		from_fd = openat(w->from_fd, "..", flags);
		to_fd = openat(w->to_fd, "..", flags);
		if (from_fd < 0 || to_fd < 0)
			return err_sys(e, "go up");
	}
	if (dress(w->to_fd, w->from_fd, &st, e) < 0)
		return -1;
	close_again(w->from_fd, &st, 0700);
	drop_level(w);
	close_fd(&w->from_fd);
	close_fd(&w->to_fd);
	w->from_fd = steal_fd(&from_fd);
	w->to_fd = steal_fd(&to_fd);
	return 0;
}

static int copy_one(struct walk *w, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(w->from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at it");
	if (S_ISDIR(st.st_mode))
		return enter(w, name, &st, e);
	if (st.st_nlink > 1)
		return copy_linked(w, name, &st, e);
	return S_ISREG(st.st_mode) ? copy_file(w, name, &st, e) :
				     copy_special(w, name, &st, e);
}

int duplicate_tree(int from_fd, int to_fd, int links_fd, struct err *e)
{
	auto_walk struct walk w = {
		.from_fd = -1, .to_fd = -1, .links_fd = links_fd,
	};
	auto_fd int top_fd = fcntl(from_fd, F_DUPFD_CLOEXEC, 0);
	int other_fd = top_fd < 0 ? -1 : fcntl(to_fd, F_DUPFD_CLOEXEC, 0);
	struct stat st;

	if (other_fd < 0)
		return err_sys(e, "copy a descriptor");
	if (fstat(from_fd, &st) < 0) {
		(void)close(other_fd);
		return err_sys(e, "look at it");
	}
	if (push(&w, steal_fd(&top_fd), other_fd, &st, e) < 0)
		return -1;
	while (w.in) {
		struct level *l = w.in;
		const char *name;

		if (l->at == l->names.n) {
			if (leave(&w, e) < 0)
				return -1;
			continue;
		}
		name = l->names.p + l->at;
		l->at += strlen(name) + 1;
		if (copy_one(&w, name, e) < 0)
			return err_ctx(e, "%.200s", name);
	}
	return 0;
}
