/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of names: see keeper.h. */
#include "keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buf.h"
#include "control.h"
#include "creation.h"
#include "descent.h"
#include "leaves.h"
#include "loop.h"
#include "made.h"
#include "own.h"

enum {
	RACES_MAX = 16,		/* the file comes and goes while we look */
	WAITING_MAX = 64,	/* FIFOs */
	RETRY_MS = 10,
	REPORTS_MAX = 256,	/* of a run; the agent decides how many */
};

/* An open() of a FIFO that waits for its other side. */
struct waiting {
	uint64_t id;
	int fifo_fd;		/* owned; O_PATH; -1: this place is free */
	int flags;
	bool cloexec;
};

struct keeper {
	struct creation_made is_made;
	struct made made;
	struct leaves leaves;
	const struct plan *plan;
	int listener_fd, control_fd;
	struct waiting waiting[WAITING_MAX];
	size_t waiting_n;
	unsigned reports;
	char reported[PATH_MAX];	/* the last one */
};

/* What a call is answered with. */
struct answer {
	int error;		/* 0 or an errno */
	int fd;			/* owned; with it the result is a copy of it */
	bool cloexec;
	bool later;		/* it waits */
};

struct request {
	struct keeper *k;
	struct asker asker;
	struct answer answer;
};

static void report(struct keeper *k, struct sv path,
		   const struct creation_rule *rule)
{
	struct control_note note = { .kind = CONTROL_REFUSED };
	auto_buf struct buf text = buf_new(CONTROL_TAIL_MAX);
	struct err ignored;

	if (k->reports >= REPORTS_MAX || sv_eq(path, sv_str(k->reported)))
		return;
	k->reports++;
	path = sv_head(path, sizeof k->reported - 1);
	memcpy(k->reported, path.p, path.n);
	k->reported[path.n] = '\0';
	buf_put(&text, path);
	buf_putc(&text, '\0');
	buf_put(&text, sv_head(rule->why, PATH_MAX));
	/* Unheard when the parent is gone, and then we are as well. */
	(void)!control_send(k->control_fd, &note, buf_sv(&text), &ignored);
}

/* The name in that directory, as a path. */
static int path_of(const struct descent *d, char path[2 * PATH_MAX],
		   struct sv *ret)
{
	size_t n;

	if (descent_directory(d, path))
		return EACCES;
	n = strlen(path);
	if (n == 1)
		n = 0;
	n += (size_t)snprintf(path + n, 2 * PATH_MAX - n, "/%s", d->name);
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	*ret = sv_of(path, n);
	return 0;
}

/* Nobody but us makes or renames directories for the agent: it is still what
 * has this name. */
static bool is_made(struct creation_made *m, struct sv dir)
{
	const struct keeper *k = container_of(m, struct keeper, is_made);
	char path[2 * PATH_MAX];
	struct stat st;

	if (dir.n >= sizeof path)
		return false;
	memcpy(path, dir.p, dir.n);
	path[dir.n] = '\0';
	return lstat(path, &st) == 0 && made_has(&k->made, &st);
}

/* tree as in creation.h. */
static int check(struct keeper *k, const struct descent *d, bool tree)
{
	const struct creation_rule *rule;
	char room[2 * PATH_MAX];
	struct sv path;

	if (path_of(d, room, &path))
		return EACCES;
	k->is_made.freed = NULL;
	rule = creation_refused(k->plan, path, tree, &k->is_made);
	if (!rule) {
		leaves_look(&k->leaves, k->control_fd, k->plan, d, path,
			    k->is_made.freed);
		return 0;
	}
	report(k, path, rule);
	return EACCES;
}

/* A directory's new place: what would be taken out of where all names are free
 * is copied instead, name by name. */
static int check_move(struct keeper *k, const struct descent *from,
		      const struct descent *to)
{
	char from_room[2 * PATH_MAX], to_room[2 * PATH_MAX];
	struct sv from_path, to_path;

	if (!from->there || !S_ISDIR(from->st.st_mode))
		return 0;
	if (path_of(from, from_room, &from_path) ||
	    path_of(to, to_room, &to_path))
		return EACCES;
	return creation_takes_out(k->plan, from_path, to_path) ? EXDEV : 0;
}

static int errno_of(int rc)
{
	return rc < 0 ? errno : 0;
}

/* The path at an argument, down to its last name. */
static int find(struct request *r, int dirfd, uint64_t address, bool follow,
		struct descent *ret)
{
	char path[PATH_MAX];
	int error = asker_string(&r->asker, address, path);

	*ret = (struct descent){ .dir_fd = -1 };
	return error ? error : descent_make(&r->asker, dirfd, path, follow,
					    ret);
}

/* What may have something below it as soon as it has its new name.  What one of
 * /proc's links leads to is not known until it is linked: a link, perhaps. */
static bool is_tree(const struct descent *d)
{
	return d->there && (S_ISDIR(d->st.st_mode) || S_ISLNK(d->st.st_mode));
}

static int with_umask(struct request *r)
{
	mode_t mask;
	int error = asker_umask(&r->asker, &mask);

	if (!error)
		(void)umask(mask);
	return error;
}

/* -- open() -- */

/* What is there, held: it is looked at and opened as one and the same, however
 * often its name, or the caller's descriptor, changes hands meanwhile. */
static int reopen(int path_fd, int flags, int *ret_fd)
{
	char link[32];

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
	*ret_fd = open(link, flags & ~O_NOFOLLOW);
	return errno_of(*ret_fd);
}

static int wait_for_fifo(struct request *r, int *path_fd, int flags)
{
	struct keeper *k = r->k;

	for (size_t i = 0; i < WAITING_MAX; i++) {
		struct waiting *w = &k->waiting[i];

		if (w->fifo_fd >= 0)
			continue;
		w->fifo_fd = steal_fd(path_fd);
		w->id = r->asker.call->id;
		w->flags = flags;
		w->cloexec = r->answer.cloexec;
		k->waiting_n++;
		r->answer.later = true;
		return 0;
	}
	return ENFILE;
}

static int open_fifo(struct request *r, int *path_fd, int flags)
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
static int open_terminal(struct request *r, int flags)
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
static int open_there(struct request *r, const struct descent *d, int flags)
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

static int open_new(struct request *r, const struct descent *d, int flags,
		    mode_t mode)
{
	int error = check(r->k, d, false);

	if (!error)
		error = with_umask(r);
	if (error)
		return error;
	r->answer.fd = openat(d->dir_fd, d->name,
			      flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	return errno_of(r->answer.fd);
}

static int open_once(struct request *r, const struct descent *d, int flags,
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

static int serve_open(struct request *r, int dirfd, uint64_t path, int flags,
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

		error = find(r, dirfd, path, follow, &d);
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

/* -- the others -- */

static int serve_mkdir(struct request *r, int dirfd, uint64_t path, mode_t mode)
{
	auto_descent struct descent d;
	struct stat st;
	int error = find(r, dirfd, path, false, &d);

	if (!error && d.there)
		return EEXIST;
	if (!error)
		error = check(r->k, &d, false);
	if (!error)
		error = with_umask(r);
	if (!error)
		error = errno_of(mkdirat(d.dir_fd, d.name, mode));
	if (!error && fstatat(d.dir_fd, d.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		made_add(&r->k->made, &st);
	return error;
}

static int serve_mknod(struct request *r, int dirfd, uint64_t path, mode_t mode)
{
	auto_descent struct descent d;
	int error = find(r, dirfd, path, false, &d);

	if (!error)
		error = check(r->k, &d, false);
	if (!error)
		error = with_umask(r);
	/* Devices have been refused by the agent's filter, and are by ours. */
	return error ? error : errno_of(mknodat(d.dir_fd, d.name, mode, 0));
}

static int serve_symlink(struct request *r, uint64_t target, int dirfd,
			 uint64_t path)
{
	auto_descent struct descent d = { .dir_fd = -1 };
	char text[PATH_MAX];
	int error = asker_string(&r->asker, target, text);

	if (!error)
		error = find(r, dirfd, path, false, &d);
	if (!error)
		error = check(r->k, &d, true);
	return error ? error : errno_of(symlinkat(text, d.dir_fd, d.name));
}

/* Both ends of link() and rename(). */
struct ends {
	int from_fd, to_fd;
	uint64_t from, to;
	int flags;
};

static int serve_link(struct request *r, const struct ends *at)
{
	auto_descent struct descent from = { .dir_fd = -1 };
	auto_descent struct descent to = { .dir_fd = -1 };
	int error;

	/* AT_EMPTY_PATH is for those who may search everything; the others
	 * take the descriptor's link in /proc. */
	if (at->flags & ~AT_SYMLINK_FOLLOW)
		return at->flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) ?
			       EINVAL : ENOENT;
	error = find(r, at->from_fd, at->from, at->flags & AT_SYMLINK_FOLLOW,
		     &from);
	if (!error)
		error = find(r, at->to_fd, at->to, false, &to);
	if (!error)
		error = check(r->k, &to, is_tree(&from));
	if (error)
		return error;
	return errno_of(linkat(from.dir_fd, from.name, to.dir_fd, to.name,
			       from.magic ? at->flags : 0));
}

static int serve_rename(struct request *r, const struct ends *at)
{
	auto_descent struct descent from = { .dir_fd = -1 };
	auto_descent struct descent to = { .dir_fd = -1 };
	int error = find(r, at->from_fd, at->from, false, &from);

	if (!error)
		error = find(r, at->to_fd, at->to, false, &to);
	if (!error)
		error = check(r->k, &to, is_tree(&from));
	if (!error && at->flags & RENAME_EXCHANGE)
		error = check(r->k, &from, is_tree(&to));
	if (!error)
		error = check_move(r->k, &from, &to);
	if (!error && at->flags & RENAME_EXCHANGE)
		error = check_move(r->k, &to, &from);
	if (error)
		return error;
	return errno_of(renameat2(from.dir_fd, from.name, to.dir_fd, to.name,
				  (unsigned)at->flags));
}

/* -- which is which -- */

#define FD(i) ((int)a[i])
#define MODE(i) ((mode_t)a[i])
#define ENDS(...) (&(struct ends){ __VA_ARGS__ })

static int serve_at(struct request *r, const uint64_t a[6])
{
	switch (r->asker.call->nr) {
	case SYS_openat:
		return serve_open(r, FD(0), a[1], FD(2), MODE(3));
	case SYS_mkdirat:
		return serve_mkdir(r, FD(0), a[1], MODE(2));
	case SYS_mknodat:
		return serve_mknod(r, FD(0), a[1], MODE(2));
	case SYS_symlinkat:
		return serve_symlink(r, a[0], FD(1), a[2]);
	case SYS_linkat:
		return serve_link(r, ENDS(FD(0), FD(2), a[1], a[3], FD(4)));
	case SYS_renameat:
		return serve_rename(r, ENDS(FD(0), FD(2), a[1], a[3], 0));
	case SYS_renameat2:
		return serve_rename(r, ENDS(FD(0), FD(2), a[1], a[3], FD(4)));
	}
	return ENOSYS;
}

#ifdef __x86_64__
static int serve(struct request *r, const uint64_t a[6])
{
	const int here = AT_FDCWD;

	switch (r->asker.call->nr) {
	case SYS_open:
		return serve_open(r, here, a[0], FD(1), MODE(2));
	case SYS_creat:
		return serve_open(r, here, a[0], O_CREAT | O_WRONLY | O_TRUNC,
				  MODE(1));
	case SYS_mkdir:
		return serve_mkdir(r, here, a[0], MODE(1));
	case SYS_mknod:
		return serve_mknod(r, here, a[0], MODE(1));
	case SYS_symlink:
		return serve_symlink(r, a[0], here, a[1]);
	case SYS_link:
		return serve_link(r, ENDS(here, here, a[0], a[1], 0));
	case SYS_rename:
		return serve_rename(r, ENDS(here, here, a[0], a[1], 0));
	}
	return serve_at(r, a);
}
#else
#define serve serve_at
#endif

static int reply(struct keeper *k, uint64_t id, struct answer *answer,
		 struct err *e)
{
	struct err why = { 0 };

	if (!answer->error && answer->fd >= 0) {
		if (notify_give(k->listener_fd, id, answer->fd,
				answer->cloexec, &why) == 0) {
			close_fd(&answer->fd);
			return 0;
		}
		answer->error = why.code;
	}
	close_fd(&answer->fd);
	return notify_answer(k->listener_fd, id, answer->error, e);
}

int keeper_serve(struct keeper *k, struct err *e)
{
	struct notify_call call;
	struct request r = { .k = k, .answer = { .fd = -1 } };
	int rc = notify_receive(k->listener_fd, &call, e);

	if (rc <= 0)
		return rc;
	r.answer.error = asker_open(k->listener_fd, &call, &r.asker);
	if (!r.answer.error)
		r.answer.error = serve(&r, call.args);
	asker_close(&r.asker);
	return r.answer.later ? 0 : reply(k, call.id, &r.answer, e);
}

/* -- FIFOs -- */

int keeper_timeout_ms(const struct keeper *k)
{
	return k && k->waiting_n ? RETRY_MS : -1;
}

static void retry(struct keeper *k, struct waiting *w)
{
	struct answer answer = { .fd = -1, .cloexec = w->cloexec };
	struct err ignored;

	if (notify_is_waiting(k->listener_fd, w->id)) {
		answer.error = reopen(w->fifo_fd, w->flags | O_NONBLOCK,
				      &answer.fd);
		if (answer.error == ENXIO)
			return;
		if (answer.fd >= 0)
			(void)fcntl(answer.fd, F_SETFL, w->flags);
		/* It fails only when the caller is gone. */
		(void)!reply(k, w->id, &answer, &ignored);
	}
	close_fd(&w->fifo_fd);
	k->waiting_n--;
}

void keeper_retry(struct keeper *k)
{
	for (size_t i = 0; k && k->waiting_n && i < WAITING_MAX; i++)
		if (k->waiting[i].fifo_fd >= 0)
			retry(k, &k->waiting[i]);
}

int keeper_new(const struct plan *plan, int listener_fd, int control_fd,
	       struct keeper **ret, struct err *e)
{
	struct keeper *k = calloc(1, sizeof *k);

	if (!k)
		return err_sys(e, "allocate");
	k->plan = plan;
	k->is_made.has = is_made;
	k->listener_fd = listener_fd;
	k->control_fd = control_fd;
	for (size_t i = 0; i < WAITING_MAX; i++)
		k->waiting[i].fifo_fd = -1;
	*ret = k;
	return 0;
}

void keeper_end(struct keeper *k)
{
	if (k)
		leaves_tell(&k->leaves, k->control_fd);
}

int keeper_listener(const struct keeper *k)
{
	return k ? k->listener_fd : -1;
}
