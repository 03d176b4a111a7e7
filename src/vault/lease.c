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

	if (!find(v, g->secret) ||
	    tickets_grant(&v->tickets, &claim, g->secret, loop_now_ms(),
			  e) == 0)
		return 0;
	return e->kind == ERR_LIMIT ? 0 : -1;
}

static const struct secret *redeem(struct vault *v, const struct claim *claim)
{
	uint32_t id = 0;

	/* warden grants before dial hears of it, but both wait to be read, and
	 * dial may be the first. */
	if (!tickets_has(&v->tickets, claim->ticket, loop_now_ms()))
		channel_catch_up(&v->warden);
	return tickets_redeem(&v->tickets, claim, loop_now_ms(), &id) ?
		       find(v, id) : NULL;
}

int vault_on_dial(struct channel *c, struct msg *m, struct err *e)
{
	struct vault *v = container_of(c, struct vault, dial);
	const struct msg_REDEEM *r = &m->REDEEM;
	char ticket[WIRE_TICKET], host[TICKET_HOST_MAX];
	struct msg answer = { .kind = MSG_LEASE };
	const struct secret *s;
	struct claim claim;

	if (m->kind != MSG_REDEEM)
		return err_kind(e, ERR_PROTO, "%s from dial",
				msg_name(m->kind));
	if (r->ticket.n != sizeof ticket || r->host.n > sizeof host)
		return err_kind(e, ERR_PROTO, "malformed REDEEM");
	/* As redeem() may read on. */
	memcpy(ticket, r->ticket.p, r->ticket.n);
	memcpy(host, r->host.p, r->host.n);
	claim = (struct claim){ sv_of(ticket, r->ticket.n),
				sv_of(host, r->host.n), r->port };
	s = redeem(v, &claim);
	answer.LEASE.ticket = claim.ticket;
	if (s) {
		answer.LEASE.ok = 1;
		answer.LEASE.value = secret_value(s);
	}
	return channel_send(c, &answer, e);
}
