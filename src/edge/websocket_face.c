/* SPDX-License-Identifier: Apache-2.0 */
/* A WebSocket over HTTP/1: see websocket_face.h. */
#include "websocket_face.h"

#include "h1_response.h"
#include "relay_face.h"
#include "websocket_key.h"

/* The fields, and one more: the accept value for the agent's key. */
static int add_accept(struct exchange *x, struct http_response *r,
		      struct err *e)
{
	struct http_fields *f = &r->fields;
	struct http_field *v = arena_alloc(&x->arena, (f->n + 1) * sizeof *v);
	char accept[WEBSOCKET_ACCEPT_SIZE];

	if (!v)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (websocket_accept(x->h1.websocket_key, accept, e) < 0)
		return -1;
	if (f->n)
		memcpy(v, f->v, f->n * sizeof *v);
	v[f->n] = (struct http_field){
		SV("sec-websocket-accept"),
		arena_dup(&x->arena, sv_of(accept, sizeof accept)),
	};
	if (!v[f->n].value.p)
		return err_kind(e, ERR_LIMIT, "out of memory");
	f->v = v;
	f->n++;
	return 0;
}

void websocket_begin(struct call *call, struct http_response *r)
{
	struct conn *c = call->conn;
	struct err ignored;

	if (add_accept(call->exchange, r, &ignored) < 0) {
		conn_abort(c);
		return;
	}
	h1_write_response_head(&c->out, r, true);
	c->face = &relay_face;
	conn_note_progress(c);
}
