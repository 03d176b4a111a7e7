/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials for single requests: warden's GRANT makes a ticket, dial's
 * REDEEM turns it into the value, for the host that dial has verified.
 */
#include "vault.h"

static const struct secret *find(const struct vault *v, uint32_t id)
{
	for (unsigned i = 0; i < v->n_secrets; i++)
		if (v->secrets[i].id == id && v->secrets[i].complete)
			return &v->secrets[i];
	return NULL;
}

/* One that cannot be kept is one that dial asks for in vain: its request fails. */
int vault_on_grant(struct vault *v, const struct msg_GRANT *g, struct err *e)
{
	const struct claim claim = { g->ticket, g->host, g->port };

	if (!find(v, g->secret))
		return 0;
	if (tickets_grant(&v->tickets, &claim, g->secret, loop_now_ms(), e) < 0)
		return e->kind == ERR_LIMIT ? 0 : -1;
	if (v->expiry.due_ms == 0)
		loop_arm(v->loop, &v->expiry, WIRE_TICKET_MS);
	return 0;
}

/* What nobody asked for does not stay: neither the claim nor its memory. */
void vault_on_expiry(struct timer *t)
{
	struct vault *v = container_of(t, struct vault, expiry);
	uint64_t next_ms = tickets_expire(&v->tickets, loop_now_ms());

	if (next_ms)
		loop_arm(v->loop, t, next_ms);
}

int vault_on_dial(struct channel *c, struct msg *m, struct err *e)
{
	struct vault *v = container_of(c, struct vault, dial);
	const struct msg_REDEEM *r = &m->REDEEM;
	const struct claim claim = { r->ticket, r->host, r->port };
	struct msg answer = { .kind = MSG_LEASE };
	const struct secret *s = NULL;
	uint32_t id = 0;

	if (m->kind != MSG_REDEEM)
		return err_kind(e, ERR_PROTO, "%s from dial",
				msg_name(m->kind));
	if (tickets_redeem(&v->tickets, &claim, loop_now_ms(), &id))
		s = find(v, id);
	answer.LEASE.ticket = claim.ticket;
	if (s) {
		answer.LEASE.ok = 1;
		answer.LEASE.value = secret_value(s);
	}
	return channel_send(c, &answer, e);
}
