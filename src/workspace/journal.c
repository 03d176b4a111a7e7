/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of an apply: see apply.h.  It is written whole under another
 * name, put on the disk, and renamed: there is an old one or a new one.
 */
#include "apply.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cur.h"
#include "io.h"
#include "own.h"

enum { JOURNAL_VERSION = 2, JOURNAL_MAX = 1 << 30 };
#define JOURNAL ".apply"
#define DRAFT ".apply.new"

static void put_version(struct buf *b, const struct apply_version *v)
{
	buf_put_u64(b, v->ino);
	buf_put_u64(b, v->size);
	buf_put_u64(b, v->mtime_s);
	buf_put_u32(b, v->mtime_ns);
}

static struct apply_version get_version(struct cur *c)
{
	struct apply_version v;

	v.ino = cur_u64(c);
	v.size = cur_u64(c);
	v.mtime_s = cur_u64(c);
	v.mtime_ns = cur_u32(c);
	return v;
}

static void put_op(struct buf *b, const struct apply_op *op)
{
	buf_put_u8(b, (uint8_t)op->kind);
	buf_put_u32(b, op->tree);
	buf_put_sv(b, op->path);
	buf_put_sv(b, op->ours);
	buf_put_u32(b, op->mode);
	buf_put_u32(b, op->old_mode);
	put_version(b, &op->new);
	put_version(b, &op->old);
	buf_put_u8(b, op->parent_seen);
}

static void put_host(struct buf *b, const struct apply_host *host)
{
	buf_put_u32(b, host->tree);
	buf_put_sv(b, host->path);
	put_version(b, &host->was);
}

static int finish(int store_fd, struct err *e)
{
	if (fsync(store_fd) < 0)
		return err_sys(e, "write the journal to the disk");
	return 0;
}

int journal_write(struct apply *a, struct err *e)
{
	auto_buf struct buf b = buf_new(JOURNAL_MAX);
	auto_fd int fd = -1;

	buf_put_u32(&b, JOURNAL_VERSION);
	buf_put_u8(&b, (uint8_t)a->state);
	buf_put_sv(&b, a->id);
	buf_put_u32(&b, (uint32_t)a->trees_n);
	for (size_t i = 0; i < a->trees_n; i++) {
		buf_put_sv(&b, a->trees[i].path);
		buf_put_u64(&b, a->trees[i].ino);
	}
	buf_put_u32(&b, (uint32_t)a->ops_n);
	for (size_t i = 0; i < a->ops_n; i++)
		put_op(&b, &a->ops[i]);
	buf_put_u32(&b, (uint32_t)a->hosts_n);
	for (size_t i = 0; i < a->hosts_n; i++)
		put_host(&b, &a->hosts[i]);
	if (buf_check(&b, "the journal", e) < 0 || apply_step(a, e) < 0)
		return -1;
	fd = openat(a->store_fd, DRAFT, O_WRONLY | O_CREAT | O_TRUNC |
		    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "make the journal");
	if (io_write_all(fd, buf_sv(&b), e) < 0)
		return err_ctx(e, "the journal");
	if (fsync(fd) < 0)
		return err_sys(e, "write the journal to the disk");
	if (apply_step(a, e) < 0)
		return -1;
	if (renameat(a->store_fd, DRAFT, a->store_fd, JOURNAL) < 0)
		return err_sys(e, "name the journal");
	return finish(a->store_fd, e);
}

static int get_op(struct apply *a, struct cur *c, struct err *e)
{
	struct apply_op *op = arena_push(a->arena, &a->ops, &a->ops_n,
					 &a->ops_cap);

	if (!op)
		return err_kind(e, ERR_LIMIT, "out of memory");
	op->kind = cur_u8(c);
	op->tree = cur_u32(c);
	op->path = arena_dup(a->arena, cur_sv(c, JOURNAL_MAX));
	op->ours = arena_dup(a->arena, cur_sv(c, JOURNAL_MAX));
	op->mode = cur_u32(c);
	op->old_mode = cur_u32(c);
	op->new = get_version(c);
	op->old = get_version(c);
	op->parent_seen = cur_u8(c);
	c->bad |= op->tree >= a->trees_n || op->path.n == 0;
	return op->path.p && op->ours.p ? 0 :
	       err_kind(e, ERR_LIMIT, "out of memory");
}

static int get_host(struct apply *a, struct cur *c, struct err *e)
{
	struct apply_host *host = arena_push(a->arena, &a->hosts, &a->hosts_n,
					     &a->hosts_cap);

	if (!host)
		return err_kind(e, ERR_LIMIT, "out of memory");
	host->tree = cur_u32(c);
	host->path = arena_dup(a->arena, cur_sv(c, JOURNAL_MAX));
	host->was = get_version(c);
	c->bad |= host->tree >= a->trees_n || host->path.n == 0;
	return host->path.p ? 0 : err_kind(e, ERR_LIMIT, "out of memory");
}

static int parse(struct apply *a, struct cur *c, struct err *e)
{
	uint32_t n;

	c->bad |= cur_u32(c) != JOURNAL_VERSION;
	a->state = cur_u8(c);
	a->id = arena_dup(a->arena, cur_sv(c, HELD_ID_MAX));
	n = cur_u32(c);
	c->bad |= n > HELD_TREES_MAX || a->state < APPLY_STAGE ||
		  a->state > APPLY_FINISH;
	a->trees = c->bad ? NULL :
		   arena_alloc(a->arena, (n + 1) * sizeof *a->trees);
	for (a->trees_n = 0; a->trees && a->trees_n < n; a->trees_n++) {
		struct held_tree *tree = &a->trees[a->trees_n];

		tree->path = arena_dup(a->arena, cur_sv(c, JOURNAL_MAX));
		tree->ino = cur_u64(c);
	}
	n = cur_u32(c);
	for (uint32_t i = 0; !c->bad && i < n; i++)
		if (get_op(a, c, e) < 0)
			return -1;
	n = cur_u32(c);
	for (uint32_t i = 0; !c->bad && i < n; i++)
		if (get_host(a, c, e) < 0)
			return -1;
	return 0;
}

bool journal_is_there(int store_fd)
{
	return faccessat(store_fd, JOURNAL, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int journal_read(struct apply *a, struct err *e)
{
	auto_buf struct buf text = buf_new(JOURNAL_MAX);
	struct cur c;

	if (!journal_is_there(a->store_fd))
		return 0;
	if (io_read_file(a->store_fd, JOURNAL, &text, e) < 0)
		return err_ctx(e, "the journal of an apply");
	c = cur_of(buf_sv(&text));
	if (parse(a, &c, e) < 0)
		return -1;
	if (!cur_done(&c))
		return err_kind(e, ERR_PROTO, "the journal of an apply has a "
				"form that this version does not know");
	return 1;
}

int journal_remove(struct apply *a, struct err *e)
{
	if (apply_step(a, e) < 0)
		return -1;
	if (unlinkat(a->store_fd, JOURNAL, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove the journal");
	return finish(a->store_fd, e);
}
