/* SPDX-License-Identifier: Apache-2.0 */
/* Reading many directories: see dents.h. */
#include "dents.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>

#include "dir.h"

/* What the kernel writes is what libc calls a struct dirent. */
_Static_assert(sizeof((struct dirent *)0)->d_ino == 8 &&
	       sizeof((struct dirent *)0)->d_off == 8,
	       "the kernel's numbers have 64 bits");

static bool fill(struct dents *d)
{
	ssize_t n = getdents64(d->fd, d->room, sizeof d->room);

	d->at = 0;
	d->n = n > 0 ? (size_t)n : 0;
	if (n == 0)
		errno = 0;
	return n > 0;
}

struct dents *dents_pile_begin(struct dents_pile *p, unsigned depth, int fd)
{
	struct dents *d = p->at[depth];

	if (!d)
		d = p->at[depth] = malloc(sizeof *d);
	if (d) {
		d->fd = fd;
		d->at = d->n = 0;
	}
	return d;
}

void dents_pile_free(struct dents_pile *p)
{
	for (size_t i = 0; i < DENTS_DEPTH_MAX; i++) {
		free(p->at[i]);
		p->at[i] = NULL;
	}
}

const struct dirent *dents_next(struct dents *d)
{
	while (d->at < d->n || fill(d)) {
		const struct dirent *entry =
			(const void *)(d->room + d->at);

		d->at += entry->d_reclen;
		if (!dir_is_dots(entry->d_name))
			return entry;
	}
	return NULL;
}
