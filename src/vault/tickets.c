/* SPDX-License-Identifier: Apache-2.0 */
/* One-time tickets: see tickets.h. */
#include "tickets.h"

/* The time does not tell how much of a guess was right. */
static bool is_same(const char *a, const char *b)
{
	unsigned char diff = 0;

	for (size_t i = 0; i < WIRE_TICKET; i++)
		diff |= (unsigned char)(a[i] ^ b[i]);
	return diff == 0;
}

static void spend(struct ticket *k)
{
	explicit_bzero(k, sizeof *k);
}

/* The ticket, if it is known and in time. */
static struct ticket *find(struct tickets *t, struct sv bytes, uint64_t now_ms)
{
	struct ticket *found = NULL;

	if (bytes.n != WIRE_TICKET)
		return NULL;
	for (size_t i = 0; i < TICKETS_MAX; i++) {
		struct ticket *k = &t->list[i];

		if (k->due_ms && k->due_ms <= now_ms)
			spend(k);
		if (k->due_ms && is_same(k->bytes, bytes.p))
			found = k;
	}
	return found;
}

int tickets_grant(struct tickets *t, const struct claim *c, uint32_t secret,
		  uint64_t now_ms, struct err *e)
{
	if (c->ticket.n != WIRE_TICKET || c->host.n == 0 ||
	    c->host.n > sizeof t->list[0].host || c->port == 0)
		return err_kind(e, ERR_PROTO, "malformed ticket");
	if (find(t, c->ticket, now_ms))
		return err_kind(e, ERR_PROTO, "the ticket exists");
	for (size_t i = 0; i < TICKETS_MAX; i++) {
		struct ticket *k = &t->list[i];

		if (k->due_ms)
			continue;
		k->due_ms = now_ms + TICKET_LIFE_MS;
		k->secret = secret;
		k->port = c->port;
		k->host_n = (unsigned char)c->host.n;
		memcpy(k->host, c->host.p, c->host.n);
		memcpy(k->bytes, c->ticket.p, WIRE_TICKET);
		return 0;
	}
	return err_kind(e, ERR_LIMIT, "too many tickets");
}

bool tickets_has(struct tickets *t, struct sv ticket, uint64_t now_ms)
{
	return find(t, ticket, now_ms) != NULL;
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
	spend(k);
	if (ok)
		*ret_secret = secret;
	return ok;
}
