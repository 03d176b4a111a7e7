/* SPDX-License-Identifier: Apache-2.0 */
/* open() and creat() for somebody else: see openings.h. */
#include "openings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "own.h"

enum { RACES_MAX = 16 };	/* the file comes and goes while we look */

void openings_init(struct openings *o)
{
	*o = (struct openings){ .n = 0 };
	for (size_t i = 0; i < OPENINGS_MAX; i++)
		o->waiting[i].fifo_fd = -1;
}

/* What is there, held: it is looked at and opened as one and the same, however
 * often its name, or the caller's descriptor, changes hands meanwhile. */
static int reopen(int path_fd, int flags, int *ret_fd)
{
	char link[32];

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
	*ret_fd = open(link, flags & ~O_NOFOLLOW);
	return errno_of(*ret_fd);
}

static int wait_for_fifo(struct errand *r, int *path_fd, int flags)
{
	struct openings *o = r->openings;

	for (size_t i = 0; i < OPENINGS_MAX; i++) {
		struct opening *w = &o->waiting[i];

		if (w->fifo_fd >= 0)
			continue;
		w->fifo_fd = steal_fd(path_fd);
		w->id = r->asker.call->id;
		w->flags = flags;
		w->cloexec = r->answer.cloexec;
		o->n++;
		r->answer.later = true;
		return 0;
	}
	return ENFILE;
}

static int open_fifo(struct errand *r, int *path_fd, int flags)
{
	int error = reopen(*path_fd, flags | O_NONBLOCK, &r->answer.fd);

	if (error == ENXIO && !(flags & O_NONBLOCK))
		return wait_for_fifo(r, path_fd, flags);
	if (!error && !(flags & O_NONBLOCK))
		(void)fcntl(r->answer.fd, F_SETFL,
			    flags & ~(O_CLOEXEC | O_NOCTTY));
	return error;
}

/* The caller's own terminal, in a session that may be another than ours. */
static int open_terminal(struct errand *r, int flags)
{
	char path[32];
	int number, error = asker_terminal(&r->asker, &number);

	if (error)
		return error;
	if (number < 0)
		return ENXIO;
	(void)snprintf(path, sizeof path, "/dev/pts/%d", number);
	r->answer.fd = open(path, flags);
	return errno_of(r->answer.fd);
}

/* Something that exists: the call makes no name. */
static int open_there(struct errand *r, const struct descent *d, int flags)
{
	struct stat st;
	auto_fd int fd = openat(d->dir_fd, d->name, O_PATH | O_CLOEXEC |
				(d->magic ? 0 : O_NOFOLLOW));

	if (fd < 0)
		return errno == ENOENT ? EAGAIN : errno;
	if (fstat(fd, &st) < 0)
		return errno;
	if (S_ISLNK(st.st_mode) && !d->magic)
		return EAGAIN;
	/* pid 1 may look where the agent may not: at itself, and as everybody's
	 * ancestor.  Nothing there can be made or written. */
	if (descent_is_proc(fd))
		return flags & O_ACCMODE ? EROFS : EACCES;
	flags &= ~(O_CREAT | O_EXCL);
	if (descent_is_tty(&st))
		return open_terminal(r, flags);
	if (S_ISFIFO(st.st_mode))
		return open_fifo(r, &fd, flags);
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return reopen(fd, flags, &r->answer.fd);
}

static int open_new(struct errand *r, const struct descent *d, int flags,
		    mode_t mode)
{
	const time_t now = time(NULL);
	int error = judge_name(r->judge, d, false);

	if (!error)
		error = errand_umask(r);
	if (error)
		return error;
	r->answer.fd = openat(d->dir_fd, d->name,
			      flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	/* A worktree's, which says where its repository is. */
	if (r->answer.fd >= 0 && strcmp(d->name, ".git") == 0)
		made_add(&r->judge->made, d->dir_fd, d->name, now);
	return errno_of(r->answer.fd);
}

static int open_once(struct errand *r, const struct descent *d, int flags,
		     mode_t mode)
{
	if (!d->there)
		return open_new(r, d, flags, mode);
	if (flags & O_EXCL)
		return EEXIST;
	if (flags & O_NOFOLLOW && S_ISLNK(d->st.st_mode))
		return ELOOP;
	return open_there(r, d, flags);
}

int openings_serve(struct errand *r, int dirfd, uint64_t path, int flags,
		   mode_t mode)
{
	const bool follow = !(flags & (O_NOFOLLOW | O_EXCL));
	int error = EAGAIN;

	if (flags & O_DIRECTORY)
		return EINVAL;
	r->answer.cloexec = flags & O_CLOEXEC;
	flags |= O_CLOEXEC | O_NOCTTY;
	for (int i = 0; i < RACES_MAX && error == EAGAIN; i++) {
		auto_descent struct descent d;

		error = errand_find(r, dirfd, path, follow, &d);
		if (!error && d.slash)
			error = EISDIR;
		if (!error)
			error = open_once(r, &d, flags, mode & 07777);
		/* Made, or removed, by somebody else between our looks. */
		if (error == EEXIST && !(flags & O_EXCL))
			error = EAGAIN;
	}
	return error == EAGAIN ? ELOOP : error;
}

bool openings_retry(const struct opening *w, struct answer *ret)
{
	*ret = (struct answer){ .fd = -1, .cloexec = w->cloexec };
	ret->error = reopen(w->fifo_fd, w->flags | O_NONBLOCK, &ret->fd);
	if (ret->error == ENXIO)
		return false;
	if (ret->fd >= 0)
		(void)fcntl(ret->fd, F_SETFL, w->flags);
	return true;
}

void openings_forget(struct openings *o, struct opening *w)
{
	close_fd(&w->fifo_fd);
	o->n--;
}
