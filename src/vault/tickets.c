/* SPDX-License-Identifier: Apache-2.0 */
/* One-time tickets: see tickets.h. */
#include "tickets.h"

#include <stdlib.h>

struct ticket {
	struct ticket *next;		/* in its bucket */
	struct ticket *older, *newer;
	uint64_t due_ms;
	uint32_t secret;
	uint16_t port;
	unsigned char host_n;
	char bytes[WIRE_TICKET];
	char host[];
};

/* The time does not tell how much of a guess was right. */
static bool is_same(const char *a, const char *b)
{
	unsigned char diff = 0;

	for (size_t i = 0; i < WIRE_TICKET; i++)
		diff |= (unsigned char)(a[i] ^ b[i]);
	return diff == 0;
}

static struct ticket **table(struct tickets *t)
{
	return t->buckets ? t->buckets : t->few;
}

/* They are random.  At most 17 of the 128 bits choose a bucket: all that the
 * time of a search can be about. */
static struct ticket **bucket(struct tickets *t, const char *bytes)
{
	uint32_t first;

	memcpy(&first, bytes, sizeof first);
	return &table(t)[first & (t->n_buckets - 1)];
}

/* To n buckets; without memory, what is there has to do. */
static void resize(struct tickets *t, unsigned n)
{
	bool is_few = n <= TICKETS_FEW;
	struct ticket **bigger = is_few ? NULL : calloc(n, sizeof(*bigger));

	if (!is_few && !bigger)
		return;
	free(t->buckets);
	memset(t->few, 0, sizeof t->few);
	t->buckets = bigger;
	t->n_buckets = n;
	for (struct ticket *k = t->oldest; k; k = k->newer) {
		struct ticket **at = bucket(t, k->bytes);

		k->next = *at;
		*at = k;
	}
}

static void spend(struct tickets *t, struct ticket *k)
{
	struct ticket **at = bucket(t, k->bytes);

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	*(k->older ? &k->older->newer : &t->oldest) = k->newer;
	*(k->newer ? &k->newer->older : &t->newest) = k->older;
	explicit_bzero(k, sizeof *k + k->host_n);
	free(k);
	if (--t->n == 0 && t->buckets)
		resize(t, TICKETS_FEW);
}

uint64_t tickets_expire(struct tickets *t, uint64_t now_ms)
{
	while (t->oldest && t->oldest->due_ms <= now_ms)
		spend(t, t->oldest);
	return t->oldest ? t->oldest->due_ms - now_ms : 0;
}

/* The ticket, if it is known and in time. */
static struct ticket *find(struct tickets *t, struct sv bytes, uint64_t now_ms)
{
	struct ticket *found = NULL;

	(void)tickets_expire(t, now_ms);
	if (bytes.n != WIRE_TICKET || t->n == 0)
		return NULL;
	for (struct ticket *k = *bucket(t, bytes.p); k; k = k->next)
		if (is_same(k->bytes, bytes.p))
			found = k;
	return found;
}

static void insert(struct tickets *t, struct ticket *k)
{
	struct ticket **at;

	if (t->n == TICKETS_MAX)
		spend(t, t->oldest);
	if (t->n_buckets == 0)
		t->n_buckets = TICKETS_FEW;
	if (t->n == t->n_buckets)
		resize(t, t->n_buckets * 2);
	at = bucket(t, k->bytes);
	k->next = *at;
	*at = k;
	k->older = t->newest;
	*(k->older ? &k->older->newer : &t->oldest) = k;
	t->newest = k;
	t->n++;
}

int tickets_grant(struct tickets *t, const struct claim *c, uint32_t secret,
		  uint64_t now_ms, struct err *e)
{
	struct ticket *k;

	if (c->ticket.n != WIRE_TICKET || c->host.n == 0 ||
	    c->host.n > TICKET_HOST_MAX || c->port == 0)
		return err_kind(e, ERR_PROTO, "malformed ticket");
	if (find(t, c->ticket, now_ms))
		return err_kind(e, ERR_PROTO, "the ticket exists");
	k = calloc(1, sizeof *k + c->host.n);
	if (!k)
		return err_kind(e, ERR_LIMIT, "no memory for a ticket");
	k->due_ms = now_ms + WIRE_TICKET_MS;
	k->secret = secret;
	k->port = c->port;
	k->host_n = (unsigned char)c->host.n;
	memcpy(k->host, c->host.p, c->host.n);
	memcpy(k->bytes, c->ticket.p, WIRE_TICKET);
	insert(t, k);
	return 0;
}

bool tickets_redeem(struct tickets *t, const struct claim *c, uint64_t now_ms,
		    uint32_t *ret_secret)
{
	struct ticket *k = find(t, c->ticket, now_ms);
	uint32_t secret;
	bool ok;

	if (!k)
		return false;
	secret = k->secret;
	ok = k->port == c->port && sv_eq(sv_of(k->host, k->host_n), c->host);
	spend(t, k);
	if (ok)
		*ret_secret = secret;
	return ok;
}

void tickets_fini(struct tickets *t)
{
	while (t->oldest)
		spend(t, t->oldest);
}
