/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of names: see keeper.h. */
#include "keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "errand.h"
#include "openings.h"
#include "own.h"
#include "plain.h"
#include "relocation.h"

enum { RETRY_MS = 10 };

struct keeper {
	struct judge judge;
	struct openings openings;
	int listener_fd;	/* owned; -1: not there yet */
};

/* What may have something below it as soon as it has its new name.  What one of
 * /proc's links leads to is not known until it is linked: a link, perhaps. */
static bool is_tree(const struct descent *d)
{
	return d->there && (S_ISDIR(d->st.st_mode) || S_ISLNK(d->st.st_mode));
}

static int serve_mkdir(struct errand *r, int dirfd, uint64_t path, mode_t mode)
{
	auto_descent struct descent d;
	const time_t now = time(NULL);
	int error = errand_find(r, dirfd, path, false, &d);

	if (!error && d.there)
		return EEXIST;
	if (!error)
		error = judge_name(r->judge, &d, false);
	if (!error)
		error = errand_umask(r);
	if (!error)
		error = errno_of(mkdirat(d.dir_fd, d.name, mode));
	if (!error)
		made_add(&r->judge->made, d.dir_fd, d.name, now);
	return error;
}

static int serve_mknod(struct errand *r, int dirfd, uint64_t path, mode_t mode)
{
	auto_descent struct descent d;
	int error = errand_find(r, dirfd, path, false, &d);

	if (!error)
		error = judge_name(r->judge, &d, false);
	if (!error)
		error = errand_umask(r);
	/* Devices have been refused by the agent's filter, and are by ours. */
	return error ? error : errno_of(mknodat(d.dir_fd, d.name, mode, 0));
}

static int serve_symlink(struct errand *r, uint64_t target, int dirfd,
			 uint64_t path)
{
	auto_descent struct descent d = { .dir_fd = -1 };
	char text[PATH_MAX];
	int error = asker_string(&r->asker, target, text);

	if (!error)
		error = errand_find(r, dirfd, path, false, &d);
	if (!error)
		error = judge_name(r->judge, &d, true);
	return error ? error : errno_of(symlinkat(text, d.dir_fd, d.name));
}

/* Both ends of link() and rename(). */
struct ends {
	int from_fd, to_fd;
	uint64_t from, to;
	int flags;
};

static int serve_link(struct errand *r, const struct ends *at)
{
	auto_descent struct descent from = { .dir_fd = -1 };
	auto_descent struct descent to = { .dir_fd = -1 };
	int error;

	/* AT_EMPTY_PATH is for those who may search everything; the others
	 * take the descriptor's link in /proc. */
	if (at->flags & ~AT_SYMLINK_FOLLOW)
		return at->flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) ?
			       EINVAL : ENOENT;
	error = errand_find(r, at->from_fd, at->from,
			    at->flags & AT_SYMLINK_FOLLOW, &from);
	if (!error)
		error = errand_find(r, at->to_fd, at->to, false, &to);
	if (!error)
		error = judge_name(r->judge, &to, is_tree(&from));
	if (error)
		return error;
	if (!is_tree(&from) && judge_minds_tree(r->judge, &from, &to))
		return plain_link(&from, &to);
	return errno_of(linkat(from.dir_fd, from.name, to.dir_fd, to.name,
			       from.magic ? at->flags : 0));
}

static int carry_out(struct errand *r, const struct descent *from,
		     const struct descent *to, unsigned flags)
{
	const bool exchange = flags & RENAME_EXCHANGE;
	int error;

	if ((!is_tree(from) && judge_minds_tree(r->judge, from, to)) ||
	    (exchange && !is_tree(to) && judge_minds_tree(r->judge, to, from)))
		return exchange ? EXDEV : plain_rename(from, to, flags);
	error = errno_of(renameat2(from->dir_fd, from->name, to->dir_fd,
				   to->name, flags));
	/* `git config` replaces the file, and says no more than "busy". */
	if (error == EBUSY) {
		judge_tell_guarded(r->judge, from);
		judge_tell_guarded(r->judge, to);
	}
	/* An overlay does not rename what the host has a part in. */
	return error == EXDEV ? relocation_make(r->judge, from, to, flags) :
				error;
}

static int serve_rename(struct errand *r, const struct ends *at)
{
	auto_descent struct descent from = { .dir_fd = -1 };
	auto_descent struct descent to = { .dir_fd = -1 };
	const bool exchange = at->flags & RENAME_EXCHANGE;
	int error = errand_find(r, at->from_fd, at->from, false, &from);

	if (!error)
		error = errand_find(r, at->to_fd, at->to, false, &to);
	if (!error)
		error = judge_name(r->judge, &to, is_tree(&from));
	if (!error && exchange)
		error = judge_name(r->judge, &from, is_tree(&to));
	if (!error && plain_is_reserved(&from))
		error = EACCES;
	if (!error && (judge_is_kept(r->judge, &from) ||
		       (exchange && judge_is_kept(r->judge, &to))))
		error = EBUSY;
	if (!error)
		error = judge_move(r->judge, &from, &to);
	if (!error && exchange)
		error = judge_move(r->judge, &to, &from);
	return error ? error : carry_out(r, &from, &to, (unsigned)at->flags);
}

/* -- which is which -- */

#define FD(i) ((int)a[i])
#define MODE(i) ((mode_t)a[i])
#define ENDS(...) (&(struct ends){ __VA_ARGS__ })

static int serve_at(struct errand *r, const uint64_t a[6])
{
	switch (r->asker.call->nr) {
	case SYS_openat:
		return openings_serve(r, FD(0), a[1], FD(2), MODE(3));
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
static int serve(struct errand *r, const uint64_t a[6])
{
	const int here = AT_FDCWD;

	switch (r->asker.call->nr) {
	case SYS_open:
		return openings_serve(r, here, a[0], FD(1), MODE(2));
	case SYS_creat:
		return openings_serve(r, here, a[0], O_CREAT | O_WRONLY | O_TRUNC,
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
	struct errand r = {
		.judge = &k->judge, .openings = &k->openings,
		.answer = { .fd = -1 },
	};
	int rc = notify_receive(k->listener_fd, &call, e);

	if (rc <= 0)
		return rc;
	r.answer.error = asker_open(k->listener_fd, &call, &r.asker);
	made_turn(k->judge.made.log);
	if (!r.answer.error)
		r.answer.error = serve(&r, call.args);
	made_turn(k->judge.made.log);
	asker_close(&r.asker);
	return r.answer.later ? 0 : reply(k, call.id, &r.answer, e);
}

/* -- FIFOs -- */

int keeper_timeout_ms(const struct keeper *k)
{
	return k && k->openings.n ? RETRY_MS : -1;
}

static void retry(struct keeper *k, struct opening *w)
{
	struct answer answer;
	struct err ignored;

	if (notify_is_waiting(k->listener_fd, w->id)) {
		if (!openings_retry(w, &answer))
			return;
		/* It fails only when the caller is gone. */
		(void)!reply(k, w->id, &answer, &ignored);
	}
	openings_forget(&k->openings, w);
}

void keeper_retry(struct keeper *k)
{
	for (size_t i = 0; k && k->openings.n && i < OPENINGS_MAX; i++)
		if (k->openings.waiting[i].fifo_fd >= 0)
			retry(k, &k->openings.waiting[i]);
}

int keeper_new(const struct plan *plan, int control_fd, struct keeper **ret,
	       struct err *e)
{
	struct keeper *k = calloc(1, sizeof *k);

	if (!k)
		return err_sys(e, "allocate");
	k->judge.plan = plan;
	k->judge.control_fd = control_fd;
	k->judge.made.log = plan->made;
	k->listener_fd = -1;
	openings_init(&k->openings);
	*ret = k;
	return 0;
}

void keeper_end(struct keeper *k)
{
	if (k)
		leaves_tell(&k->judge.leaves, k->judge.control_fd);
}

void keeper_glance(struct keeper *k, void (*glance)(void *of), void *of)
{
	k->judge.glance = glance;
	k->judge.glance_of = of;
}

void keeper_listen(struct keeper *k, int listener_fd)
{
	k->listener_fd = listener_fd;
}

int keeper_listener(const struct keeper *k)
{
	return k ? k->listener_fd : -1;
}
