/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange that becomes a WebSocket: see upgrade.h. */
#include "upgrade.h"

#include "own.h"
#include "relay_exchange.h"
#include "websocket.h"

int upgrade_prepare(struct exchange *x, struct err *e)
{
	struct http_fields *f = &x->request.fields;
	struct http_field *v;

	if (!x->request.upgrade)
		return 0;
	v = arena_alloc(&x->arena, (f->n + 2) * sizeof *v);
	if (!v)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (websocket_make_key(x->websocket_key, e) < 0)
		return -1;
	if (x->n_edits)
		websocket_drop(f, SV("sec-websocket-extensions"));
	x->offered = *f;
	if (f->n)
		memcpy(v, f->v, f->n * sizeof *v);
	v[f->n] = (struct http_field){ SV("sec-websocket-version"), SV("13") };
	v[f->n + 1] = (struct http_field){
		SV("sec-websocket-key"),
		sv_of(x->websocket_key, sizeof x->websocket_key),
	};
	*f = (struct http_fields){ v, f->n + 2 };
	return 0;
}

static int check(const struct exchange *x, const struct http_response *r,
		 struct err *e)
{
	const char *host = x->upstream->host;
	char accept[WEBSOCKET_ACCEPT_SIZE];
	size_t n = 0;

	if (websocket_accept(sv_of(x->websocket_key, sizeof x->websocket_key),
			     accept, e) < 0)
		return -1;
	for (size_t i = 0; i < r->fields.n; i++)
		if (sv_eq(r->fields.v[i].name, SV("sec-websocket-accept")))
			n += sv_eq(r->fields.v[i].value,
				   sv_of(accept, sizeof accept)) ? 1 : 2;
	if (n != 1)
		return err_kind(e, ERR_PROTO, "%s switched to a WebSocket with "
				"another key than it was sent", host);
	if (!websocket_is_offered(&x->offered, &r->fields))
		return err_kind(e, ERR_PROTO, "%s chose a protocol or an "
				"extension of a WebSocket that it was not "
				"offered", host);
	return 0;
}

static int send_head(struct exchange *x, struct http_response *r,
		     struct err *e)
{
	auto_buf struct buf fields = buf_new(HTTP_HEAD_MAX);
	struct msg m = { .kind = MSG_RESPONSE };

	if (x->scrub &&
	    scrub_fields(x->scrub, &r->fields, &x->in.arena, e) < 0)
		return -1;
	head_put_fields(&fields, &r->fields);
	if (buf_check(&fields, "the response's head", e) < 0)
		return -1;
	m.RESPONSE = (struct msg_RESPONSE){
		.id = x->id, .status = r->status, .fields = buf_sv(&fields),
		.body = HTTP_BODY_CLOSE };
	if (channel_send(&x->stream->edge, &m, e) < 0)
		return -1;
	x->responded = true;
	return 0;
}

int upgrade_switch(struct exchange *x, struct sv rest, struct err *e)
{
	struct http_response *r = &x->in.response;
	bool extended = http_field_get(&r->fields,
				       SV("sec-websocket-extensions")).p;
	struct relay *relay;

	outgoing_release_head(&x->out);
	if (check(x, r, e) < 0 || send_head(x, r, e) < 0)
		return -1;
	relay = relay_of_websocket(x->stream, x->id, &x->allowance,
				   x->upstream, e);
	if (!relay)
		return -1;
	x->upstream = NULL;
	relay->frames.extended = extended;
	if (x->scrub) {
		relay->mask = websocket_mask_new(x->scrub, e);
		if (!relay->mask) {
			relay_free(relay);
			return -1;
		}
		x->scrub = NULL;
		for (size_t i = 0; i < x->n_edits; i++)
			relay->secrets[relay->n_secrets++] = x->edits[i].secret;
	}
	if (relay_received(relay, rest, e) == 0)
		return 0;
	relay_free(relay);
	return -1;
}
