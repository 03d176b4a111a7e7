/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that the agent has made: see made.h.  A table with open addresses,
 * never more than half full. */
#include "made.h"

#include <stdlib.h>

enum { SIZE_FIRST = 256 };

/* Where it is, or where it would be. */
static struct made_directory *find(struct made_directory *table, size_t size,
				   uint64_t dev, uint64_t ino)
{
	/* Fibonacci hashing: inodes follow each other. */
	size_t at = (size_t)((ino ^ dev << 7) * 0x9e3779b97f4a7c15U >> 20);

	for (;; at++) {
		struct made_directory *d = &table[at & (size - 1)];

		if (!d->ino || (d->ino == ino && d->dev == dev))
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
			*find(table, size, d->dev, d->ino) = *d;
	}
	free(m->table);
	m->table = table;
	m->size = size;
	return true;
}

void made_add(struct made *m, const struct stat *st)
{
	struct made_directory *d;

	if (st->st_ino == 0 || m->n == MADE_MAX ||
	    (2 * m->n >= m->size && !grow(m)))
		return;
	d = find(m->table, m->size, st->st_dev, st->st_ino);
	m->n += !d->ino;
	*d = (struct made_directory){ st->st_dev, st->st_ino };
}

bool made_has(const struct made *m, const struct stat *st)
{
	return m->n && find(m->table, m->size, st->st_dev, st->st_ino)->ino;
}
