/* SPDX-License-Identifier: Apache-2.0 */
/* Held changes: see held.h. */
#include "held.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "cur.h"
#include "dir.h"
#include "entry.h"
#include "io.h"
#include "own.h"
#include "seen.h"
#include "spare.h"

enum { META_VERSION = 3, META_MAX = 8 << 20 };
#define META HELD_META
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool is_id(struct sv id)
{
	return id.n && id.n < HELD_ID_MAX && id.p[0] != '.' &&
	       sv_find(id, '/') == id.n;
}

static int begin(int store_fd, const char *id, struct held *ret,
		 struct err *e)
{
	*ret = (struct held){
		.arena = arena_new(HELD_ARENA_MAX), .store_fd = store_fd,
		.fd = -1,
	};
	if (!is_id(sv_str(id)))
		return err_kind(e, ERR_POLICY, "no run is named '%.64s'", id);
	(void)snprintf(ret->id, sizeof ret->id, "%s", id);
	return 0;
}

static int is_busy(const struct held *h, struct err *e)
{
	if (held_is_name(h->id))
		return err_kind(e, ERR_POLICY, "the kept sandbox %s is in use: "
				"its run is not over, or another stockade "
				"works on its changes", h->id);
	return err_kind(e, ERR_POLICY, "run %s is not over, or another "
			"stockade works on its changes", h->id);
}

static int open_it(struct held *h, struct err *e)
{
	h->fd = openat(h->store_fd, h->id, DIRECTORY);
	if (h->fd < 0 && errno == ENOENT)
		return err_kind(e, ERR_POLICY, "run %s holds no changes; "
				"`stockade runs` says which do", h->id);
	if (h->fd < 0)
		return err_sys(e, "open what run %s holds", h->id);
	if (flock(h->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return err_sys(e, "lock what run %s holds", h->id);
	return is_busy(h, e);
}

int held_make(int store_fd, const char *id, struct held *ret, struct err *e)
{
	if (begin(store_fd, id, ret, e) < 0)
		return -1;
	/* Before the first look at the trees: what the host changes later has
	 * a later time. */
	if (clock_gettime(CLOCK_REALTIME, &ret->began) < 0)
		return err_sys(e, "read the clock");
	ret->is_spare = !held_is_name(id) && spare_take(store_fd, id);
	if (!ret->is_spare && mkdirat(store_fd, id, 0700) < 0)
		return err_sys(e, "make a directory for held changes");
	return open_it(ret, e);
}

int held_keep(int store_fd, const char *name, struct held *ret,
	      bool *ret_again, struct err *e)
{
	/* Whoever takes it for new removes it when the launch fails. */
	*ret_again = true;
	if (held_is_there(store_fd, name))
		return held_open(store_fd, name, ret, e);
	if (held_make(store_fd, name, ret, e) == 0) {
		*ret_again = false;
		return 0;
	}
	/* A run that has not come far enough to be there; or has just ended. */
	if (e->code == EEXIST && open_it(ret, e) == 0)
		return err_kind(e, ERR_POLICY, "the kept sandbox %s was in "
				"use until now; try again", name);
	return -1;
}

int held_add(struct held *h, const struct held_tree *from, struct err *e)
{
	struct held_tree *tree;

	if (h->trees_n == HELD_TREES_MAX)
		return err_kind(e, ERR_LIMIT, "more than %d directories and "
				"files whose changes are to be held; grant "
				"directories that contain them",
				HELD_TREES_MAX);
	tree = arena_push(&h->arena, &h->trees, &h->trees_n, &h->trees_cap);
	if (!tree)
		return err_kind(e, ERR_LIMIT, "out of memory");
	*tree = (struct held_tree){
		.path = arena_dup(&h->arena, from->path), .ino = from->ino,
		.only = arena_dup(&h->arena, from->only),
		.layers = from->layers,
		.below = arena_dup(&h->arena, from->below),
	};
	return tree->path.p && tree->only.p && tree->below.p ? 0 :
	       err_kind(e, ERR_LIMIT, "out of memory");
}

int held_take(int store_fd, const char *id, struct held *ret, struct err *e)
{
	return begin(store_fd, id, ret, e) < 0 ? -1 : open_it(ret, e);
}

int held_write(struct held *h, struct err *e)
{
	return held_write_in(h, h->fd, e);
}

int held_write_in(const struct held *h, int dir_fd, struct err *e)
{
	auto_buf struct buf text = buf_new(META_MAX);
	auto_fd int fd = -1;

	buf_put_u32(&text, META_VERSION);
	buf_put_u64(&text, (uint64_t)h->began.tv_sec);
	buf_put_u32(&text, (uint32_t)h->began.tv_nsec);
	buf_put_u32(&text, (uint32_t)h->trees_n);
	for (size_t i = 0; i < h->trees_n; i++) {
		buf_put_sv(&text, h->trees[i].path);
		buf_put_u64(&text, h->trees[i].ino);
		buf_put_sv(&text, h->trees[i].only);
		buf_put_u32(&text, h->trees[i].layers);
		buf_put_sv(&text, h->trees[i].below);
	}
	if (buf_check(&text, "the list of trees", e) < 0)
		return -1;
	fd = openat(dir_fd, META ".new", O_WRONLY | O_CREAT | O_EXCL |
		    O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "note what run %s holds", h->id);
	if (io_write_all(fd, buf_sv(&text), e) < 0)
		return -1;
	if (renameat(dir_fd, META ".new", dir_fd, META) < 0)
		return err_sys(e, "note what run %s holds", h->id);
	return 0;
}

static int read_meta(struct held *h, struct err *e)
{
	auto_buf struct buf text = buf_new(META_MAX);
	struct cur c;
	uint32_t version, n;

	if (io_read_file(h->fd, META, &text, e) < 0)
		return err_ctx(e, "what run %s holds", h->id);
	c = cur_of(buf_sv(&text));
	version = cur_u32(&c);
	h->began.tv_sec = (time_t)cur_u64(&c);
	h->began.tv_nsec = (long)cur_u32(&c);
	n = cur_u32(&c);
	if (version != META_VERSION || n > HELD_TREES_MAX)
		c.bad = true;
	for (uint32_t i = 0; !c.bad && i < n; i++) {
		struct held_tree tree = { .path = cur_sv(&c, META_MAX) };

		tree.ino = cur_u64(&c);
		tree.only = cur_sv(&c, META_MAX);
		tree.layers = cur_u32(&c);
		tree.below = cur_sv(&c, META_MAX);
		c.bad |= tree.layers > i;
		if (held_add(h, &tree, e) < 0)
			return -1;
	}
	if (!cur_done(&c))
		return err_kind(e, ERR_PROTO, "what run %s holds is noted in a "
				"form that this version does not know", h->id);
	return 0;
}

int held_open(int store_fd, const char *id, struct held *ret, struct err *e)
{
	if (begin(store_fd, id, ret, e) < 0 || open_it(ret, e) < 0 ||
	    io_check_ours(ret->fd, id, e) < 0)
		return -1;
	if (!held_is_there(store_fd, id))
		return err_kind(e, ERR_POLICY, "run %s holds no changes; "
				"`stockade runs` says which do", id);
	if (held_last(store_fd, id, ret->run, e) < 0 ||
	    held_await_last(ret, e) < 0 || read_meta(ret, e) < 0)
		return -1;
	return seen_load(ret, e);
}

void held_close(struct held *h)
{
	/* Also of what a child of ours may still have of it. */
	if (h->fd >= 0)
		(void)flock(h->fd, LOCK_UN);
	close_fd(&h->fd);
	arena_free(&h->arena);
}

int held_open_lower(const struct held *h, size_t n, struct err *e)
{
	const struct held_tree *tree = &h->trees[n];
	auto_fd int fd = path_open_exact(AT_FDCWD, tree->path, O_RDONLY |
					 O_DIRECTORY, e);
	struct path_identity now;

	if (fd < 0 || path_identify(fd, &now, e) < 0)
		return -1;
	if (now.ino != tree->ino)
		return err_kind(e, ERR_DENIED, "%.*s is no longer the "
				"directory that run %s was given",
				SV_FMT(tree->path), h->id);
	return steal_fd(&fd);
}

uint32_t held_layers(const struct held *h)
{
	uint32_t n = 0;

	for (size_t i = 0; i < h->trees_n; i++)
		if (h->trees[i].layers >= n)
			n = h->trees[i].layers + 1;
	return n;
}

int held_find_upper(const struct held *h, size_t n, int *ret_fd,
		    struct err *e)
{
	const struct held_tree *tree = &h->trees[n];
	auto_fd int fd = -1;
	char path[32];

	(void)snprintf(path, sizeof path, "%" PRIu32 "/upper", tree->layers);
	fd = path_open_beneath(h->fd, sv_str(path), O_RDONLY | O_DIRECTORY, e);
	if (fd < 0)
		return -1;
	*ret_fd = tree->below.n == 0 ? steal_fd(&fd) :
		  path_open_beneath(fd, tree->below, O_RDONLY | O_DIRECTORY,
				    e);
	return *ret_fd >= 0 ? 1 : e->code == ENOENT ? 0 : -1;
}

int held_open_upper(const struct held *h, size_t n, struct err *e)
{
	int fd;

	return held_find_upper(h, n, &fd, e) == 1 ? fd : -1;
}

bool held_is_there(int store_fd, const char *id)
{
	char path[HELD_ID_MAX + sizeof META];

	if (!is_id(sv_str(id)))
		return false;
	(void)snprintf(path, sizeof path, "%s/" META, id);
	return faccessat(store_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* One of the list, and the run that it is as new as. */
struct entry_of_list {
	struct sv id;
	char run[HELD_ID_MAX];
};

static int newest_first(const void *a, const void *b)
{
	const struct entry_of_list *x = a, *y = b;

	return -strcmp(x->run, y->run);
}

static int sort(struct entry_of_list *list, size_t n, struct arena *a,
		struct sv **ret, struct err *e)
{
	struct sv *ids = arena_alloc(a, (n + 1) * sizeof *ids);

	if (!ids)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (n)
		qsort(list, n, sizeof *list, newest_first);
	for (size_t i = 0; i < n; i++)
		ids[i] = list[i].id;
	*ret = ids;
	return 0;
}

int held_list(int store_fd, struct arena *a, struct sv **ret, size_t *ret_n,
	      struct err *e)
{
	auto_dir DIR *dir = dir_again(store_fd);
	const struct dirent *d;
	struct entry_of_list *list = NULL;
	struct err ignored;
	size_t n = 0, cap = 0;

	if (!dir)
		return err_sys(e, "read the list of held changes");
	while ((d = dir_next(dir)) != NULL) {
		struct entry_of_list *at;

		if (!held_is_there(store_fd, d->d_name))
			continue;
		at = arena_push(a, &list, &n, &cap);
		if (at)
			at->id = arena_dup(a, sv_str(d->d_name));
		if (!at || !at->id.p)
			return err_kind(e, ERR_LIMIT, "out of memory");
		/* Whoever opens it learns what is wrong with it. */
		(void)!held_last(store_fd, d->d_name, at->run, &ignored);
	}
	*ret_n = n;
	return sort(list, n, a, ret, e);
}

int held_remove(struct held *h, struct err *e)
{
	/* Without its note it is none any more, however far the rest gets. */
	if (unlinkat(h->fd, META, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove what run %s holds", h->id);
	return entry_remove(h->store_fd, h->id, e);
}

void held_sweep(int store_fd)
{
	auto_dir DIR *dir = dir_again(store_fd);
	const struct dirent *d;
	struct err ignored;

	while (dir && (d = dir_next(dir)) != NULL) {
		struct held h;

		if (!is_id(sv_str(d->d_name)) || d->d_type != DT_DIR ||
		    held_is_there(store_fd, d->d_name))
			continue;
		if (begin(store_fd, d->d_name, &h, &ignored) == 0 &&
		    open_it(&h, &ignored) == 0)
			(void)!held_remove(&h, &ignored);
		held_close(&h);
	}
}
