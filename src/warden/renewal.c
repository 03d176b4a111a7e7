/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that get another value: see renewal.h. */
#include "renewal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "helper_fault.h"
#include "own.h"
#include "record.h"

enum stage { IDLE, RUNNING, WITH_VAULT };

struct renewal {
	struct warden *warden;
	struct credential *credential;
	enum stage stage;
	bool is_rejected;	/* why: a 401 of host, else its age */
	bool is_overdue;	/* nobody waits any more */
	struct buf host;
	pid_t pid;		/* 0: none; its group's as well */
	int pid_fd, output_fd;	/* owned */
	struct watch ended;	/* of pid_fd */
	struct timer patience, limit;
	/* By credential_clock_ms(). */
	uint64_t since_ms;	/* of the value */
	uint64_t not_before_ms, wait_ms;
};

static struct credential *credential_of(struct warden *w, uint32_t number)
{
	return &w->credentials.v[number];
}

/* What goes on of its group ends with it: what it prints is complete. */
static int reap(struct renewal *r)
{
	int status = 0;

	if (r->pid == 0)
		return 0;
	loop_forget(r->warden->loop, &r->ended);
	(void)kill(-r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	close_fd(&r->pid_fd);
	r->pid = 0;
	return status;
}

static int release(struct warden *w, struct err *e)
{
	for (size_t i = 0; i < WARDEN_BUCKETS; i++)
		for (struct conn *c = w->conns[i]; c; c = c->next) {
			if (!c->waits || renewal_is_awaited(w, c))
				continue;
			c->waits = false;
			if (!c->hung_up && c->dispatched &&
			    exchange_grant(w, c, e) < 0)
				return -1;
		}
	return 0;
}

static void wait_longer(struct renewal *r)
{
	r->not_before_ms = credential_clock_ms() + r->wait_ms;
	r->wait_ms *= 2;
	if (r->wait_ms > RENEWAL_WAIT_MOST_MS)
		r->wait_ms = RENEWAL_WAIT_MOST_MS;
}

/* It is over: why it failed, or NULL. */
static int finish(struct renewal *r, const char *error, bool changed,
		  struct err *e)
{
	struct warden *w = r->warden;
	const struct renewed said = {
		.secret = r->credential->rule->name,
		.because = r->is_rejected ? "401" : "age",
		.host = buf_sv(&r->host),
		.error = error ? sv_str(error) : (struct sv){ 0 },
		.changed = changed,
	};

	(void)reap(r);
	close_fd(&r->output_fd);
	loop_disarm(w->loop, &r->patience);
	loop_disarm(w->loop, &r->limit);
	r->stage = IDLE;
	if (!error)
		r->since_ms = credential_clock_ms();
	if (error || r->is_rejected)
		wait_longer(r);
	else
		r->wait_ms = RENEWAL_WAIT_MS;
	if (record_renewal(w, &said, e) < 0)
		return -1;
	return release(w, e);
}

/* Where there is no message whose channel could end for it. */
static void finish_now(struct renewal *r, const char *error)
{
	struct err e = { 0 };

	if (finish(r, error, false, &e) < 0)
		fault_raise(r->warden, &r->warden->vault, &e);
}

static bool is_under_way(const struct warden *w, uint32_t secret)
{
	for (size_t i = 0; i < WARDEN_BUCKETS; i++)
		for (const struct conn *c = w->conns[i]; c; c = c->next)
			for (unsigned k = 0; c->owed && k < c->n_secrets; k++)
				if (c->secrets[k] == secret)
					return true;
	return false;
}

/*
 * Those who waited were promised the version that was counted up at the start.
 * When some did not wait, and had the old value, the new one is a version more.
 */
static void hand_over(struct renewal *r)
{
	struct warden *w = r->warden;
	struct credential *c = r->credential;
	struct msg m = { .kind = MSG_RENEW, .n_fds = 1 };

	if (r->is_overdue)
		c->version++;
	m.RENEW.secret = (uint32_t)(c - w->credentials.v);
	m.RENEW.version = c->version;
	m.RENEW.under_way = is_under_way(w, m.RENEW.secret);
	m.fds[0] = r->output_fd;
	r->stage = WITH_VAULT;
	helper_send(&w->vault, &m);
	close_fd(&r->output_fd);
}

static void on_ended(struct watch *watch, uint32_t events)
{
	struct renewal *r = container_of(watch, struct renewal, ended);
	char why[64];
	int status;

	(void)events;
	status = reap(r);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		hand_over(r);
		return;
	}
	(void)snprintf(why, sizeof why, "its command failed with status %d",
		       WIFEXITED(status) ? WEXITSTATUS(status) :
					   128 + WTERMSIG(status));
	finish_now(r, why);
}

static void on_patience(struct timer *t)
{
	struct renewal *r = container_of(t, struct renewal, patience);
	struct err e = { 0 };

	r->is_overdue = true;
	if (release(r->warden, &e) < 0)
		fault_raise(r->warden, &r->warden->vault, &e);
}

static void on_limit(struct timer *t)
{
	struct renewal *r = container_of(t, struct renewal, limit);

	if (r->stage == RUNNING)
		finish_now(r, "its command did not end");
}

static struct renewal *renewal_of(struct warden *w, struct credential *c)
{
	struct renewal *r = c->renewal;

	if (r)
		return r;
	r = calloc(1, sizeof *r);
	if (!r)
		return NULL;
	r->warden = w;
	r->credential = c;
	r->host = buf_new(HTTP_HOST_MAX);
	r->pid_fd = r->output_fd = -1;
	r->ended.ready = on_ended;
	r->ended.fd = -1;
	r->patience.fired = on_patience;
	r->limit.fired = on_limit;
	r->since_ms = w->credentials.read_ms;
	r->wait_ms = RENEWAL_WAIT_MS;
	c->renewal = r;
	return r;
}

static int start_command(struct renewal *r, struct err *e)
{
	if (credential_start_command(r->credential, true, &r->pid,
				     &r->output_fd, e) < 0)
		return -1;
	r->pid_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	if (r->pid_fd < 0)
		return err_sys(e, "pidfd_open");
	return loop_watch(r->warden->loop, &r->ended, r->pid_fd, EPOLLIN, e);
}

/* In vain where it is too early, or the secret is used no more. */
static int begin(struct warden *w, struct credential *c, struct sv host,
		 struct err *e)
{
	struct renewal *r = renewal_of(w, c);
	struct err why = { 0 };

	if (!r || r->stage != IDLE || w->over || w->fault.kind ||
	    c->is_revoked || credential_has_ended(&w->credentials, c) ||
	    credential_clock_ms() < r->not_before_ms)
		return 0;
	r->is_rejected = host.n > 0;
	r->is_overdue = false;
	buf_reset(&r->host);
	buf_put(&r->host, host);
	r->stage = RUNNING;
	if (start_command(r, &why) < 0)
		return finish(r, why.msg, false, e);
	c->version++;
	loop_arm(w->loop, &r->patience, RENEWAL_PATIENCE_MS);
	loop_arm(w->loop, &r->limit, RENEWAL_COMMAND_MS);
	return 0;
}

int renewal_look(struct warden *w, const struct credential_use *use,
		 struct err *e)
{
	for (size_t i = 0; i < use->n; i++) {
		size_t number = (size_t)(use->credentials[i] - w->credentials.v);
		struct credential *c = &w->credentials.v[number];
		const uint64_t age_ms = c->rule->renew_ms;
		uint64_t since_ms = c->renewal ? c->renewal->since_ms :
						 w->credentials.read_ms;

		if (age_ms && use->edits[i].form != EDIT_MASK &&
		    credential_clock_ms() - since_ms >= age_ms &&
		    begin(w, c, (struct sv){ 0 }, e) < 0)
			return -1;
	}
	return 0;
}

int renewal_rejected(struct warden *w, const struct conn *conn, struct err *e)
{
	for (unsigned i = 0; i < conn->n_sent; i++) {
		struct credential *c = credential_of(w, conn->secrets[i]);

		/* One from before was rejected, and has another already. */
		if (c->rule->renew_ms && conn->versions[i] == c->version &&
		    begin(w, c, buf_sv(&conn->host), e) < 0)
			return -1;
	}
	return 0;
}

bool renewal_is_awaited(const struct warden *w, const struct conn *conn)
{
	for (unsigned i = 0; i < conn->n_sent; i++) {
		const struct credential *c =
			&w->credentials.v[conn->secrets[i]];
		const struct renewal *r = c->renewal;

		if (r && r->stage != IDLE && !r->is_overdue &&
		    conn->versions[i] == c->version)
			return true;
	}
	return false;
}

int renewal_on_answer(struct warden *w, const struct msg_RENEWED *m,
		      struct err *e)
{
	struct renewal *r = m->secret < w->credentials.n ?
			    credential_of(w, m->secret)->renewal : NULL;
	auto_buf struct buf fault = buf_new(512);

	if (!r || r->stage != WITH_VAULT)
		return err_kind(e, ERR_PROTO, "a value that nobody asked for");
	buf_put(&fault, m->fault);
	return finish(r, m->fault.n ? buf_cstr(&fault) : NULL, m->changed, e);
}

int renewal_cancel(struct warden *w, struct credential *c, struct err *e)
{
	(void)w;
	if (!c->renewal || c->renewal->stage != RUNNING)
		return 0;
	return finish(c->renewal, "it was revoked", false, e);
}

void renewal_end_all(struct warden *w)
{
	for (size_t i = 0; i < w->credentials.n; i++) {
		struct renewal *r = steal_ptr(&w->credentials.v[i].renewal);

		if (!r)
			continue;
		(void)reap(r);
		close_fd(&r->output_fd);
		loop_disarm(w->loop, &r->patience);
		loop_disarm(w->loop, &r->limit);
		buf_free(&r->host);
		free(r);
	}
}
