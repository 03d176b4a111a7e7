/* SPDX-License-Identifier: Apache-2.0 */
/* Leased credentials: see lease.h. */
#include "lease.h"

#include <stdlib.h>

#include "own.h"

enum { VALUE_MAX = 16384 };	/* as LEASE bounds it */

struct lease {
	struct lease *older, *newer;	/* of those that are kept */
	struct lease **owner;		/* where it is kept, or NULL */
	uint64_t until_ms;
	size_t n;
	uint32_t secrets[EDITS_MAX];
	struct buf values[EDITS_MAX];	/* wiped; empty while missing */
};

/* All live equally long: the oldest ends first. */
static struct lease *oldest, *newest;
static struct timer term;
static struct loop *loop;

struct lease *lease_new(const struct edit *edits, size_t n, struct err *e)
{
	struct lease *l = calloc(1, sizeof *l);

	if (!l) {
		(void)err_sys(e, "allocate a lease");
		return NULL;
	}
	l->n = n;
	for (size_t i = 0; i < n; i++) {
		l->secrets[i] = edits[i].secret;
		l->values[i] = buf_new(VALUE_MAX);
	}
	return l;
}

void lease_drop(struct lease **at)
{
	struct lease *l = steal_ptr(at);

	if (!l)
		return;
	if (l->owner) {
		*(l->older ? &l->older->newer : &oldest) = l->newer;
		*(l->newer ? &l->newer->older : &newest) = l->older;
	}
	for (size_t i = 0; i < l->n; i++)
		buf_wipe(&l->values[i]);
	free(l);
}

bool lease_put(struct lease *l, const struct msg_LEASE *m)
{
	for (size_t i = 0; m->ok == 1 && i < l->n; i++) {
		if (l->secrets[i] != m->secret || l->values[i].n)
			continue;
		/* The only one, so that it moves nowhere. */
		buf_put(&l->values[i], m->value);
		return l->values[i].n > 0;
	}
	return false;
}

bool lease_is_whole(const struct lease *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->values[i].n == 0)
			return false;
	return true;
}

static void on_term(struct timer *t)
{
	uint64_t now_ms = loop_now_ms();

	while (oldest && oldest->until_ms <= now_ms)
		lease_drop(oldest->owner);
	if (oldest)
		loop_arm(loop, t, oldest->until_ms - now_ms);
}

void lease_keep(struct lease **from, struct lease **to, struct loop *in)
{
	struct lease *l = steal_ptr(from);

	lease_drop(to);
	l->owner = to;
	l->until_ms = loop_now_ms() + LEASE_MS;
	l->older = newest;
	*(newest ? &newest->newer : &oldest) = l;
	newest = l;
	*to = l;
	loop = in;
	if (l == oldest) {
		term.fired = on_term;
		loop_arm(loop, &term, LEASE_MS);
	}
}

struct sv lease_value(const struct lease *l, uint32_t secret)
{
	for (size_t i = 0; l && i < l->n; i++)
		if (l->secrets[i] == secret)
			return buf_sv(&l->values[i]);
	return (struct sv){ 0 };
}

bool lease_covers(const struct lease *l, const struct edit *edits, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lease_value(l, edits[i].secret).n == 0)
			return false;
	return true;
}
