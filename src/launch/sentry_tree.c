/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories that the sentry watches: see sentry_parts.h.
 *
 * The kernel knows a watch by the directory itself, whatever it is called, and
 * gives the same number when it is asked for again.  So a directory that is
 * renamed, and found under its new name, keeps its place here, and all below it
 * have their new paths at once.  Where one is mounted at several places each is
 * another one here, and all have the number.
 */
#include "sentry_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own.h"

enum { DIRS_FIRST = 256, PATH_NAMES_MAX = PATH_MAX / 2 };

#define EVENTS (IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK)

int sentry_tree_open(struct sentry_tree *t, struct err *e)
{
	*t = (struct sentry_tree){ .n = 1, .max = UINT32_MAX };
	t->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (t->inotify_fd < 0)
		return err_sys(e, "make an inotify instance "
			       "(fs.inotify.max_user_instances)");
	return 0;
}

static uint32_t *bucket(const struct sentry_tree *t, int wd)
{
	return &t->buckets[(uint32_t)wd & (t->buckets_n - 1)];
}

static int rehash(struct sentry_tree *t, struct err *e)
{
	const uint32_t n = t->buckets_n ? 2 * t->buckets_n : DIRS_FIRST;
	uint32_t *buckets = calloc(n, sizeof *buckets);

	if (!buckets)
		return err_sys(e, "allocate");
	free(t->buckets);
	t->buckets = buckets;
	t->buckets_n = n;
	for (uint32_t i = 1; i < t->n; i++) {
		if (!t->v[i].name || t->v[i].wd < 0)
			continue;
		t->v[i].next = *bucket(t, t->v[i].wd);
		*bucket(t, t->v[i].wd) = i;
	}
	return 0;
}

static uint32_t new_dir(struct sentry_tree *t)
{
	uint32_t at = t->free;

	if (at) {
		t->free = t->v[at].next;
		return at;
	}
	if (t->n >= t->cap) {
		const uint32_t cap = t->cap ? 2 * t->cap : DIRS_FIRST;
		struct sentry_dir *v = reallocarray(t->v, cap, sizeof *v);

		if (!v)
			return 0;
		t->v = v;
		t->cap = cap;
	}
	return t->n++;
}

static void push(struct sentry_tree *t, uint32_t dir)
{
	if (t->v[dir].queued)
		return;
	t->v[dir].queued = true;
	t->v[dir].after = 0;
	if (t->last)
		t->v[t->last].after = dir;
	else
		t->first = dir;
	t->last = dir;
}

void sentry_tree_wait(struct sentry_tree *t, uint32_t dir)
{
	t->v[dir].waiting = t->waits = true;
}

void sentry_tree_resume(struct sentry_tree *t)
{
	if (!t->waits)
		return;
	t->waits = false;
	for (uint32_t i = 1; i < t->n; i++) {
		if (t->v[i].waiting)
			push(t, i);
		t->v[i].waiting = false;
	}
}

/* Nobody needs it any more, and perhaps its parent neither. */
static void release(struct sentry_tree *t, uint32_t at)
{
	while (at) {
		struct sentry_dir *d = &t->v[at];
		const uint32_t parent = d->parent;

		if (d->wd >= 0 || d->children || d->queued)
			return;
		free(d->name);
		*d = (struct sentry_dir){ .wd = -1, .next = t->free };
		t->free = at;
		if (parent)
			t->v[parent].children--;
		at = parent;
	}
}

uint32_t sentry_tree_take(struct sentry_tree *t)
{
	const uint32_t at = t->first;

	if (!at)
		return 0;
	t->first = t->v[at].after;
	if (!t->first)
		t->last = 0;
	t->v[at].queued = false;
	if (t->v[at].wd >= 0)
		return at;
	release(t, at);
	return sentry_tree_take(t);
}

void sentry_tree_all(struct sentry_tree *t)
{
	for (uint32_t i = 1; i < t->n; i++)
		if (t->v[i].name && t->v[i].wd >= 0 && !t->v[i].parent)
			push(t, i);
}

uint32_t sentry_tree_find(const struct sentry_tree *t, int wd, uint32_t after)
{
	uint32_t at = after ? t->v[after].next :
		      t->buckets_n ? *bucket(t, wd) : 0;

	while (at && t->v[at].wd != wd)
		at = t->v[at].next;
	return at;
}

/* Where it is now, and what it is called. */
static int place(struct sentry_tree *t, uint32_t at, uint32_t parent,
		 struct sv name, struct err *e)
{
	struct sentry_dir *d = &t->v[at];
	const uint32_t before = d->parent;
	char *copy;

	if (d->name && before == parent && sv_eq(sv_str(d->name), name))
		return 0;
	copy = strndup(name.p, name.n);
	if (!copy)
		return err_sys(e, "allocate");
	free(d->name);
	d->name = copy;
	d->parent = parent;
	if (parent)
		t->v[parent].children++;
	if (before) {
		t->v[before].children--;
		release(t, before);
	}
	return 0;
}

static int new_watch(struct sentry_tree *t, int wd, uint32_t *ret,
		     struct err *e)
{
	uint32_t at;

	if (t->watched >= t->buckets_n && rehash(t, e) < 0)
		return -1;
	at = new_dir(t);
	if (!at)
		return err_sys(e, "allocate");
	t->v[at] = (struct sentry_dir){ .wd = wd, .next = *bucket(t, wd) };
	*bucket(t, wd) = at;
	t->watched++;
	*ret = at;
	return 0;
}

static int mount_of(int fd, uint64_t *ret, struct err *e)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return err_sys(e, "look at a directory");
	*ret = stx.stx_mnt_id;
	return 0;
}

static uint32_t find_by(const struct sentry_tree *t, int wd, uint64_t mount)
{
	uint32_t at = sentry_tree_find(t, wd, 0);

	while (at && t->v[at].mount != mount)
		at = sentry_tree_find(t, wd, at);
	return at;
}

int sentry_tree_add(struct sentry_tree *t, int fd, uint32_t parent,
		    struct sv name, unsigned look, struct err *e)
{
	struct path_identity identity;
	uint64_t mount;
	uint32_t at;
	int wd;

	if (path_identify(fd, &identity, e) < 0 || mount_of(fd, &mount, e) < 0)
		return -1;
	/* By the descriptor: whatever has its name by now. */
	wd = fchdir(fd) < 0 ? -1 : inotify_add_watch(t->inotify_fd, ".",
						     EVENTS);
	if (wd < 0)
		return err_sys(e, "watch a directory");
	at = find_by(t, wd, mount);
	if (!at && t->watched >= t->max) {
		if (!sentry_tree_find(t, wd, 0))
			(void)inotify_rm_watch(t->inotify_fd, wd);
		errno = ENOSPC;
		return err_sys(e, "watch a directory");
	}
	if (!at && new_watch(t, wd, &at, e) < 0)
		return -1;
	if (place(t, at, parent, name, e) < 0)
		return -1;
	t->v[at].dev = identity.dev;
	t->v[at].ino = identity.ino;
	t->v[at].mount = mount;
	t->v[at].look = (uint8_t)look;
	push(t, at);
	return 0;
}

static void forget(struct sentry_tree *t, uint32_t at)
{
	uint32_t *link = bucket(t, t->v[at].wd);

	while (*link != at)
		link = &t->v[*link].next;
	*link = t->v[at].next;
	t->v[at].wd = -1;
	t->watched--;
	release(t, at);
}

void sentry_tree_ignored(struct sentry_tree *t, int wd)
{
	uint32_t at;

	while ((at = sentry_tree_find(t, wd, 0)) != 0)
		forget(t, at);
}

struct sv sentry_tree_path(const struct sentry_tree *t, uint32_t dir,
			   char room[PATH_MAX])
{
	size_t at = PATH_MAX;

	/* Where an event was lost, one may seem to be in itself. */
	for (int i = 0; dir && i < PATH_NAMES_MAX; i++) {
		const struct sentry_dir *d = &t->v[dir];
		const struct sv name = sv_str(d->name ? d->name : "");

		if (d->wd < 0 || name.n + 1 > at)
			return SV("");
		at -= name.n;
		memcpy(room + at, name.p, name.n);
		if (!d->parent)
			return sv_of(room + at, PATH_MAX - at);
		room[--at] = '/';
		dir = d->parent;
	}
	return SV("");
}
