/* SPDX-License-Identifier: Apache-2.0 */
/* The connections to origins: see pool.h. */
#include "pool.h"

#include "h2_origin.h"
#include "own.h"

enum { BUCKETS = 512 };

/* One scheme, host and port to which a connection is open or waited for. */
struct origin {
	struct origin *next;	/* in its bucket */
	enum http_scheme scheme;
	uint16_t port;
	unsigned n_open, n_waiting, n_idle;
	struct upstream *h2s;	/* those that offer HTTP/2 */
	bool speaks_h1;		/* the last one of them did */
	char host[HTTP_HOST_MAX + 1];
};

static struct origin *buckets[BUCKETS];
static struct upstream *newest, *oldest;	/* of those that are idle */
static unsigned n_idle;
static struct turn *turns, **last_turn = &turns;
static struct timer wake, sweep;
static struct loop *loop;

static void on_sweep(struct timer *t);

static struct origin **slot_of(const struct share *s)
{
	unsigned hash = s->port * 31U + (unsigned)s->scheme;
	struct origin **at;

	for (size_t i = 0; i < s->host.n; i++)
		hash = hash * 33 + (uint8_t)s->host.p[i];
	at = &buckets[hash % BUCKETS];
	while (*at && ((*at)->scheme != s->scheme || (*at)->port != s->port ||
		       !sv_eq(sv_str((*at)->host), s->host)))
		at = &(*at)->next;
	return at;
}

static struct origin *origin_of(const struct share *s)
{
	struct origin **at = slot_of(s), *o = *at;

	if (o || s->host.n == 0 || s->host.n > HTTP_HOST_MAX)
		return o;
	o = calloc(1, sizeof *o);
	if (!o)
		return NULL;
	o->scheme = s->scheme;
	o->port = s->port;
	memcpy(o->host, s->host.p, s->host.n);
	*at = o;
	return o;
}

static void release(struct origin *o)
{
	const struct share s = { .scheme = o->scheme, .port = o->port,
				 .host = sv_str(o->host) };

	if (o->n_open || o->n_waiting)
		return;
	*slot_of(&s) = o->next;
	free(o);
}

static void unlink_idle(struct upstream *u)
{
	*(u->newer ? &u->newer->older : &newest) = u->older;
	*(u->older ? &u->older->newer : &oldest) = u->newer;
	u->newer = u->older = NULL;
	u->is_idle = false;
	u->origin->n_idle--;
	n_idle--;
}

static void wake_turns(void)
{
	if (turns)
		loop_arm(loop, &wake, 0);
}

static void destroy(struct upstream *u)
{
	struct origin *o = u->origin;
	struct upstream **at = &o->h2s;

	while (*at && *at != u)
		at = &(*at)->next_h2;
	if (*at)
		*at = u->next_h2;
	if (u->is_idle)
		unlink_idle(u);
	h2_origin_free(u->h2);
	upstream_close(u);
	free(u);
	o->n_open--;
	wake_turns();
	release(o);
}

static void put_idle(struct upstream *u)
{
	if (n_idle == POOL_IDLE_MAX)
		destroy(oldest);
	u->is_idle = true;
	u->idle_since_ms = loop_now_ms();
	u->older = newest;
	*(newest ? &newest->newer : &oldest) = u;
	newest = u;
	u->origin->n_idle++;
	if (n_idle++ == 0) {
		sweep.fired = on_sweep;
		loop_arm(loop, &sweep, POOL_SWEEP_MS);
	}
	wake_turns();
}

/* Idle, and then for whoever needs room, it is only when the session says so:
 * it may be at work now, and telling this user of its end. */
static void leave_h2(struct upstream *u)
{
	u->users--;
	h2_origin_wake(u->h2);
	wake_turns();
}

static void on_unused(struct upstream *u)
{
	if (u->users)
		return;
	if (!h2_origin_is_usable(u->h2))
		destroy(u);
	else if (!u->is_idle)
		put_idle(u);
}

void pool_drop(struct upstream *u)
{
	if (u && u->h2)
		leave_h2(u);
	else if (u)
		destroy(u);
}

void pool_drop_idle(void)
{
	while (oldest)
		destroy(oldest);
}

int pool_connected(struct upstream *u, struct err *e)
{
	bool is_h2 = u->tls && tls_is_h2(u->tls);

	u->is_known = true;
	if (u->offers_h2)
		u->origin->speaks_h1 = !is_h2;
	wake_turns();
	return is_h2 ? h2_origin_start(u, loop, on_unused, e) : 0;
}

static struct upstream *make(struct origin *o, const struct share *s)
{
	struct upstream *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->origin = o;
	u->users = 1;
	u->offers_h2 = s->h2;
	if (s->h2) {
		u->next_h2 = o->h2s;
		o->h2s = u;
	}
	u->secrets_n = s->secrets.n;
	if (s->secrets.n)
		memcpy(u->secrets, s->secrets.p, s->secrets.n);
	o->n_open++;
	return u;
}

static bool is_of(const struct upstream *u, const struct origin *o,
		  const struct share *s)
{
	return u->origin == o && u->offers_h2 == s->h2 &&
	       sv_eq(sv_of(u->secrets, u->secrets_n), s->secrets);
}

/* The newest is the one that the origin will close last. */
static struct upstream *take_idle(const struct origin *o,
				  const struct share *s)
{
	struct upstream *u = o->n_idle ? newest : NULL, *next;

	for (; u; u = next) {
		next = u->older;
		if (u->h2 || !is_of(u, o, s))
			continue;
		if (upstream_is_quiet(u)) {
			unlink_idle(u);
			return u;
		}
		destroy(u);
	}
	return NULL;
}

/* Room for one of another share. */
static bool drop_idle(const struct origin *o)
{
	struct upstream *u = oldest;

	while (u && u->origin != o)
		u = u->newer;
	if (u)
		destroy(u);
	return u != NULL;
}

/* One that serves others at the same time, or could. */
static struct upstream *join(const struct origin *o, const struct share *s)
{
	struct upstream *u = o->h2s;

	for (; u; u = u->next_h2) {
		if (!u->h2 || !is_of(u, o, s))
			continue;
		if (u->is_idle)
			h2_origin_poll(u->h2);
		if (!h2_origin_has_room(u->h2))
			continue;
		if (u->is_idle)
			unlink_idle(u);
		u->users++;
		return u;
	}
	return NULL;
}

/* One that is being made, and may be for many. */
static bool is_promised(const struct origin *o, const struct share *s)
{
	const struct upstream *u = o->h2s;

	while (u && (u->is_known || !is_of(u, o, s)))
		u = u->next_h2;
	return u && !o->speaks_h1;
}

/* NULL: there is none, and there may be no other. */
static struct upstream *find(struct origin *o, const struct share *s)
{
	struct upstream *u;

	/* Dropping all that are idle must not free the origin. */
	o->n_waiting++;
	u = s->h2 ? join(o, s) : NULL;
	if (!u)
		u = take_idle(o, s);
	if (!u && !(s->h2 && is_promised(o, s)) &&
	    (o->n_open < POOL_OPEN_MAX || drop_idle(o)))
		u = make(o, s);
	o->n_waiting--;
	return u;
}

/* Something is free again: whoever waited for that, and came first. */
static void on_wake(struct timer *timer)
{
	struct turn *t = turns, *next;

	(void)timer;
	for (; t; t = next) {
		struct upstream *u = find(t->origin, &t->share);

		next = t->next;
		if (!u)
			continue;
		pool_leave(t);
		t->came(t, u);
		/* Whatever that did to the others. */
		next = turns;
	}
}

struct upstream *pool_take(struct loop *l, struct turn *t, struct err *e)
{
	struct origin *o = origin_of(&t->share);
	struct upstream *u = NULL;

	loop = l;
	if (!o || t->share.secrets.n > UPSTREAM_SECRETS_MAX) {
		(void)err_kind(e, ERR_LIMIT, "out of memory");
		return NULL;
	}
	if (o->n_waiting == 0)
		u = find(o, &t->share);
	if (u)
		return u;
	t->origin = o;
	t->next = NULL;
	*last_turn = t;
	last_turn = &t->next;
	o->n_waiting++;
	/* For want of memory, nobody may be there who would call it. */
	wake.fired = on_wake;
	if (o->n_open < POOL_OPEN_MAX)
		loop_arm(l, &wake, POOL_SWEEP_MS);
	return NULL;
}

void pool_leave(struct turn *t)
{
	struct origin *o = t->origin;
	struct turn **at = &turns;

	if (!o)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (!*at)
		last_turn = at;
	t->origin = NULL;
	o->n_waiting--;
	release(o);
}

/* Of one that is idle: it has ended, or says what nobody asked for. */
static void on_idle_ready(struct upstream *u)
{
	if (upstream_is_quiet(u))
		upstream_await(u, true, false);
	else
		destroy(u);
}

static void on_sweep(struct timer *t)
{
	uint64_t now_ms = loop_now_ms();
	struct upstream *u = oldest, *newer;

	for (; u; u = newer) {
		uint64_t idle_ms = now_ms - u->idle_since_ms;

		newer = u->newer;
		if (idle_ms >= POOL_IDLE_MS ||
		    (idle_ms >= POOL_SWEEP_MS &&
		     u->origin->n_idle > POOL_SPARE_MAX))
			destroy(u);
	}
	if (oldest)
		loop_arm(loop, t, POOL_SWEEP_MS);
}

void pool_give(struct upstream *u)
{
	u->users = 0;
	u->ready = on_idle_ready;
	u->user = NULL;
	/* To hear of its end, or of an answer that nobody asked for. */
	upstream_await(u, true, false);
	put_idle(u);
}
