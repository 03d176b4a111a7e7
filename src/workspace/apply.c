/* SPDX-License-Identifier: Apache-2.0 */
/* Applying changes, all or none: see apply.h. */
#include "apply.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "entry.h"
#include "own.h"
#include "seen.h"

enum { OURS_MAX = 64 };

int apply_step(struct apply *a, struct err *e)
{
	a->at++;
	if (a->at == a->kill_at)
		(void)raise(SIGKILL);
	if (a->at == a->fail_at)
		return err_kind(e, ERR_BUG, "made to fail");
	return 0;
}

int apply_version(int dir_fd, const char *name, struct apply_version *ret,
		  struct err *e)
{
	struct stat st;
	int found = entry_look(dir_fd, name, &st, e);

	if (found < 0)
		return -1;
	*ret = (struct apply_version){ 0 };
	if (found)
		*ret = (struct apply_version){
			.ino = st.st_ino, .size = (uint64_t)st.st_size,
			.mtime_s = (uint64_t)st.st_mtim.tv_sec,
			.mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
		};
	return 0;
}

static int open_tree_of(const struct apply *a, uint32_t n, struct err *e)
{
	const struct held_tree *tree = &a->trees[n];
	auto_fd int fd = path_open_exact(AT_FDCWD, tree->path, O_RDONLY |
					 O_DIRECTORY, e);
	struct path_identity now;

	if (fd < 0 || path_identify(fd, &now, e) < 0)
		return -1;
	if (now.ino != tree->ino)
		return err_kind(e, ERR_DENIED, "%.*s is another directory now",
				SV_FMT(tree->path));
	return steal_fd(&fd);
}

int apply_open_dir(const struct apply *a, uint32_t tree, struct sv path,
		   struct err *e)
{
	auto_fd int tree_fd = open_tree_of(a, tree, e);

	return tree_fd < 0 ? -1 :
	       path_open_beneath(tree_fd, path, O_RDONLY | O_DIRECTORY, e);
}

int apply_open_parent(const struct apply *a, const struct apply_op *op,
		      struct err *e)
{
	return apply_open_dir(a, op->tree, change_parent(op->path), e);
}

static enum apply_kind kind_of(const struct change *change)
{
	switch (change->kind) {
	case CHANGE_ADDED:
		return APPLY_ADD;
	case CHANGE_DELETED:
		return APPLY_DELETE;
	case CHANGE_MODIFIED:
		return S_ISDIR(change->mode) ? APPLY_MODE : APPLY_REPLACE;
	case CHANGE_TYPE:
		break;
	}
	return APPLY_REPLACE;
}

static int see_old(struct apply *a, const struct held *h, struct apply_op *op,
		   mode_t mode, struct err *e)
{
	auto_fd int dir_fd = apply_open_parent(a, op, e);
	struct stat st;
	int found;

	if (dir_fd < 0 ||
	    apply_version(dir_fd, change_base(op->path).p, &op->old, e) < 0)
		return -1;
	if (fstat(dir_fd, &st) < 0)
		return err_sys(e, "look at its directory");
	op->parent_seen = !seen_is_later(h, op->tree, change_parent(op->path),
					 &st);
	found = entry_look(dir_fd, change_base(op->path).p, &st, e);
	if (found < 0)
		return -1;
	if (found != (op->kind != APPLY_ADD))
		return err_kind(e, ERR_DENIED, "it was changed meanwhile");
	/* Between the list and now. */
	if (found && !S_ISDIR(st.st_mode) &&
	    seen_is_later(h, op->tree, op->path, &st))
		return err_kind(e, ERR_DENIED, "it was changed meanwhile");
	if (found) {
		op->old_mode = st.st_mode & 07777;
		op->mode = (mode & 01777) | (st.st_mode & (S_ISGID | S_ISUID));
	}
	return 0;
}

struct maker {
	struct apply *a;
	const struct held *held;
	const struct changes *c;
	uint64_t noise;
};

static int add_op(const struct maker *m, size_t i, struct err *e)
{
	struct apply *a = m->a;
	struct apply_op *op = arena_push(a->arena, &a->ops, &a->ops_n,
					 &a->ops_cap);
	const struct change *change = &m->c->list[i];
	char ours[OURS_MAX];

	if (!op)
		return err_kind(e, ERR_LIMIT, "out of memory");
	(void)snprintf(ours, sizeof ours, ".stockade-%016" PRIx64 "-%zu",
		       m->noise, a->ops_n);
	*op = (struct apply_op){
		.kind = kind_of(change), .tree = change->tree,
		.path = change->path, .change = i,
		.ours = arena_dup(a->arena, sv_str(ours)),
	};
	if (!op->ours.p)
		return err_kind(e, ERR_LIMIT, "out of memory");
	return see_old(a, m->held, op, change->mode, e);
}

/* One for each chosen change but what lies in a new directory.  Modes of
 * directories come last: one may forbid what is to be done in it. */
static int make_some(const struct maker *m, bool modes, struct err *e)
{
	const struct changes *c = m->c;
	const struct change *dir = NULL;

	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->list[i];

		if (!change->chosen ||
		    (kind_of(change) == APPLY_MODE) != modes)
			continue;
		if (dir && change->tree == dir->tree &&
		    change_is_below(change->path, dir->path))
			continue;
		if (add_op(m, i, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(change->path));
		if (!modes && S_ISDIR(change->mode))
			dir = change;
	}
	return 0;
}

/* It has one name, which is not guarded, and is what the run began with. */
static int see_host(struct apply *a, const struct held *h,
		    struct unchanged *u, struct err *e)
{
	struct apply_host *host = arena_push(a->arena, &a->hosts, &a->hosts_n,
					     &a->hosts_cap);
	auto_fd int dir_fd = apply_open_dir(a, u->tree, change_parent(u->path),
					    e);
	const char *name = change_base(u->path).p;
	struct stat st;

	if (dir_fd < 0)
		return -1;
	if (!host)
		return err_kind(e, ERR_LIMIT, "out of memory");
	u->host = a->hosts_n - 1;
	*host = (struct apply_host){ .tree = u->tree, .path = u->path };
	if (apply_version(dir_fd, name, &host->was, e) < 0)
		return -1;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at it");
	if (st.st_nlink != 1 || ((st.st_mode ^ u->mode) & S_IFMT) ||
	    seen_is_later(h, u->tree, u->path, &st))
		return err_kind(e, ERR_DENIED, "it was changed meanwhile");
	return 0;
}

static int see_hosts(struct apply *a, const struct held *h,
		     const struct changes *c, struct err *e)
{
	for (size_t i = 0; i < c->unchanged_n; i++)
		if (c->unchanged[i].used &&
		    see_host(a, h, &c->unchanged[i], e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(c->unchanged[i].path));
	return 0;
}

static int make_ops(struct apply *a, const struct held *h,
		    const struct changes *c, struct err *e)
{
	struct maker m = { .a = a, .held = h, .c = c };

	if (getrandom(&m.noise, sizeof m.noise, 0) != sizeof m.noise)
		return err_sys(e, "getrandom");
	if (see_hosts(a, h, c, e) < 0)
		return -1;
	return make_some(&m, false, e) < 0 ? -1 : make_some(&m, true, e);
}

/* The host has taken away, or replaced, the directory that an op is in. */
static bool is_gone(const struct err *e)
{
	return e->kind == ERR_DENIED || e->code == ENOENT ||
	       e->code == ENOTDIR || e->code == ELOOP;
}

/* All that was written below the trees is on the disk. */
static int sync_trees(const struct apply *a, struct err *e)
{
	for (size_t i = 0; i < a->trees_n; i++) {
		bool used = false;
		auto_fd int fd = -1;

		for (size_t j = 0; j < a->ops_n; j++)
			used |= a->ops[j].tree == i;
		if (!used)
			continue;
		fd = open_tree_of(a, (uint32_t)i, e);
		if (fd < 0 && is_gone(e))
			continue;
		if (fd < 0)
			return -1;
		if (syncfs(fd) < 0)
			return err_sys(e, "write to the disk");
	}
	return 0;
}

static int clear(struct apply *a, struct err *e)
{
	for (size_t i = 0; i < a->ops_n; i++)
		if (commit_clear(a, &a->ops[i], e) < 0 && !is_gone(e))
			return err_ctx(e, "%.*s", SV_FMT(a->ops[i].path));
	return seen_note(a, e) < 0 ? -1 : journal_remove(a, e);
}

/* Takes back what was done, from the last to the first, and what was staged. */
static int undo(struct apply *a, struct err *e)
{
	for (size_t i = a->state == APPLY_COMMIT ? a->ops_n : 0; i > 0; i--)
		if (commit_undo(a, &a->ops[i - 1], e) < 0 && !is_gone(e))
			return err_ctx(e, "undo %.*s",
				       SV_FMT(a->ops[i - 1].path));
	/* The journal says so first: a name of ours may be the host's file
	 * until then. */
	a->state = APPLY_STAGE;
	if (sync_trees(a, e) < 0 || journal_write(a, e) < 0)
		return -1;
	return clear(a, e);
}

static int commit(struct apply *a, struct err *e)
{
	for (size_t i = 0; i < a->ops_n; i++)
		if (commit_do(a, &a->ops[i], e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(a->ops[i].path));
	return 0;
}

/* From APPLY_COMMIT on. */
static int finish(struct apply *a, struct err *e)
{
	int rc = sync_trees(a, e);

	if (rc == 0) {
		a->state = APPLY_FINISH;
		rc = journal_write(a, e);
	}
	if (rc == 0)
		rc = clear(a, e);
	return rc < 0 ? err_ctx(e, "all is applied, and the next command "
				"clears away what is left of it") : 0;
}

/* Undoes it, and still reports why. */
static int give_up(struct apply *a, struct err *e)
{
	struct err why = *e;

	a->fail_at = 0;
	if (undo(a, e) < 0)
		return err_ctx(e, "%.150s; and it could not be undone, which "
			       "the next command tries again", why.msg);
	*e = why;
	return err_ctx(e, "nothing was applied");
}

static int run(struct apply *a, struct held *h, const struct changes *c,
	       struct err *e)
{
	a->state = APPLY_STAGE;
	if (journal_write(a, e) < 0)
		return -1;
	if (stage_all(a, h, c, e) < 0 || sync_trees(a, e) < 0 ||
	    (a->decided && a->decided(a->ctx, e) < 0))
		return give_up(a, e);
	a->state = APPLY_COMMIT;
	if (journal_write(a, e) < 0) {
		a->state = APPLY_STAGE;
		return give_up(a, e);
	}
	if (commit(a, e) < 0)
		return give_up(a, e);
	return finish(a, e);
}

int apply_changes(struct apply *a, struct held *h, struct changes *c,
		  struct err *e)
{
	a->arena = &h->arena;
	a->store_fd = h->store_fd;
	a->id = sv_str(h->id);
	a->trees = h->trees;
	a->trees_n = h->trees_n;
	if (changes_link(h, c, e) < 0 || make_ops(a, h, c, e) < 0)
		return err_ctx(e, "nothing was applied");
	return a->ops_n ? run(a, h, c, e) : 0;
}

static int recover(struct apply *a, struct err *e)
{
	struct err why;

	switch (a->state) {
	case APPLY_STAGE:
		return undo(a, e) < 0 ? -1 : APPLY_UNDONE;
	case APPLY_COMMIT:
		if (commit(a, &why) < 0)
			return undo(a, e) < 0 ? -1 : APPLY_UNDONE;
		return finish(a, e) < 0 ? -1 : APPLY_COMPLETED;
	case APPLY_FINISH:
		break;
	}
	return clear(a, e) < 0 ? -1 : APPLY_COMPLETED;
}

int apply_recover(int store_fd, char ret_id[HELD_ID_MAX], struct err *e)
{
	auto_arena struct arena arena = arena_new(HELD_ARENA_MAX);
	struct apply a = { .arena = &arena, .store_fd = store_fd };
	int rc;

	if (flock(store_fd, LOCK_EX) < 0)
		return err_sys(e, "lock the held changes");
	rc = journal_read(&a, e);
	if (rc <= 0)
		return rc < 0 ? -1 : APPLY_NOTHING;
	(void)snprintf(ret_id, HELD_ID_MAX, "%.*s", SV_FMT(a.id));
	rc = recover(&a, e);
	if (rc < 0)
		return err_ctx(e, "an apply was interrupted, and cannot be "
			       "completed or undone");
	return rc;
}
