/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start and the end of edge, and its channels: see edge.h.
 *
 * Any trouble with warden ends the process, and with it every connection of
 * the agent.  Without vault there are no further certificates.
 */
#include "edge.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "call.h"
#include "confine.h"
#include "dns.h"
#include "handshake.h"
#include "own.h"
#include "relay_face.h"
#include "server.h"

enum { WARDEN_FD = 3, TICK_MS = 2000, SPARE_FDS = 64 };

static struct edge edge;

static void fail(struct edge *g, const struct err *e)
{
	struct msg m = { .kind = MSG_FAULT };
	struct err ignored;

	m.FAULT.text = sv_head(sv_str(e->msg), 480);
	(void)channel_send(&g->warden, &m, &ignored);
	_exit(1);
}

void edge_tell(struct edge *g, const struct msg *m)
{
	struct err e = { 0 };

	if (channel_send(&g->warden, m, &e) < 0)
		fail(g, &e);
}

void edge_refused(struct edge *g, uint32_t conn, struct sv host, uint16_t port,
		  struct sv reason)
{
	struct msg m = { .kind = MSG_REFUSED };

	m.REFUSED.conn = conn;
	m.REFUSED.host = sv_head(host, 253);
	m.REFUSED.port = port;
	m.REFUSED.reason = sv_head(reason, 512);
	edge_tell(g, &m);
}

static void on_channel_closed(struct channel *c, const struct err *e)
{
	(void)c;
	_exit(e ? 1 : 0);
}

/* Two descriptors for each call: the stream to dial, and the agent's socket. */
static void raise_limits(struct edge *g)
{
	struct rlimit r = { 0 };
	rlim_t most;

	g->max_calls = EDGE_CALLS_MAX;
	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		return;
	most = 2 * EDGE_CALLS_MAX + SPARE_FDS;
	if (r.rlim_cur < most) {
		r.rlim_cur = r.rlim_max < most ? r.rlim_max : most;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < most)
		g->max_calls = r.rlim_cur > SPARE_FDS + 2 ?
			       (unsigned)(r.rlim_cur - SPARE_FDS) / 2 : 1;
}

static void on_tick(struct timer *t)
{
	struct edge *g = container_of(t, struct edge, tick);

	conn_check_deadlines(g);
	listener_resume(g);
	if (g->n_conns || !g->accepts)
		edge_need_tick(g);
}

void edge_need_tick(struct edge *g)
{
	if (g->tick.due_ms == 0)
		loop_arm(g->loop, &g->tick, TICK_MS);
}

static void on_burial(struct timer *t)
{
	struct edge *g = container_of(t, struct edge, burial);

	call_bury(g);
	conn_bury(g);
}

static int start_vault(struct edge *g, int fd, struct err *e)
{
	struct msg m = { .kind = MSG_LEAF_KEY };

	g->vault.message = handshake_on_vault;
	g->vault.closed = handshake_on_vault_closed;
	if (channel_open(&g->vault, g->loop, fd, ROLE_EDGE, ROLE_VAULT,
			 PHASE_RUN, e) < 0)
		return -1;
	m.LEAF_KEY.spki = tls_server_spki(g->tls);
	return channel_send(&g->vault, &m, e);
}

static int on_start(struct edge *g, struct msg *m, struct err *e)
{
	g->intercept = m->EDGE_START.intercept == 1;
	g->shaped = m->EDGE_START.shaped == 1;
	if (m->n_fds != (g->intercept ? 3 : 2))
		return err_kind(e, ERR_PROTO, "EDGE_START with %u descriptors",
				m->n_fds);
	raise_limits(g);
	if (relay_learn(m->EDGE_START.relays, e) < 0)
		return -1;
	g->names = names_new(e);
	if (!g->names)
		return -1;
	g->tls = tls_server_new(e);
	if (!g->tls)
		return -1;
	if (confine_helper(CONFINE_EDGE, e) < 0)
		return err_ctx(e, "confine edge");
	g->warden.phase = PHASE_RUN;
	if (g->intercept && start_vault(g, steal_fd(&m->fds[2]), e) < 0)
		return -1;
	if (dns_start(g, steal_fd(&m->fds[1]), e) < 0)
		return -1;
	return listener_start(g, steal_fd(&m->fds[0]), e);
}

static int on_message(struct channel *c, struct msg *m, struct err *e)
{
	struct edge *g = container_of(c, struct edge, warden);

	if (m->kind == MSG_VERDICT) {
		call_on_verdict(g, m);
		return 0;
	}
	if (m->kind == MSG_EDGE_START) {
		if (on_start(g, m, e) < 0)
			fail(g, e);
		return 0;
	}
	return err_kind(e, ERR_PROTO, "unexpected %s", msg_name(m->kind));
}

/* Requests were held back while warden was behind. */
static void on_drained(struct channel *c)
{
	struct edge *g = container_of(c, struct edge, warden);

	listener_resume(g);
	conn_resume_all(g);
}

int main(void)
{
	struct edge *g = &edge;
	struct err e = { 0 };

	g->loop = loop_new(&e);
	if (!g->loop)
		return 1;
	g->conns_end = &g->conns;
	g->tick.fired = on_tick;
	g->burial.fired = on_burial;
	g->warden.message = on_message;
	g->warden.closed = on_channel_closed;
	g->warden.drained = on_drained;
	if (channel_open(&g->warden, g->loop, WARDEN_FD, ROLE_EDGE, ROLE_WARDEN,
			 PHASE_BOOT, &e) < 0)
		return 1;
	channel_gather(&g->warden, true);
	if (loop_run(g->loop, &e) < 0)
		fail(g, &e);
	return 0;
}
