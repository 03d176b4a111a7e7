/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The explicit proxy, for clients that are configured for one: see proxy.h.
 *
 * CONNECT is answered before anything was decided: the requests inside are
 * decided one by one, and a refusal inside TLS is one that the client shows.
 * What follows is TLS or HTTP, as on a connection that was captured, and its
 * server name and every Host must be the name that CONNECT gave.  Clients open
 * a WebSocket without TLS that way.
 *
 * The requests of one connection may be for different hosts.  Its call then gets
 * another number for each, since a stream to dial belongs to one origin.
 */
#include "proxy.h"

#include "relay_face.h"

/* What was asked before was for another host, or in the clear. */
static int aim(struct call *call)
{
	const struct http_request *r = &call->exchange->request;

	if (call->last_id)
		call_renumber(call);
	return conn_set_host(call->conn, r->host, r->port);
}

void proxy_connect(struct call *call)
{
	struct conn *c = call->conn;

	if (c->in.n) {
		/* They could not be handed to TLS, and nobody needs to. */
		call_refuse(call, 400, SV("bytes behind a CONNECT before its"
					  " answer"));
		conn_finish(c);
		return;
	}
	if (aim(call) < 0) {
		conn_abort(c);
		return;
	}
	call_rest(call);
	c->tunnel = true;
	c->used = false;
	/* What the server may begin is answered when it is there. */
	if (relay_may_be(c, RELAY_TCP)) {
		c->connect = true;
		relay_ask(c, RELAY_TCP);
		return;
	}
	proxy_put_established(c);
	conn_set_state(c, CONN_OPENING);
}

void proxy_put_established(struct conn *c)
{
	/* Whatever the Connection field said: the tunnel has begun. */
	buf_puts(&c->out, "HTTP/1.1 200 Connection established\r\n\r\n");
}

int proxy_retarget(struct call *call)
{
	const struct http_request *r = &call->exchange->request;
	const struct conn *c = call->conn;

	if (sv_eq(r->host, conn_host(c)) && r->port == c->port)
		return 0;
	return aim(call);
}
