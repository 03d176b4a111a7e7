/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit of an apply (apply.h): each op is one rename, which can be taken
 * back, and of which can be told whether it was done: by what is where.
 *
 *	add	ours -> its place, where nothing may be
 *	replace	ours <-> its place
 *	delete	its place -> ours
 */
#include "apply.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "entry.h"
#include "own.h"

/* An op's parent, and what is at both names. */
struct place {
	int dir_fd;
	const char *name, *ours;
	struct apply_version there, here;	/* at its name, at ours; no
						   inode: nothing */
};

static int look(struct apply *a, const struct apply_op *op, struct place *ret,
		struct err *e)
{
	auto_fd int dir_fd = apply_open_parent(a, op, e);

	if (dir_fd < 0)
		return -1;
	*ret = (struct place){
		.name = change_base(op->path).p, .ours = op->ours.p,
	};
	if (apply_version(dir_fd, ret->name, &ret->there, e) < 0 ||
	    apply_version(dir_fd, ret->ours, &ret->here, e) < 0)
		return -1;
	ret->dir_fd = steal_fd(&dir_fd);
	return 0;
}

static int move(struct apply *a, const struct place *p, const char *from,
		const char *to, unsigned flags, struct err *e)
{
	if (apply_step(a, e) < 0)
		return -1;
	if (renameat2(p->dir_fd, from, p->dir_fd, to, flags) == 0)
		return 0;
	if (errno == EINVAL)
		return err_kind(e, ERR_UNSUPP, "this file system cannot "
				"exchange two names at once");
	return err_sys(e, "rename");
}

static int meanwhile(struct err *e)
{
	return err_kind(e, ERR_DENIED, "it was changed meanwhile");
}

static int set_mode(struct apply *a, const struct apply_op *op, mode_t from,
		    mode_t to, struct err *e)
{
	auto_fd int dir_fd = apply_open_parent(a, op, e);
	auto_fd int fd = dir_fd < 0 ? -1 :
			 openat(dir_fd, change_base(op->path).p, O_RDONLY |
				O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (dir_fd < 0)
		return -1;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open it");
	if ((st.st_mode & 07777) == to)
		return 0;
	if ((st.st_mode & 07777) != from)
		return meanwhile(e);
	if (apply_step(a, e) < 0)
		return -1;
	if (fchmod(fd, to) < 0)
		return err_sys(e, "set its mode");
	return 0;
}

static int do_exchange(struct apply *a, const struct apply_op *op,
		       struct place *p, struct err *e)
{
	struct err ignored;

	if (!apply_is_same(&p->there, &op->old))
		return meanwhile(e);
	if (move(a, p, p->ours, p->name, RENAME_EXCHANGE, e) < 0)
		return -1;
	/* What the exchange has brought is what was meant, or goes back. */
	if (apply_version(p->dir_fd, p->ours, &p->here, e) < 0)
		return -1;
	if (apply_is_same(&p->here, &op->old))
		return 0;
	if (renameat2(p->dir_fd, p->ours, p->dir_fd, p->name,
		      RENAME_EXCHANGE) < 0)
		(void)err_sys(&ignored, "rename");
	return meanwhile(e);
}

static int do_delete(struct apply *a, const struct apply_op *op,
		     struct place *p, struct err *e)
{
	struct err ignored;

	if (!apply_is_same(&p->there, &op->old))
		return meanwhile(e);
	if (move(a, p, p->name, p->ours, RENAME_NOREPLACE, e) < 0 ||
	    apply_version(p->dir_fd, p->ours, &p->here, e) < 0)
		return -1;
	if (apply_is_same(&p->here, &op->old))
		return 0;
	if (renameat2(p->dir_fd, p->ours, p->dir_fd, p->name,
		      RENAME_NOREPLACE) < 0)
		(void)err_sys(&ignored, "rename");
	return meanwhile(e);
}

static bool is_done(const struct apply_op *op, const struct place *p)
{
	if (op->kind == APPLY_DELETE)
		return p->here.ino && p->here.ino == op->old.ino;
	/* Inodes are not used again while what has them is there. */
	return p->there.ino == op->new.ino && p->here.ino != op->new.ino;
}

int commit_do(struct apply *a, const struct apply_op *op, struct err *e)
{
	struct place p;
	int rc;

	if (op->kind == APPLY_MODE)
		return set_mode(a, op, op->old_mode, op->mode, e);
	if (look(a, op, &p, e) < 0)
		return -1;
	if (is_done(op, &p))
		rc = 0;
	else if (op->kind == APPLY_DELETE)
		rc = do_delete(a, op, &p, e);
	else if (p.here.ino != op->new.ino)
		rc = err_kind(e, ERR_DENIED, "what was staged is gone");
	else if (op->kind == APPLY_REPLACE)
		rc = do_exchange(a, op, &p, e);
	else
		rc = move(a, &p, p.ours, p.name, RENAME_NOREPLACE, e);
	close_fd(&p.dir_fd);
	return rc;
}

int commit_undo(struct apply *a, const struct apply_op *op, struct err *e)
{
	struct place p;
	int rc = 0;

	if (op->kind == APPLY_MODE)
		return set_mode(a, op, op->mode, op->old_mode, e);
	if (look(a, op, &p, e) < 0)
		return -1;
	if (is_done(op, &p)) {
		if (op->kind == APPLY_ADD)
			rc = move(a, &p, p.name, p.ours, RENAME_NOREPLACE, e);
		else if (op->kind == APPLY_REPLACE)
			rc = move(a, &p, p.ours, p.name, RENAME_EXCHANGE, e);
		else
			rc = move(a, &p, p.ours, p.name, RENAME_NOREPLACE, e);
	}
	close_fd(&p.dir_fd);
	return rc;
}

int commit_clear(struct apply *a, const struct apply_op *op, struct err *e)
{
	auto_fd int dir_fd = -1;

	if (op->kind == APPLY_MODE)
		return 0;
	dir_fd = apply_open_parent(a, op, e);
	if (dir_fd < 0)
		return -1;
	if (apply_step(a, e) < 0)
		return -1;
	/* A directory may just have been closed. */
	return entry_remove_in(dir_fd, op->ours.p, e);
}
