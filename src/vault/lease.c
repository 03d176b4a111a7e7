/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials for a request: what warden's GRANT names, dial has as LEASE. */
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
static int lease(struct vault *v, const struct msg_GRANT *g, uint32_t id,
		 struct err *e)
{
	const struct secret *s = find(v, id);
	struct msg m = { .kind = MSG_LEASE, .LEASE = {
		.conn = g->conn, .id = g->id, .secret = id } };

	if (s) {
		m.LEASE.ok = 1;
		m.LEASE.value = secret_value(s);
	}
	return channel_send(&v->dial, &m, e);
}

int vault_on_grant(struct vault *v, const struct msg_GRANT *g, struct err *e)
{
	struct cur secrets = cur_of(g->secrets);

	/* dial has gone away, and vault is about to hear of it. */
	if (!channel_is_open(&v->dial))
		return 0;
	while (secrets.rest.n) {
		uint32_t id = cur_u32(&secrets);

		if (secrets.bad)
			return err_kind(e, ERR_PROTO, "malformed GRANT");
		if (lease(v, g, id, e) < 0)
			return -1;
	}
	return 0;
}

/* It is told, and has nothing to say. */
int vault_on_dial(struct channel *c, struct msg *m, struct err *e)
{
	(void)c;
	return err_kind(e, ERR_PROTO, "%s from dial", msg_name(m->kind));
}
