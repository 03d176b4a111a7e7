/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that the agent has made: see made.h.  A table with open addresses,
 * never more than half full. */
#include "made.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
	SIZE_FIRST = 256,
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

void made_add(struct made *m, int dir_fd, const char *name, time_t now)
{
	struct made_directory key, *d;

	if (m->n == MADE_MAX || !identify(dir_fd, name, &key) ||
	    (key.born_ns &&
	     key.born_ns / 1000000000 < (int64_t)now - SLACK_S) ||
	    (2 * m->n >= m->size && !grow(m)))
		return;
	d = find(m->table, m->size, &key);
	m->n += !d->ino;
	*d = key;
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
