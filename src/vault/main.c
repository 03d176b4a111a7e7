/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stockade-vault: set-up, and the end.  See vault.h.
 *
 * BOOT: VAULT_START, the announced SOURCEs; VAULT_PEER and SEARCH at any time.  When all
 * values are read the process confines itself, says READY and begins to listen
 * to edge and dial.  Any error is a FAULT to warden and the end: a run without
 * its vault has no network and no secret, never less protection.
 */
#include "confine.h"
#include "own.h"
#include "vault.h"

enum { WARDEN_FD = 3 };

static struct vault vault;	/* static: large, and zeroed */

void vault_fail(struct vault *v, const struct err *e)
{
	struct msg m = { .kind = MSG_FAULT };
	struct err ignored;

	m.FAULT.text = sv_str(e->msg);
	if (channel_is_open(&v->warden))
		(void)channel_send(&v->warden, &m, &ignored);
	v->status = 1;
	loop_stop(v->loop);
}

void vault_check_ready(struct vault *v)
{
	struct msg m = { .kind = MSG_READY };
	struct err e = { 0 };

	if (v->ready || !v->started || v->n_complete < v->n_wanted)
		return;
	if (v->authority)
		m.READY.ca_pem = authority_pem(v->authority);
	m.READY.absent = buf_sv(&v->absent);
	if (confine_helper(CONFINE_VAULT, &e) < 0 ||
	    channel_send(&v->warden, &m, &e) < 0) {
		vault_fail(v, &e);
		return;
	}
	v->ready = true;
	v->warden.phase = PHASE_RUN;
	channel_pause(&v->edge, false);
	channel_pause(&v->dial, false);
	if (vault_search(v, &e) < 0)
		vault_fail(v, &e);
}

static int on_start(struct vault *v, const struct msg_VAULT_START *m,
		    struct err *e)
{
	if (v->started)
		return err_kind(e, ERR_PROTO, "started twice");
	if (m->sources > SECRETS_MAX)
		return err_kind(e, ERR_LIMIT, "more than %d secrets",
				SECRETS_MAX);
	if (m->want_ca) {
		v->authority = authority_new(e);
		if (!v->authority)
			return -1;
	}
	v->n_wanted = m->sources;
	v->started = true;
	vault_check_ready(v);
	return 0;
}

/* One that broke the rules may be the agent's by now: nobody is served. */
static void on_edge_closed(struct channel *c, const struct err *e)
{
	if (e)
		vault_fail(container_of(c, struct vault, edge), e);
}

static void on_dial_closed(struct channel *c, const struct err *e)
{
	if (e)
		vault_fail(container_of(c, struct vault, dial), e);
}

int vault_answer(struct vault *v, const struct msg *m, struct err *e)
{
	if (channel_send(&v->edge, m, e) < 0)
		return -1;
	channel_pause(&v->edge, channel_is_full(&v->edge));
	return 0;
}

static void on_edge_drained(struct channel *c)
{
	channel_pause(c, false);
}

static int on_peer(struct vault *v, struct msg *m, struct err *e)
{
	bool is_edge = m->VAULT_PEER.role == ROLE_EDGE;
	struct channel *c = is_edge ? &v->edge : &v->dial;

	if (m->n_fds != 1 || (!is_edge && m->VAULT_PEER.role != ROLE_DIAL))
		return err_kind(e, ERR_PROTO, "malformed VAULT_PEER");
	if (channel_is_open(c))
		return err_kind(e, ERR_PROTO, "a second peer of one role");
	c->message = is_edge ? vault_on_edge : vault_on_dial;
	c->closed = is_edge ? on_edge_closed : on_dial_closed;
	c->drained = is_edge ? on_edge_drained : vault_lease_due;
	if (channel_open(c, v->loop, m->fds[0], ROLE_VAULT,
			 is_edge ? ROLE_EDGE : ROLE_DIAL, PHASE_RUN, e) < 0)
		return -1;
	m->fds[0] = -1;
	channel_pause(c, !v->ready);
	return 0;
}

static int dispatch(struct vault *v, struct msg *m, struct err *e)
{
	if (m->kind == MSG_VAULT_START)
		return on_start(v, &m->VAULT_START, e);
	if (m->kind == MSG_SOURCE)
		return vault_on_source(v, m, e);
	if (m->kind == MSG_SEARCH)
		return vault_on_search(v, m, e);
	if (m->kind == MSG_VAULT_PEER)
		return on_peer(v, m, e);
	if (m->kind == MSG_GRANT)
		return vault_on_grant(v, &m->GRANT, e);
	if (m->kind == MSG_RENEW)
		return vault_on_renew(v, m, e);
	return err_kind(e, ERR_PROTO, "%s from warden", msg_name(m->kind));
}

/* A failure is told while the channel is still open, which -1 would end. */
static int on_warden(struct channel *c, struct msg *m, struct err *e)
{
	struct vault *v = container_of(c, struct vault, warden);

	if (dispatch(v, m, e) < 0)
		vault_fail(v, e);
	return 0;
}

static void on_warden_closed(struct channel *c, const struct err *e)
{
	struct vault *v = container_of(c, struct vault, warden);

	v->status = e ? 1 : 0;
	loop_stop(v->loop);
}

int main(void)
{
	struct vault *v = &vault;
	struct err e = { 0 };

	v->due = buf_new(VAULT_DUE_MAX);
	v->absent = buf_new(SECRETS_MAX * sizeof(uint32_t));
	v->loop = loop_new(&e);
	v->warden.message = on_warden;
	v->warden.closed = on_warden_closed;
	if (!v->loop ||
	    channel_open(&v->warden, v->loop, WARDEN_FD, ROLE_VAULT,
			 ROLE_WARDEN, PHASE_BOOT, &e) < 0 ||
	    loop_run(v->loop, &e) < 0)
		return 1;
	vault_drop_sources(v);
	vault_drop_search(v);
	for (unsigned i = 0; i < v->n_secrets; i++) {
		for (unsigned k = 0; k < SECRET_PAST_MAX; k++)
			secret_wipe(&v->past[i][k]);
		secret_wipe(&v->secrets[i]);
	}
	buf_free(&v->due);
	buf_free(&v->absent);
	authority_free(v->authority);
	return v->status;
}
