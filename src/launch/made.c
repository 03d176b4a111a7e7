/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that the agent has made: see made.h.  A table with open addresses,
 * never more than half full. */
#include "made.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
	SIZE_FIRST = 256,
	PAUSE_NS = 20000,
	PAUSES_MAX = 200,
	SLACK_S = 2,	/* of clocks, and of file systems that round */
};

static bool identify(int dir_fd, const char *name, struct made_directory *ret)
{
	struct statx stx;

	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH |
		  AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME, &stx) < 0)
		return false;
	*ret = (struct made_directory){
		.dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.ino = stx.stx_ino,
	};
	if (stx.stx_mask & STATX_BTIME)
		ret->born_ns = stx.stx_btime.tv_sec * INT64_C(1000000000) +
			       stx.stx_btime.tv_nsec;
	return ret->ino != 0;
}

/* Where it is, or where it would be. */
static struct made_directory *find(struct made_directory *table, size_t size,
				   const struct made_directory *key)
{
	/* Fibonacci hashing: inodes follow each other. */
	size_t at = (size_t)((key->ino ^ key->dev << 7) *
			     0x9e3779b97f4a7c15U >> 20);

	for (;; at++) {
		struct made_directory *d = &table[at & (size - 1)];

		if (!d->ino || (d->ino == key->ino && d->dev == key->dev))
			return d;
	}
}

static bool grow(struct made *m)
{
	size_t size = m->size ? 2 * m->size : SIZE_FIRST;
	struct made_directory *table = calloc(size, sizeof *table);

	if (!table)
		return false;
	for (size_t i = 0; i < m->size; i++) {
		const struct made_directory *d = &m->table[i];

		if (d->ino)
			*find(table, size, d) = *d;
	}
	free(m->table);
	m->table = table;
	m->size = size;
	return true;
}

static void put(struct made *m, const struct made_directory *key)
{
	struct made_directory *d;

	if (m->n == MADE_MAX || (2 * m->n >= m->size && !grow(m)))
		return;
	d = find(m->table, m->size, key);
	m->n += !d->ino;
	*d = *key;
}

void made_add(struct made *m, int dir_fd, const char *name, time_t now)
{
	struct made_log *log = m->log;
	struct made_directory key;
	size_t n;

	if (!identify(dir_fd, name, &key) ||
	    (key.born_ns &&
	     key.born_ns / 1000000000 < (int64_t)now - SLACK_S))
		return;
	put(m, &key);
	n = log ? atomic_load_explicit(&log->n, memory_order_relaxed) : 0;
	if (!log || n == MADE_MAX)
		return;
	log->v[n] = key;
	atomic_store_explicit(&log->n, n + 1, memory_order_release);
}

void made_turn(struct made_log *log)
{
	if (log)
		(void)atomic_fetch_add(&log->turns, 1);
}

void made_await(const struct made_log *log)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	const unsigned now = atomic_load(&log->turns);

	if (!(now & 1))
		return;
	for (int i = 0; i < PAUSES_MAX && atomic_load(&log->turns) == now; i++)
		(void)nanosleep(&pause, NULL);
}

void made_follow(struct made *m, const struct made_log *log, size_t *seen)
{
	const size_t n = atomic_load_explicit(&log->n, memory_order_acquire);

	for (; *seen < n && *seen < MADE_MAX; ++*seen)
		put(m, &log->v[*seen]);
}

bool made_has(const struct made *m, int dir_fd, const char *name)
{
	struct made_directory key;
	const struct made_directory *d;

	if (!m->n || !identify(dir_fd, name, &key))
		return false;
	d = find(m->table, m->size, &key);
	return d->ino && d->born_ns == key.born_ns;
}
