/* SPDX-License-Identifier: Apache-2.0 */
/* Leased credentials: see lease.h. */
#include "lease.h"

#include <stdlib.h>

#include "own.h"

/* As LEASE and MASK bound them. */
enum { VALUE_MAX = 16384, OTHERS_MAX = 49155 + 1 + 65540 };

struct lease {
	struct lease *older, *newer;	/* of those that are kept */
	struct lease **owner;		/* where it is kept, or NULL */
	uint64_t until_ms;
	size_t n;
	uint32_t secrets[EDITS_MAX];
	struct buf values[EDITS_MAX];	/* wiped; empty while missing */
	struct buf others[EDITS_MAX];	/* wiped; to be masked, one a line */
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
		l->others[i] = buf_new(OTHERS_MAX);
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
	for (size_t i = 0; i < l->n; i++) {
		buf_wipe(&l->values[i]);
		buf_wipe(&l->others[i]);
	}
	free(l);
}

/* A buffer that grows leaves copies of its content. */
static void put_others(struct lease *l, size_t i, struct sv values)
{
	struct buf *b = &l->others[i];

	if (values.n == 0 || (!b->p && !buf_reserve(b, OTHERS_MAX)))
		return;
	if (b->n)
		buf_putc(b, '\n');
	buf_put(b, values);
}

bool lease_put(struct lease *l, const struct msg_LEASE *m)
{
	for (size_t i = 0; m->ok == 1 && i < l->n; i++) {
		if (l->secrets[i] != m->secret || l->values[i].n)
			continue;
		/* The only one, so that it moves nowhere. */
		buf_put(&l->values[i], m->value);
		put_others(l, i, m->others);
		return l->values[i].n > 0 && !l->others[i].full;
	}
	return false;
}

bool lease_mask(struct lease *l, uint32_t secret, struct sv values)
{
	bool fits = true;

	for (size_t i = 0; i < l->n; i++)
		if (l->secrets[i] == secret) {
			put_others(l, i, values);
			fits = !l->others[i].full;
		}
	return fits;
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

struct scrub *lease_scrub(const struct lease *l, struct err *e)
{
	struct scrub *s = calloc(1, sizeof *s);
	int failed;

	if (!s) {
		(void)err_sys(e, "allocate the scrubber");
		return NULL;
	}
	failed = scrub_init(s, NULL, 0, e);
	for (size_t i = 0; failed == 0 && i < l->n; i++)
		if (scrub_add(s, buf_sv(&l->values[i]), e) < 0 ||
		    scrub_add_lines(s, buf_sv(&l->others[i]), e) < 0)
			failed = -1;
	if (failed == 0)
		return s;
	scrub_fini(s);
	free(s);
	return NULL;
}

void lease_forget(uint32_t secret)
{
	for (struct lease *l = oldest, *newer; l; l = newer) {
		newer = l->newer;
		if (lease_value(l, secret).n)
			lease_drop(l->owner);
	}
}

bool lease_covers(const struct lease *l, const struct edit *edits, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lease_value(l, edits[i].secret).n == 0)
			return false;
	return true;
}
