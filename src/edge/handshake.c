/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on a connection of the agent: see handshake.h.
 *
 * The name of the connection is what CONNECT or the synthetic address said; a
 * server name in the ClientHello must be that very name.  It is the host of
 * every request that follows.  The handshake then waits until vault has signed
 * a certificate for it.
 *
 * A literal address has no name.  Without a server name there is nothing to
 * answer with, and the handshake is refused; with one, the client gets a
 * certificate for it, so that it can read why its requests are refused.
 */
#include "handshake.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include "h1_face.h"
#include "h2_face.h"
#include "relay_face.h"
#include "server.h"
#include "target.h"

void handshake_start(struct conn *c)
{
	struct err e = { 0 };

	c->tls = tls_server_accept(c->edge->tls, c->watch.fd, &e);
	if (!c->tls) {
		conn_abort(c);
		return;
	}
	conn_set_state(c, CONN_HANDSHAKE);
}

static void refuse(struct conn *c, enum tls_alert alert, struct sv reason)
{
	conn_refused(c, reason);
	tls_refuse(c->tls, alert);
}

/* Why there is no certificate; the next step says so. */
enum no_cert { HAS_CERT = 0, NOT_SIGNED, NOT_USABLE, NO_VAULT };

static void refuse_unsigned(struct conn *c)
{
	switch ((enum no_cert)c->no_cert) {
	case NOT_SIGNED:
		refuse(c, TLS_ALERT_ACCESS_DENIED,
		       SV("no certificate is signed for that name"));
		break;
	case NOT_USABLE:
		refuse(c, TLS_ALERT_INTERNAL_ERROR,
		       SV("the signed certificate is unusable"));
		break;
	case NO_VAULT:
	case HAS_CERT:
		refuse(c, TLS_ALERT_INTERNAL_ERROR,
		       SV("no certificate: vault does not answer"));
		break;
	}
	c->no_cert = HAS_CERT;
}

static void on_unsigned(struct conn *c, enum no_cert why)
{
	c->wait_cert = false;
	c->no_cert = (uint8_t)why;
}

static void ask_vault(struct conn *c)
{
	struct msg m = { .kind = MSG_SIGN };
	struct err e = { 0 };

	/* One question for a name that is asked for already. */
	for (struct conn *o = c->edge->conns; o; o = o->next)
		if (o->wait_cert && o != c &&
		    sv_eq(conn_host(o), conn_host(c))) {
			c->wait_cert = true;
			return;
		}
	c->wait_cert = true;
	m.SIGN.name = conn_host(c);
	if (channel_send(&c->edge->vault, &m, &e) < 0)
		on_unsigned(c, NO_VAULT);
}

/* A literal address is for the server name, as far as the record goes. */
static int take_name(struct conn *c, struct sv name)
{
	if (conn_set_host(c, name, c->dest.port) == 0)
		return 0;
	conn_abort(c);
	return -1;
}

/* The ClientHello was read: whose certificate is wanted? */
static void choose_certificate(struct conn *c)
{
	char text[HTTP_HOST_MAX];
	struct sv sni = tls_sni(c->tls), name = { 0 };

	if (sni.n && (host_canonical(sni, text, &name) ||
		      host_is_literal(name) || name.n != sni.n)) {
		refuse(c, TLS_ALERT_UNRECOGNIZED_NAME,
		       SV("the TLS server name is not a host name"));
		return;
	}
	if (!c->edge->intercept) {
		if (name.n && !c->host_n && take_name(c, name) < 0)
			return;
		refuse(c, TLS_ALERT_ACCESS_DENIED,
		       SV("no rule allows any TLS request"));
		return;
	}
	if (!c->host_n && !name.n) {
		refuse(c, TLS_ALERT_ACCESS_DENIED,
		       SV("a literal address is never dialled; use a host"
			  " name"));
		return;
	}
	if (!c->host_n && take_name(c, name) < 0)
		return;
	if (name.n && !sv_eq(name, conn_host(c))) {
		refuse(c, TLS_ALERT_UNRECOGNIZED_NAME,
		       SV("the TLS server name is another than the name that"
			  " was connected to"));
		return;
	}
	if (!tls_use_cached(c->tls, conn_host(c)))
		ask_vault(c);
}

void handshake_note_distrust(struct conn *c)
{
	if (tls_is_distrusted(c->tls))
		relay_suggest(c, RELAY_TLS, "the client does not trust the"
			      " sandbox's certificate: it pins one or brings its"
			      " own roots");
	else if (tls_is_doubted(c->tls))
		relay_suggest(c, RELAY_TLS, "the client hung up on the"
			      " sandbox's certificate: it may pin one or bring"
			      " its own roots");
}

static void failed(struct conn *c, const struct err *e)
{
	handshake_note_distrust(c);
	(void)e;
	conn_close(c);
}

/*
 * The client has the last word in TLS 1.3, and nothing of ours carries its
 * acknowledgement.  The kernel would delay that by 40 ms, and a client that
 * leaves Nagle's algorithm on its first request as long.
 */
static void acknowledge(struct conn *c)
{
	int one = 1;

	(void)setsockopt(c->watch.fd, IPPROTO_TCP, TCP_QUICKACK, &one,
			 sizeof one);
}

bool handshake_step(struct conn *c)
{
	struct err e = { 0 };

	if (c->wait_cert)
		return false;
	if (c->no_cert)
		refuse_unsigned(c);
	switch (tls_handshake(c->tls, &e)) {
	case TLS_OK:
		acknowledge(c);
		c->readable = true;
		if (!tls_is_h2(c->tls))
			conn_speak(c, &h1_face);
		else if (h2_start(c) < 0)
			conn_abort(c);
		else
			conn_speak(c, &h2_face);
		return true;
	case TLS_WANT_CERT:
		choose_certificate(c);
		return true;
	case TLS_WANT_READ:
		c->want_read = true;
		return false;
	case TLS_WANT_WRITE:
		c->want_write = true;
		return false;
	case TLS_EOF:
	case TLS_CUT:
	case TLS_FAILED:
		failed(c, &e);
		return true;
	}
	return false;
}

static void on_signed(struct conn *c, const struct msg_CERTIFICATE *m)
{
	struct err e = { 0 };

	c->wait_cert = false;
	if (m->der.n == 0)
		on_unsigned(c, NOT_SIGNED);
	else if (tls_use_certificate(c->tls, m->name, m->der, &e) < 0)
		on_unsigned(c, NOT_USABLE);
	conn_run(c);
}

/* What has a certificate goes on; warden knows, and answers. */
void handshake_on_vault_closed(struct channel *vault, const struct err *e)
{
	struct edge *g = container_of(vault, struct edge, vault);

	(void)e;
	for (struct conn *c = g->conns, *next; c; c = next) {
		next = c->next;
		if (!c->wait_cert)
			continue;
		on_unsigned(c, NO_VAULT);
		conn_run(c);
	}
}

int handshake_on_vault(struct channel *vault, struct msg *m, struct err *e)
{
	struct edge *g = container_of(vault, struct edge, vault);

	if (m->kind != MSG_CERTIFICATE)
		return err_kind(e, ERR_PROTO, "unexpected %s",
				msg_name(m->kind));
	for (struct conn *c = g->conns, *next; c; c = next) {
		next = c->next;
		if (c->wait_cert && sv_eq(conn_host(c), m->CERTIFICATE.name))
			on_signed(c, &m->CERTIFICATE);
	}
	return 0;
}
