/* SPDX-License-Identifier: Apache-2.0 */
/* Leased credentials: see lease.h. */
#include "lease.h"

#include <stdlib.h>

#include "own.h"

enum { VALUE_MAX = 16384 };	/* as LEASE bounds it */

struct lease {
	struct lease *older, *newer;	/* of those that are kept */
	struct lease **owner;		/* NULL while a claim's */
	struct loop *loop;
	uint64_t until_ms;
	size_t n;
	uint32_t secrets[EDITS_MAX];
	struct buf values[EDITS_MAX];	/* wiped */
};

static struct claim *claims, **last_claim = &claims;
static unsigned n_asked;
/* All live equally long: the oldest ends first. */
static struct lease *oldest, *newest;
static struct timer term;

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

static void on_term(struct timer *t)
{
	uint64_t now_ms = loop_now_ms();

	while (oldest && oldest->until_ms <= now_ms)
		lease_drop(oldest->owner);
	if (oldest)
		loop_arm(oldest->loop, t, oldest->until_ms - now_ms);
}

void lease_keep(struct claim *c, struct lease **to)
{
	struct lease *l = steal_ptr(&c->lease);

	lease_drop(to);
	l->owner = to;
	l->loop = c->dial->loop;
	l->until_ms = loop_now_ms() + LEASE_MS;
	l->older = newest;
	*(newest ? &newest->newer : &oldest) = l;
	newest = l;
	*to = l;
	if (l == oldest) {
		term.fired = on_term;
		loop_arm(l->loop, &term, LEASE_MS);
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

/* As many as may be under way, in the order in which they came. */
static void ask_next(void)
{
	for (struct claim *c = claims; c && n_asked < CLAIMS_ASKED_MAX;
	     c = c->next) {
		struct msg m = { .kind = MSG_CLAIM, .CLAIM = {
			.conn = c->conn, .id = c->id } };

		if (c->asked)
			continue;
		c->asked = true;
		n_asked++;
		dial_report(c->dial, &m);
	}
}

static void leave(struct claim *c)
{
	struct claim **at = &claims;

	if (!c->waits)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (!*at)
		last_claim = at;
	n_asked -= c->asked;
	c->waits = false;
	ask_next();
}

int claim_ask(struct claim *c, struct dial *d, uint32_t conn, uint32_t id,
	      const struct edit *edits, size_t n, struct err *e)
{
	struct lease *l = calloc(1, sizeof *l);

	if (!l)
		return err_sys(e, "allocate a lease");
	for (size_t i = 0; i < n; i++) {
		l->secrets[i] = edits[i].secret;
		l->values[i] = buf_new(VALUE_MAX);
	}
	l->n = n;
	c->lease = l;
	c->dial = d;
	c->conn = conn;
	c->id = id;
	c->n_missing = n;
	c->waits = true;
	c->asked = false;
	c->next = NULL;
	*last_claim = c;
	last_claim = &c->next;
	ask_next();
	return 0;
}

void claim_fini(struct claim *c)
{
	leave(c);
	lease_drop(&c->lease);
}

/* Each secret is leased once. */
static bool take(struct claim *c, const struct msg_LEASE *m)
{
	struct lease *l = c->lease;

	for (size_t i = 0; i < l->n; i++) {
		if (l->secrets[i] != m->secret || l->values[i].n)
			continue;
		buf_put(&l->values[i], m->value);
		c->n_missing--;
		return m->ok == 1 && m->value.n && !l->values[i].full;
	}
	return false;
}

void claim_answer(const struct msg_LEASE *m)
{
	struct claim *c = claims;
	bool ok;

	while (c && (!c->asked || c->conn != m->conn || c->id != m->id))
		c = c->next;
	ok = c && take(c, m);
	if (c && (!ok || c->n_missing == 0)) {
		leave(c);
		c->finished(c, ok);
	}
	/* The channel's receive buffer is the other copy. */
	if (m->value.n)
		explicit_bzero((char *)(uintptr_t)m->value.p, m->value.n);
}
