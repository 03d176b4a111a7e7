/* SPDX-License-Identifier: Apache-2.0 */
/* Leased credentials: see lease.h. */
#include "lease.h"

static struct leases *waiting;

void lease_fini(struct leases *l)
{
	for (struct leases **at = &waiting; *at; at = &(*at)->next) {
		if (*at == l) {
			*at = l->next;
			break;
		}
	}
	for (size_t i = 0; i < l->n; i++)
		buf_wipe(&l->values[i]);
	l->n = l->n_missing = 0;
}

int lease_ask(struct leases *l, struct channel *vault,
	      const struct edit *edits, size_t n, const struct http_request *r,
	      struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		struct msg m = { .kind = MSG_REDEEM, .REDEEM = {
			.ticket = edits[i].ticket, .host = r->host,
			.port = r->port } };

		if (channel_send(vault, &m, e) < 0)
			return err_ctx(e, "ask for a credential");
		l->tickets[i] = edits[i].ticket;
		l->values[i] = buf_new(16384);
	}
	l->n = l->n_missing = n;
	l->next = waiting;
	waiting = l;
	return 0;
}

static bool take(struct leases *l, const struct msg_LEASE *m, bool *ok)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!sv_eq(l->tickets[i], m->ticket) || l->values[i].n)
			continue;
		buf_put(&l->values[i], m->value);
		*ok = m->ok == 1 && m->value.n && !l->values[i].full;
		l->n_missing--;
		return true;
	}
	return false;
}

void lease_answer(const struct msg_LEASE *m)
{
	for (struct leases **at = &waiting; *at; at = &(*at)->next) {
		struct leases *l = *at;
		bool ok = false;

		if (!take(l, m, &ok))
			continue;
		if (!ok || l->n_missing == 0) {
			*at = l->next;
			l->next = NULL;
			l->finished(l, ok);
		}
		break;
	}
	/* The channel's receive buffer is the other copy. */
	if (m->value.n)
		explicit_bzero((char *)(uintptr_t)m->value.p, m->value.n);
}
