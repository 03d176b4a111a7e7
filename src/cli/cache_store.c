/* SPDX-License-Identifier: Apache-2.0 */
/* Making and locking `cache` directories: see cache_store.h. */
#include "cache_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base64.h"
#include "io.h"
#include "json.h"
#include "own.h"
#include "run_dir.h"
#include "sha256.h"

/* Part of what is hashed: to be raised when a cache means something else. */
#define VERSION "stockade cache 1"
#define DRAFT ".about"

enum { TEXT_MAX = 1 << 20, ATTEMPTS = 3 };

static int by_text(const void *a, const void *b)
{
	const struct sv *x = a, *y = b;

	return strcmp(x->p, y->p);
}

/* What the policy is known by, one a line; the order of flags is none. */
static void put_identity(struct policy *p, const char *cwd, struct buf *b,
			 char end)
{
	if (p->named_n == 0)
		buf_printf(b, "directory %s%c", cwd, end);
	else
		qsort(p->named, p->named_n, sizeof *p->named, by_text);
	for (size_t i = 0; i < p->named_n; i++)
		buf_printf(b, "policy %.*s%c", SV_FMT(p->named[i]), end);
}

static int make_key(struct policy *p, const char *cwd, struct sv path,
		    struct buf *ret, struct err *e)
{
	auto_buf struct buf text = buf_new(TEXT_MAX);
	uint8_t hash[SHA256_SIZE];

	buf_puts(&text, VERSION);
	buf_putc(&text, '\0');
	put_identity(p, cwd, &text, '\0');
	buf_puts(&text, "path ");
	buf_put(&text, path);
	if (buf_check(&text, "what the policy is known by", e) < 0)
		return -1;
	sha256(buf_sv(&text), hash);
	buf_put_hex(ret, sv_of((const char *)hash, (CACHE_KEY_SIZE - 1) / 2));
	return buf_check(ret, "the name of a cache", e);
}

bool cache_is_key(struct sv name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!is_digit(name.p[i]) &&
		    !(name.p[i] >= 'a' && name.p[i] <= 'f'))
			return false;
	return name.n == CACHE_KEY_SIZE - 1;
}

/* Whole or not at all, whatever else is made at the same time. */
static int write_about(int key_fd, struct sv text, struct err *e)
{
	char draft[32];
	auto_fd int fd = -1;

	(void)snprintf(draft, sizeof draft, DRAFT ".%d", getpid());
	fd = openat(key_fd, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
		    O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "make %s", draft);
	if (io_write_all(fd, text, e) < 0)
		return -1;
	if (renameat(key_fd, draft, key_fd, CACHE_ABOUT) < 0)
		return err_sys(e, "name %s", CACHE_ABOUT);
	return 0;
}

/* 1: locked; 0: it was removed meanwhile; -1. */
static int lock(int store_fd, const char *key, int *ret_fd, struct err *e)
{
	auto_fd int fd = -1;
	struct stat st;

	if (mkdirat(store_fd, key, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make the cache %s", key);
	fd = openat(store_fd, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open the cache %s",
						     key);
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ?
			err_kind(e, ERR_DENIED, "the cache %s is just being "
				 "removed", key) :
			err_sys(e, "lock the cache %s", key);
	if (fstat(fd, &st) < 0)
		return err_sys(e, "look at the cache %s", key);
	if (st.st_nlink == 0)
		return 0;
	if (io_check_ours(fd, key, e) < 0)
		return -1;
	*ret_fd = steal_fd(&fd);
	return 1;
}

static int make(int store_fd, const char *key, struct sv about, int *ret_fd,
		struct err *e)
{
	auto_fd int fd = -1;
	int got = 0;

	for (int i = 0; i < ATTEMPTS && got == 0; i++)
		got = lock(store_fd, key, &fd, e);
	if (got < 0)
		return -1;
	if (got == 0)
		return err_kind(e, ERR_DENIED, "the cache %s is removed again "
				"and again", key);
	if (mkdirat(fd, CACHE_DATA, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make the cache %s", key);
	/* Its time is that of the last use. */
	if (utimensat(fd, CACHE_ABOUT, NULL, AT_SYMLINK_NOFOLLOW) < 0 &&
	    write_about(fd, about, e) < 0)
		return err_ctx(e, "the cache %s", key);
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int open_one(struct cache_set *set, struct policy *p, const char *cwd,
		    const struct grant *g, int store_fd, struct err *e)
{
	struct launch_cache *cache = &set->list[set->n];
	auto_buf struct buf key = buf_new(CACHE_KEY_SIZE);
	auto_buf struct buf text = buf_new(TEXT_MAX);
	struct sv state;

	if (make_key(p, cwd, g->path, &key, e) < 0 ||
	    run_state_path(&p->arena, &state, e) < 0)
		return -1;
	buf_printf(&text, "%.*s/" CACHE_STORE "/%s/" CACHE_DATA, SV_FMT(state),
		   buf_cstr(&key));
	cache->path = g->path;
	cache->dir = text.full ? NULL : arena_str(&p->arena, buf_sv(&text));
	if (!cache->dir)
		return err_kind(e, ERR_LIMIT, "the cache's name is too long");
	set->lock_fd[set->n++] = -1;
	if (store_fd < 0)
		return 0;
	buf_reset(&text);
	buf_put_visible(&text, g->path);
	buf_putc(&text, '\n');
	put_identity(p, cwd, &text, '\n');
	if (buf_check(&text, "what a cache is for", e) < 0)
		return -1;
	return make(store_fd, buf_cstr(&key), buf_sv(&text),
		    &set->lock_fd[set->n - 1], e);
}

int cache_set_open(struct cache_set *ret, struct policy *p, const char *cwd,
		   bool to_make, struct err *e)
{
	auto_fd int store_fd = -1;

	for (size_t i = 0; i < p->grants_n; i++) {
		const struct grant *g = &p->grants[i];

		if (g->kind != GRANT_CACHE)
			continue;
		if (ret->n == CACHES_MAX)
			return err_kind(e, ERR_LIMIT, "more than %d caches",
					CACHES_MAX);
		if (to_make && store_fd < 0 &&
		    run_state_open(CACHE_STORE, true, &store_fd, e) < 0)
			return -1;
		if (open_one(ret, p, cwd, g, store_fd, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(g->text));
	}
	return 0;
}

void cache_set_close(struct cache_set *set)
{
	while (set->n)
		close_fd(&set->lock_fd[--set->n]);
}
