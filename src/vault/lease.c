/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials for a request: what warden's GRANT names, dial has as LEASE.
 *
 * Many requests may begin at once, and their values be more than a channel
 * queues.  So what is due waits here as numbers, and a value is copied when the
 * channel takes it.
 */
#include "cur.h"
#include "vault.h"

static const struct secret *find(const struct vault *v, uint32_t id)
{
	for (unsigned i = 0; i < v->n_secrets; i++)
		if (v->secrets[i].id == id && v->secrets[i].complete)
			return &v->secrets[i];
	return NULL;
}

/* One that is not there is said so: the request fails. */
static int lease(struct vault *v, struct cur *due, struct err *e)
{
	struct msg m = { .kind = MSG_LEASE };
	const struct secret *s;

	m.LEASE.conn = cur_u32(due);
	m.LEASE.id = cur_u32(due);
	m.LEASE.secret = cur_u32(due);
	s = find(v, m.LEASE.secret);
	if (s) {
		m.LEASE.ok = 1;
		m.LEASE.value = secret_value(s);
	}
	return channel_send(&v->dial, &m, e);
}

void vault_lease_due(struct channel *dial)
{
	struct vault *v = container_of(dial, struct vault, dial);
	struct cur due = cur_of(buf_sv(&v->due));
	struct err e = { 0 };

	while (due.rest.n && !channel_is_full(dial))
		if (lease(v, &due, &e) < 0) {
			vault_fail(v, &e);
			return;
		}
	buf_consume(&v->due, v->due.n - due.rest.n);
}

int vault_on_grant(struct vault *v, const struct msg_GRANT *g, struct err *e)
{
	struct cur secrets = cur_of(g->secrets);

	/* dial has gone away, and vault is about to hear of it. */
	if (!channel_is_open(&v->dial))
		return 0;
	while (secrets.rest.n && !secrets.bad) {
		uint32_t id = cur_u32(&secrets);

		buf_put_u32(&v->due, g->conn);
		buf_put_u32(&v->due, g->id);
		buf_put_u32(&v->due, id);
	}
	if (secrets.bad)
		return err_kind(e, ERR_PROTO, "malformed GRANT");
	if (buf_check(&v->due, "what is leased at once", e) < 0)
		return -1;
	vault_lease_due(&v->dial);
	return 0;
}

/* It is told, and has nothing to say. */
int vault_on_dial(struct channel *c, struct msg *m, struct err *e)
{
	(void)c;
	return err_kind(e, ERR_PROTO, "%s from dial", msg_name(m->kind));
}
