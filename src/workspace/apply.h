/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applying chosen changes to the host: all of them or none.
 *
 *	stage	what is new is made beside its place, under a name of ours
 *	commit	names are exchanged, one after the other; what was there has
 *		the name of ours then
 *	finish	what has a name of ours is removed
 *
 * A journal says how far it got, and what each name of ours stands for.  It is
 * on the disk before the step that it speaks of: after a kill at any moment
 * apply_recover() undoes a stage, completes a commit (or undoes it, when that
 * cannot be done any more), and completes a finish.
 */
#ifndef WORKSPACE_APPLY_H
#define WORKSPACE_APPLY_H

#include "changes.h"

enum apply_state {
	APPLY_STAGE = 1,
	APPLY_COMMIT,
	APPLY_FINISH,
};

enum apply_kind {
	APPLY_ADD = 1,		/* nothing is there */
	APPLY_REPLACE,
	APPLY_DELETE,
	APPLY_MODE,		/* of a directory */
};

/* Which entry it is; a rename changes its ctime, so that is no part of it. */
struct apply_version {
	uint64_t ino, size, mtime_s;
	uint32_t mtime_ns;
};

struct apply_op {
	enum apply_kind kind;
	uint32_t tree;
	struct sv path;			/* below the tree, a NUL behind it */
	struct sv ours;			/* a name beside it, a NUL behind it */
	uint32_t mode, old_mode;	/* of APPLY_MODE */
	struct apply_version new, old;
	bool parent_seen;		/* nobody else had changed its parent */
	size_t change;			/* its index; not in the journal */
};

/* A file of the host's that gets a further name, which changes its ctime. */
struct apply_host {
	uint32_t tree;
	struct sv path;			/* as of an op */
	struct apply_version was;
};

struct apply {
	struct arena *arena;		/* borrowed */
	int store_fd;			/* borrowed; the journal is there */
	struct sv id;			/* the run's */
	enum apply_state state;
	struct held_tree *trees;
	size_t trees_n;
	struct apply_op *ops;
	size_t ops_n, ops_cap;
	struct apply_host *hosts;
	size_t hosts_n, hosts_cap;

	/* Called when all is staged, before anything of the host's is touched:
	 * what is done then, or taken back, is on record.  May be NULL. */
	int (*decided)(void *ctx, struct err *e);
	void *ctx;

	/* For tests: the process is killed before change number kill_at of
	 * anything on the disk; number fail_at is refused.  Counted from 1.
	 * Nothing in the program sets them. */
	size_t kill_at, fail_at, at;
};

/* Applies the chosen ones of c, of which none is refused. */
must_check int apply_changes(struct apply *a, struct held *h,
			     struct changes *c, struct err *e);

/* What became of an apply that was killed. */
enum apply_outcome { APPLY_NOTHING = 0, APPLY_COMPLETED, APPLY_UNDONE };
/* enum apply_outcome and whose it was, or -1.  Also takes the store's lock, which
 * lasts as long as the open file of store_fd; it waits for another one's. */
must_check int apply_recover(int store_fd, char ret_id[HELD_ID_MAX],
			     struct err *e);

/* apply.c, for the others: */
must_check int apply_step(struct apply *a, struct err *e);
must_check int apply_open_parent(const struct apply *a,
				 const struct apply_op *op, struct err *e);
must_check int apply_open_dir(const struct apply *a, uint32_t tree,
			      struct sv path, struct err *e);
must_check int apply_version(int dir_fd, const char *name,
			     struct apply_version *ret, struct err *e);

static inline bool apply_is_same(const struct apply_version *a,
				 const struct apply_version *b)
{
	return a->ino == b->ino && a->size == b->size &&
	       a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
}

/* stage.c: makes all that is new. */
must_check int stage_all(struct apply *a, struct held *h,
			 const struct changes *c, struct err *e);

/* commit.c: carries out op, if it is not done; takes it back, if it is; removes
 * what has the name of ours. */
must_check int commit_do(struct apply *a, const struct apply_op *op,
			 struct err *e);
must_check int commit_undo(struct apply *a, const struct apply_op *op,
			   struct err *e);
must_check int commit_clear(struct apply *a, const struct apply_op *op,
			    struct err *e);

/* journal.c */
must_check int journal_write(struct apply *a, struct err *e);
/* 1, or 0 when there is none. */
must_check int journal_read(struct apply *a, struct err *e);
must_check int journal_remove(struct apply *a, struct err *e);
bool journal_is_there(int store_fd);

#endif
