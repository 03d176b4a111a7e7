/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials for a request: what warden's GRANT names, dial has as LEASE.
 *
 * Many requests may begin at once, and their values be more than a channel
 * queues.  So what is due waits here as numbers, and a value is copied when the
 * channel takes it.
 *
 * Which value it is was decided with the request: one that was decided before a
 * renewal goes on with the value from before, so that no connection to an origin
 * is told both.  All that are known are masked.
 */
#include "cur.h"
#include "vault.h"

static bool is_good(const struct secret *s, uint32_t version)
{
	return s->complete && s->version <= version;
}

/* The value, and in others the rest of what it ever was, as far as it is known. */
static const struct secret *find(const struct vault *v, uint32_t id,
				 uint32_t version, struct buf *others)
{
	const struct secret *found = NULL;
	unsigned i = 0;

	while (i < v->n_secrets && v->secrets[i].id != id)
		i++;
	if (i == v->n_secrets)
		return NULL;
	for (unsigned k = 0; k <= SECRET_PAST_MAX; k++) {
		const struct secret *s = k ? &v->past[i][k - 1] :
					     &v->secrets[i];

		if (!found && is_good(s, version)) {
			found = s;
			continue;
		}
		if (others->n && s->complete)
			buf_putc(others, '\n');
		buf_put(others, secret_value(s));
	}
	return found;
}

/* One that is not there is said so: the request fails. */
static int lease(struct vault *v, struct cur *due, struct err *e)
{
	/* Never moves, so that wiping it leaves no copy. */
	static struct buf others = {
		.max = SECRET_PAST_MAX * (SECRET_SIZE_MAX + 1),
	};
	struct msg m = { .kind = MSG_LEASE };
	const struct secret *s;
	int rc;

	if (!others.p && !buf_reserve(&others, others.max))
		return err_kind(e, ERR_LIMIT, "out of memory");
	m.LEASE.conn = cur_u32(due);
	m.LEASE.id = cur_u32(due);
	m.LEASE.secret = cur_u32(due);
	s = find(v, m.LEASE.secret, cur_u32(due), &others);
	if (s) {
		m.LEASE.ok = 1;
		m.LEASE.value = secret_value(s);
		m.LEASE.others = buf_sv(&others);
	}
	rc = channel_send(&v->dial, &m, e);
	if (others.n)
		explicit_bzero(others.p, others.n);
	buf_reset(&others);
	return rc;
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
		uint32_t version = cur_u32(&secrets);

		buf_put_u32(&v->due, g->conn);
		buf_put_u32(&v->due, g->id);
		buf_put_u32(&v->due, id);
		buf_put_u32(&v->due, version);
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
