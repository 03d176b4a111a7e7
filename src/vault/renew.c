/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RENEW: a secret gets another value.
 *
 * warden ran the command, and its output is complete: it is read here at once, or
 * not at all, so that whatever is granted afterwards finds the new value or, when
 * that is no good, the old one.  dial hears of the new one before it is leased any
 * of it: no answer comes back unmasked.
 */
#include "own.h"
#include "vault.h"

static int read_all(struct secret *s, int fd, struct err *e)
{
	size_t before;
	int got;

	do {
		before = s->n;
		got = secret_read(s, fd, e);
	} while (got == 0 && s->n > before);
	if (got < 0)
		return -1;
	if (got == 0)
		return err_kind(e, ERR_POLICY, "its command goes on after its "
				"output");
	if (s->n < SECRET_RENEWED_MIN)
		return err_kind(e, ERR_POLICY, "its value is shorter than %d "
				"bytes", SECRET_RENEWED_MIN);
	return 0;
}

static void put_line(struct buf *b, const struct secret *s)
{
	if (b->n && s->complete)
		buf_putc(b, '\n');
	buf_put(b, secret_value(s));
}

/* values is empty where nothing is under way: dial need not know it. */
static int tell_dial(struct vault *v, unsigned i, bool under_way,
		     struct err *e)
{
	struct buf values = buf_new((SECRET_PAST_MAX + 1) *
				    (SECRET_SIZE_MAX + 1));
	struct msg m = { .kind = MSG_MASK };
	int rc;

	if (!channel_is_open(&v->dial))
		return 0;
	/* At once, so that it moves nowhere. */
	if (!buf_reserve(&values, values.max))
		return err_kind(e, ERR_LIMIT, "out of memory");
	put_line(&values, &v->secrets[i]);
	for (unsigned k = 0; k < SECRET_PAST_MAX; k++)
		put_line(&values, &v->past[i][k]);
	m.MASK.secret = v->secrets[i].id;
	if (under_way)
		m.MASK.values = buf_sv(&values);
	rc = channel_send(&v->dial, &m, e);
	buf_wipe(&values);
	return rc;
}

static void replace(struct vault *v, unsigned i, struct secret *fresh)
{
	struct secret *past = v->past[i];

	secret_wipe(&past[SECRET_PAST_MAX - 1]);
	for (unsigned k = SECRET_PAST_MAX - 1; k > 0; k--)
		past[k] = past[k - 1];
	past[0] = v->secrets[i];
	v->secrets[i] = *fresh;
	*fresh = (struct secret){ 0 };
}

int vault_on_renew(struct vault *v, struct msg *m, struct err *e)
{
	const struct msg_RENEW *r = &m->RENEW;
	struct msg out = { .kind = MSG_RENEWED };
	struct secret fresh = { 0 };
	struct err why = { 0 };
	unsigned i = 0;
	int rc = 0;

	while (i < v->n_secrets && v->secrets[i].id != r->secret)
		i++;
	if (!v->ready || m->n_fds != 1 || i == v->n_secrets ||
	    !v->secrets[i].complete || r->version <= v->secrets[i].version)
		return err_kind(e, ERR_PROTO, "malformed RENEW");
	out.RENEWED.secret = r->secret;
	if (secret_init(&fresh, r->secret, sv_str(v->secrets[i].name),
			SECRET_ROOM, &why) < 0 ||
	    read_all(&fresh, m->fds[0], &why) < 0)
		out.RENEWED.fault = sv_head(sv_str(why.msg), 256);
	else
		out.RENEWED.changed = !sv_eq(secret_value(&fresh),
					     secret_value(&v->secrets[i]));
	fresh.version = r->version;
	if (out.RENEWED.changed) {
		replace(v, i, &fresh);
		rc = tell_dial(v, i, r->under_way, e);
	}
	secret_wipe(&fresh);
	return rc < 0 ? -1 : channel_send(&v->warden, &out, e);
}
