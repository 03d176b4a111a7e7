/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CONNECT: see tunnel.h.
 *
 * Of the answer no byte too many is taken from the socket: it is looked at
 * first, and consumed as far as it belongs to the head.
 */
#include "tunnel.h"

#include <sys/socket.h>

#include "credential.h"
#include "h1_response.h"
#include "own.h"

enum { ANSWER_MAX = 8192, HEAD_MAX = 32768 };

struct tunnel {
	struct buf head;	/* may hold the login: wiped */
	size_t written;
	struct buf answer;	/* the beginning of it */
};

/* The proxy, as DIAL_START said; one for all connections. */
static struct {
	struct dial *dial;	/* set with a login */
	char host[254];
	char user[129];
	struct buf login;	/* "Basic ..."; empty without one */
	bool awaits_login;	/* of vault: the first word counts */
	bool refused;		/* there is no password for us */
} proxy;

static int make_login(struct sv password, struct err *e)
{
	const struct edit edit = {
		.form = EDIT_ADD_BASIC, .prefix = sv_str(proxy.user),
		.field = SV("proxy-authorization"),
	};
	auto_arena struct arena a = arena_new(4096);
	struct buf scratch = buf_new(CREDENTIAL_ROOM);
	struct http_request r = { 0 };
	int failed = credential_apply(&edit, password, &r, &a, &scratch, e);

	proxy.login = buf_new(CREDENTIAL_ROOM);
	if (failed == 0) {
		(void)buf_reserve(&proxy.login, r.fields.v[0].value.n);
		buf_put(&proxy.login, r.fields.v[0].value);
		failed = buf_check(&proxy.login, "the proxy's login", e);
	}
	buf_wipe(&scratch);
	return failed;
}

void tunnel_login(const struct msg_LEASE *m)
{
	struct err ignored;

	if (!proxy.awaits_login)
		return;
	proxy.awaits_login = false;
	proxy.refused = m->ok != 1 || make_login(m->value, &ignored) < 0;
	channel_pause(&proxy.dial->resolve, false);
}

int tunnel_init(struct dial *d, const struct msg_DIAL_START *m, struct err *e)
{
	/* The table bounds them. */
	if (m->proxy.n)
		memcpy(proxy.host, m->proxy.p, m->proxy.n);
	if (m->user.n == 0)
		return 0;
	if (!channel_is_open(&d->vault))
		return err_kind(e, ERR_PROTO, "malformed DIAL_START");
	memcpy(proxy.user, m->user.p, m->user.n);
	proxy.dial = d;
	proxy.awaits_login = true;
	channel_pause(&d->resolve, true);
	return 0;
}

void tunnel_free(struct tunnel *t)
{
	if (!t)
		return;
	buf_wipe(&t->head);
	buf_free(&t->answer);
	free(t);
}

static void put_place(struct buf *b, const struct upstream *u,
		      struct sv address)
{
	if (address.n)
		buf_put(b, address);
	else
		buf_printf(b, "%s:%u", u->host, u->port);
}

int tunnel_begin(struct upstream *u, struct sv address, struct err *e)
{
	struct tunnel *t;

	if (proxy.refused)
		return err_kind(e, ERR_DENIED, "the login for the proxy is not "
				"available");
	t = calloc(1, sizeof *t);
	if (!t)
		return err_sys(e, "allocate a tunnel");
	u->tunnel = t;
	t->answer = buf_new(ANSWER_MAX);
	t->head = buf_new(HEAD_MAX);
	/* At once: a buffer that moves leaves a copy of the login behind. */
	(void)buf_reserve(&t->head, proxy.login.n + 1024);
	buf_puts(&t->head, "CONNECT ");
	put_place(&t->head, u, address);
	buf_puts(&t->head, " HTTP/1.1\r\nhost: ");
	put_place(&t->head, u, address);
	if (proxy.login.n) {
		buf_puts(&t->head, "\r\nproxy-authorization: ");
		buf_put(&t->head, buf_sv(&proxy.login));
	}
	buf_puts(&t->head, "\r\n\r\n");
	return buf_check(&t->head, "the request to the proxy", e);
}

static enum upstream_status fail(struct err *e, const char *what)
{
	(void)err_kind(e, ERR_PROTO, "the proxy %s %s", proxy.host, what);
	return UPSTREAM_FAILED;
}

static enum upstream_status ask(struct upstream *u, struct err *e)
{
	struct tunnel *t = u->tunnel;

	while (t->written < t->head.n) {
		struct sv rest = sv_from(buf_sv(&t->head), t->written);
		ssize_t n = send(u->fd, rest.p, rest.n,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return UPSTREAM_AGAIN;
		if (n < 0 && errno != EINTR)
			return fail(e, "closed the connection");
		t->written += n < 0 ? 0 : (size_t)n;
	}
	buf_wipe(&t->head);
	t->written = 0;
	return UPSTREAM_OK;
}

/* 2xx, and nothing that could be read as a body. */
static enum upstream_status judge(const struct http_response *r, struct err *e)
{
	bool sent = proxy.login.n > 0;

	if (r->status == 407)
		return fail(e, sent ? "does not accept the login (407)" :
			    "wants a login (407)");
	if (r->status < 200 || r->status > 299) {
		(void)err_kind(e, ERR_DENIED, "the proxy %s refused the "
			       "connection (%u)", proxy.host, r->status);
		return UPSTREAM_FAILED;
	}
	if (r->body == HTTP_BODY_CHUNKED ||
	    (r->body == HTTP_BODY_LENGTH && r->length))
		return fail(e, "answered with a body");
	return UPSTREAM_OK;
}

/* Takes n bytes that were looked at. */
static bool consume(struct upstream *u, char *p, size_t n)
{
	return n == 0 || recv(u->fd, p, n, MSG_DONTWAIT) == (ssize_t)n;
}

static enum upstream_status hear(struct upstream *u, struct err *e)
{
	struct buf *b = &u->tunnel->answer;
	auto_arena struct arena a = arena_new(4 * HTTP_HEAD_MAX);
	struct h1_response r;
	char seen[ANSWER_MAX];
	size_t before = b->n;
	ssize_t got = recv(u->fd, seen, ANSWER_MAX - before,
			   MSG_PEEK | MSG_DONTWAIT);
	ssize_t n;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return UPSTREAM_AGAIN;
	if (got <= 0)
		return fail(e, "closed the connection");
	buf_put(b, sv_of(seen, (size_t)got));
	if (buf_check(b, "the proxy's answer", e) < 0)
		return UPSTREAM_FAILED;
	n = h1_parse_response(buf_sv(b), SV("CONNECT"), &a, &r);
	if (n == H1_BAD)
		return fail(e, "does not answer as an HTTP proxy");
	if (!consume(u, seen, n > 0 ? (size_t)n - before : (size_t)got))
		return fail(e, "closed the connection");
	if (n > 0)
		return judge(&r.response, e);
	if (b->n == ANSWER_MAX)
		return fail(e, "answers without an end");
	return UPSTREAM_AGAIN;
}

static bool has_more(const struct upstream *u)
{
	char c;

	return recv(u->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

enum upstream_status tunnel_run(struct upstream *u, bool opaque, struct err *e)
{
	enum upstream_status s;

	if (!u->tunnel)
		return UPSTREAM_OK;
	s = u->tunnel->head.n ? ask(u, e) : UPSTREAM_OK;
	if (s == UPSTREAM_AGAIN) {
		upstream_await(u, false, true);
		return s;
	}
	if (s == UPSTREAM_OK)
		s = hear(u, e);
	if (s == UPSTREAM_AGAIN)
		upstream_await(u, true, false);
	/* It would be taken for the origin's answer. */
	if (s == UPSTREAM_OK && !opaque && has_more(u))
		s = fail(e, "sent something behind its answer");
	if (s == UPSTREAM_OK) {
		tunnel_free(u->tunnel);
		u->tunnel = NULL;
	}
	return s;
}
