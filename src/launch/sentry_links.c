/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links whose names are hidden or guarded: see sentry_parts.h.
 *
 * What such a link leads to has another name, which says nothing when it appears,
 * or takes the place of what was covered.  So all links that were met are followed
 * again when something has happened.  The agent says how many there are and how
 * long the way is that each leads: that is done in parts, takes no more than half
 * of the time, and ends the run when it takes too long.
 */
#include "sentry_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "loop.h"

enum { LINKS_FIRST = 64, PART_MS = 10, PATIENCE_MS = 2000 };

static uint64_t hash(struct sv path)
{
	uint64_t h = 0xcbf29ce484222325U;	/* FNV-1a */

	for (size_t i = 0; i < path.n; i++)
		h = (h ^ (unsigned char)path.p[i]) * 0x100000001b3U;
	return h;
}

static struct sentry_link *find(const struct sentry_links *l, uint64_t key,
				struct sv path)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].hash == key && sv_eq(sv_str(l->v[i].path), path))
			return &l->v[i];
	return NULL;
}

bool sentry_links_add(struct sentry_links *l, const struct sentry_link *link,
		      struct sv path)
{
	const uint64_t key = hash(path);
	struct sentry_link *at = find(l, key, path);
	char *copy;

	/* Hidden is more than guarded. */
	if (at) {
		at->guards &= link->guards;
		l->stale = true;
		return true;
	}
	if (l->n == l->cap) {
		const size_t cap = l->cap ? 2 * l->cap : LINKS_FIRST;
		struct sentry_link *v = reallocarray(l->v, cap, sizeof *v);

		if (!v)
			return false;
		l->v = v;
		l->cap = cap;
	}
	copy = strndup(path.p, path.n);
	if (!copy)
		return false;
	l->v[l->n] = *link;
	l->v[l->n].hash = key;
	l->v[l->n++].path = copy;
	l->stale = true;
	return true;
}

/* An overlay may not show it yet, or again. */
static bool is_gone(const struct sentry_link *link, bool *ret_is_link)
{
	struct stat st;
	const bool there = lstat(link->path, &st) == 0;

	*ret_is_link = there && S_ISLNK(st.st_mode);
	return !*ret_is_link && !link->held;
}

int sentry_links_wait_ms(const struct sentry_links *l)
{
	const uint64_t now = l->stale ? loop_now_ms() : 0;

	if (l->under_way)
		return 0;
	if (!l->stale)
		return -1;
	return l->next_ms > now ? (int)(l->next_ms - now) : 0;
}

static int follow(struct sentry *s, struct err *e)
{
	struct sentry_links *l = &s->links;
	struct sentry_link *link = &l->v[l->at];
	bool is_link;

	if (is_gone(link, &is_link)) {
		free(link->path);
		*link = l->v[--l->n];
		return 0;
	}
	l->at++;
	return is_link ? sentry_act_on_link(s, link, e) : 0;
}

int sentry_links_follow(struct sentry *s, struct err *e)
{
	struct sentry_links *l = &s->links;
	const uint64_t begin = loop_now_ms();
	uint64_t now = begin;

	if (!l->under_way) {
		l->under_way = true;
		l->stale = false;
		l->at = 0;
		l->begin_ms = begin;
	}
	for (; l->at < l->n && now < begin + PART_MS; now = loop_now_ms()) {
		s->b->plan->sentry_since_ms = now;
		if (follow(s, e) < 0)
			return -1;
	}
	if (now > l->begin_ms + PATIENCE_MS)
		return err_kind(e, ERR_LIMIT, "there are too many links whose "
				"names are hidden or guarded to follow them in "
				"time");
	if (l->at < l->n)
		return 0;
	l->under_way = false;
	l->next_ms = 2 * now - l->begin_ms;
	return 0;
}
