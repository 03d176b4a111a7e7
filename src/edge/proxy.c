/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The explicit proxy, for clients that are configured for one: see proxy.h.
 *
 * CONNECT is answered before anything was decided: the requests inside are
 * decided one by one, and a refusal inside TLS is one that the client shows.
 * Nothing but TLS follows, and its server name and every Host must be the name
 * that CONNECT gave.
 *
 * In absolute form the requests of one connection may be for different hosts.
 * Each host then counts as a connection of its own, since a stream to dial
 * belongs to one origin.
 */
#include "proxy.h"

#include "outbound.h"

void proxy_connect(struct conn *c)
{
	const struct http_request *r = &c->exchange->head.request;

	if (c->in.n) {
		/* They could not be handed to TLS, and nobody needs to. */
		outbound_refuse(c, 400, SV("bytes behind a CONNECT before its"
					   " answer"));
		conn_finish(c);
		return;
	}
	conn_set_host(c, r->host, r->port);
	exchange_free(c);
	c->tunnel = true;
	c->used = false;
	/* Whatever the Connection field said: the tunnel has begun. */
	buf_puts(&c->out, "HTTP/1.1 200 Connection established\r\n\r\n");
	conn_set_state(c, CONN_OPENING);
}

void proxy_retarget(struct conn *c)
{
	const struct http_request *r = &c->exchange->head.request;

	if (sv_eq(r->host, conn_host(c)) && r->port == c->port)
		return;
	if (c->last_id)
		conn_renumber(c);
	conn_set_host(c, r->host, r->port);
}
