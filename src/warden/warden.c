/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending the network of a run: see warden.h. */
#include "warden.h"

#include <stdlib.h>
#include <unistd.h>

#include "conn.h"
#include "helper_fault.h"
#include "keyfile_format.h"
#include "own.h"
#include "relay_decision.h"
#include "renewal.h"
#include "roots.h"
#include "statement.h"

enum { VAULT_READY_MS = 30000 };	/* a login tool may ask over the network */

static void edge_closed(struct channel *c, const struct err *e)
{
	struct warden *w = container_of(c, struct warden, edge.channel);

	fault_ended(w, &w->edge, e);
}

static void vault_closed(struct channel *c, const struct err *e)
{
	struct warden *w = container_of(c, struct warden, vault.channel);

	fault_ended(w, &w->vault, e);
	/* Somebody is waiting for its "ready"; later the loop is the run's. */
	if (!w->vault_ready)
		loop_stop(w->loop);
}

static void dial_closed(struct channel *c, const struct err *e)
{
	struct warden *w = container_of(c, struct warden, dial.channel);

	fault_ended(w, &w->dial, e);
}

static void resolve_closed(struct channel *c, const struct err *e)
{
	struct warden *w = container_of(c, struct warden, resolve.channel);

	fault_ended(w, &w->resolve, e);
}

void warden_pace(struct warden *w)
{
	channel_pause(&w->edge.channel, !w->over &&
		      (channel_is_full(&w->edge.channel) ||
		       channel_is_full(&w->vault.channel) ||
		       channel_is_full(&w->dial.channel) ||
		       channel_is_full(&w->resolve.channel)));
}

static void edge_drained(struct channel *c)
{
	warden_pace(container_of(c, struct warden, edge.channel));
}

static void vault_drained(struct channel *c)
{
	warden_pace(container_of(c, struct warden, vault.channel));
}

static void dial_drained(struct channel *c)
{
	warden_pace(container_of(c, struct warden, dial.channel));
}

static void resolve_drained(struct channel *c)
{
	warden_pace(container_of(c, struct warden, resolve.channel));
}

static int send_source(struct warden *w, struct credential *c, size_t number,
		       struct err *e)
{
	struct msg out = { .kind = MSG_SOURCE, .n_fds = 1 };

	if (c->absent)
		return 0;
	out.SOURCE.secret = (uint32_t)number;
	out.SOURCE.name = sv_head(c->rule->name, 128);
	out.SOURCE.optional = c->rule->optional;
	if (c->rule->entry.n) {
		out.SOURCE.format = (uint8_t)keyfile_format_of(
			c->rule->source_arg);
		out.SOURCE.key = c->rule->entry;
		out.SOURCE.file = name_tail(c->rule->source_arg);
	}
	out.fds[0] = c->source_fd;
	if (channel_send(&w->vault.channel, &out, e) < 0)
		return -1;
	close_fd(&c->source_fd);
	return 0;
}

static int start_vault(struct warden *w, struct err *e)
{
	struct msg out = { .kind = MSG_VAULT_START };
	struct credential_set *s = &w->credentials;
	uint32_t sources = s->has_login ? 1 : 0;

	w->vault.channel.message = warden_on_vault;
	w->vault.channel.closed = vault_closed;
	w->vault.channel.drained = vault_drained;
	if (helper_start(&w->vault, w->loop, e) < 0)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		sources += s->v[i].absent ? 0 : 1;
	out.VAULT_START = (struct msg_VAULT_START){
		.want_ca = w->intercept, .sources = sources,
	};
	if (channel_send(&w->vault.channel, &out, e) < 0)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		if (send_source(w, &s->v[i], i, e) < 0)
			return -1;
	return s->has_login ? send_source(w, &s->login, s->n, e) : 0;
}

/* Most start with the first request; that one of them is not there should be
 * known before the command runs. */
static int check_helpers(struct err *e)
{
	static const enum role roles[] = { ROLE_EDGE, ROLE_VAULT, ROLE_DIAL,
					   ROLE_RESOLVE };

	for (size_t i = 0; i < countof(roles); i++)
		if (helper_check(roles[i], e) < 0)
			return -1;
	return 0;
}

int warden_init(struct warden *w, struct loop *l, const struct policy *p,
		struct trail *t, struct seal *seal, struct err *e)
{
	*w = (struct warden){
		.loop = l, .policy = p, .trail = t,
		.edge = HELPER_NONE(ROLE_EDGE),
		.vault = HELPER_NONE(ROLE_VAULT),
		.dial = HELPER_NONE(ROLE_DIAL),
		.resolve = HELPER_NONE(ROLE_RESOLVE),
		.listener_fd = -1, .dns_fd = -1,
		.intercept = policy_needs_tls(p), .ca_pem = buf_new(16384),
	};
	/* The environment is read before it is wiped of secrets. */
	if (proxy_init(&w->proxy, &p->proxy, e) < 0 ||
	    budgets_init(&w->budgets, p, e) < 0 ||
	    credential_set_init(&w->credentials, p, seal, e) < 0 ||
	    proxy_give_login(&w->proxy, &w->credentials, e) < 0 ||
	    roots_check(p, e) < 0)
		return -1;
	if (p->rules_n && check_helpers(e) < 0)
		return -1;
	if (!w->intercept && w->credentials.n == 0 &&
	    !w->credentials.has_login)
		return 0;
	return start_vault(w, e);
}

static void vault_late(struct timer *t)
{
	struct warden *w = container_of(t, struct warden, vault_timer);

	loop_stop(w->loop);
}

int warden_await_vault(struct warden *w, struct err *e)
{
	if (w->vault.pid_fd < 0 && !w->fault.kind)
		return 0;
	if (!warden_has_vault(w) && !w->fault.kind) {
		w->vault_timer.fired = vault_late;
		loop_arm(w->loop, &w->vault_timer, VAULT_READY_MS);
		if (loop_run(w->loop, e) < 0)
			return -1;
		loop_disarm(w->loop, &w->vault_timer);
	}
	if (w->fault.kind) {
		/* "Empty" is what vault saw; the command's status says why. */
		if (credential_set_settle(&w->credentials, e) == 0)
			*e = w->fault;
		return -1;
	}
	if (!warden_has_vault(w))
		return err_kind(e, ERR_LIMIT, "the secrets' sources did not "
				"answer within %d seconds",
				VAULT_READY_MS / 1000);
	/* A command may print a value and fail all the same. */
	return credential_set_settle(&w->credentials, e);
}

static void on_first_packet(struct watch *watch, struct warden *w)
{
	struct err e = { 0 };

	(void)watch;
	loop_forget(w->loop, &w->listener_watch);
	loop_forget(w->loop, &w->dns_watch);
	if (warden_start_edge(w, &e) < 0)
		fault_raise(w, &w->edge, &e);
}

static void listener_ready(struct watch *watch, uint32_t events)
{
	(void)events;
	on_first_packet(watch, container_of(watch, struct warden,
					    listener_watch));
}

static void dns_ready(struct watch *watch, uint32_t events)
{
	(void)events;
	on_first_packet(watch, container_of(watch, struct warden, dns_watch));
}

int warden_serve(struct warden *w, int listener_fd, int dns_fd, struct err *e)
{
	credential_set_begin(&w->credentials);
	w->listener_fd = listener_fd;
	w->dns_fd = dns_fd;
	w->listener_watch.ready = listener_ready;
	w->dns_watch.ready = dns_ready;
	if (loop_watch(w->loop, &w->listener_watch, listener_fd, EPOLLIN,
		       e) < 0)
		return -1;
	return loop_watch(w->loop, &w->dns_watch, dns_fd, EPOLLIN, e);
}

/* A socket between two helpers: one end to `to`, as `out` says. */
static int introduce(struct helper *to, struct msg *out, int fd,
		     struct err *e)
{
	out->n_fds = 1;
	out->fds[0] = fd;
	return channel_send(&to->channel, out, e);
}

/* A pair whose first end goes to vault, for the helper of that role. */
static int pair_with_vault(struct warden *w, enum role role, int *ret_fd,
			   struct err *e)
{
	struct msg out = { .kind = MSG_VAULT_PEER };
	auto_fd int theirs = -1, vaults = -1;
	int pair[2];

	if (channel_pair(pair, e) < 0)
		return -1;
	vaults = pair[0];
	theirs = pair[1];
	out.VAULT_PEER.role = (uint8_t)role;
	if (introduce(&w->vault, &out, vaults, e) < 0)
		return -1;
	*ret_fd = steal_fd(&theirs);
	return 0;
}

int warden_start_edge(struct warden *w, struct err *e)
{
	struct msg out = { .kind = MSG_EDGE_START, .n_fds = 2 };
	auto_buf struct buf hints = buf_new(4096);
	auto_fd int vault_fd = -1;

	/* The command was started before: its limit stays. */
	channel_raise_descriptors();
	w->edge.channel.message = warden_on_edge;
	w->edge.channel.closed = edge_closed;
	w->edge.channel.drained = edge_drained;
	if (helper_start(&w->edge, w->loop, e) < 0)
		return -1;
	out.EDGE_START.intercept = w->intercept;
	out.EDGE_START.shaped = policy_has_shapes(w->policy);
	relay_put_hints(w->policy, &hints);
	out.EDGE_START.relays = buf_sv(&hints);
	out.fds[0] = w->listener_fd;
	out.fds[1] = w->dns_fd;
	if (w->intercept) {
		if (pair_with_vault(w, ROLE_EDGE, &vault_fd, e) < 0)
			return -1;
		out.fds[out.n_fds++] = vault_fd;
	}
	if (channel_send(&w->edge.channel, &out, e) < 0)
		return -1;
	pulse_start(w);
	/* A listener that is held keeps the sandbox's network alive. */
	close_fd(&w->listener_fd);
	close_fd(&w->dns_fd);
	return 0;
}

static int start_resolve(struct warden *w, int dial_fd, struct err *e)
{
	struct msg out = { .kind = MSG_RESOLVE_START };

	w->resolve.channel.message = warden_on_resolve;
	w->resolve.channel.closed = resolve_closed;
	w->resolve.channel.drained = resolve_drained;
	if (helper_start(&w->resolve, w->loop, e) < 0)
		return -1;
	return introduce(&w->resolve, &out, dial_fd, e);
}

static int start_dial(struct warden *w, int resolve_fd, struct err *e)
{
	struct msg out = { .kind = MSG_DIAL_START, .n_fds = 1 };
	auto_fd int vault_fd = -1;

	w->dial.channel.message = warden_on_dial;
	w->dial.channel.closed = dial_closed;
	w->dial.channel.drained = dial_drained;
	if (helper_start(&w->dial, w->loop, e) < 0 || roots_send(w, e) < 0)
		return -1;
	out.fds[0] = resolve_fd;
	proxy_put_start(&w->proxy, &out.DIAL_START);
	if (w->credentials.n || w->credentials.has_login) {
		if (pair_with_vault(w, ROLE_DIAL, &vault_fd, e) < 0 ||
		    proxy_grant_login(w, e) < 0)
			return -1;
		out.DIAL_START.has_vault = 1;
		out.fds[out.n_fds++] = vault_fd;
	}
	return channel_send(&w->dial.channel, &out, e);
}

int warden_start_origin_side(struct warden *w, struct err *e)
{
	auto_fd int dials = -1, resolves = -1;
	int pair[2];

	if (helper_is_running(&w->dial))
		return 0;
	if (channel_pair(pair, e) < 0)
		return -1;
	dials = pair[0];
	resolves = pair[1];
	if (start_resolve(w, resolves, e) < 0)
		return -1;
	return start_dial(w, dials, e);
}

void warden_fini(struct warden *w)
{
	loop_disarm(w->loop, &w->pulse);
	loop_forget(w->loop, &w->listener_watch);
	loop_forget(w->loop, &w->dns_watch);
	helper_stop(&w->edge);
	helper_stop(&w->dial);
	helper_stop(&w->resolve);
	helper_stop(&w->vault);
	close_fd(&w->listener_fd);
	close_fd(&w->dns_fd);
	conn_remove_all(w);
	renewal_end_all(w);
	credential_set_fini(&w->credentials);
	budgets_fini(&w->budgets);
	proxy_fini(&w->proxy);
	buf_free(&w->ca_pem);
}
