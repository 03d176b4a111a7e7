/* SPDX-License-Identifier: Apache-2.0 */
/* Fields, edits and requests in messages: see head.h. */
#include "head.h"

#include "cur.h"

void head_put_fields(struct buf *b, const struct http_fields *f)
{
	for (size_t i = 0; i < f->n; i++) {
		buf_put_sv(b, f->v[i].name);
		buf_put_sv(b, f->v[i].value);
	}
}

int head_get_fields(struct sv bytes, struct arena *a, struct http_fields *ret,
		    struct err *e)
{
	struct cur c = cur_of(bytes);
	struct http_fields f = { 0 };
	size_t cap = 0;

	while (!c.bad && c.rest.n) {
		struct http_field *field;

		if (f.n == HTTP_FIELDS_MAX)
			return err_kind(e, ERR_PROTO, "too many fields");
		field = arena_push(a, &f.v, &f.n, &cap);
		if (!field)
			return err_kind(e, ERR_LIMIT, "out of memory");
		field->name = cur_sv(&c, HTTP_HEAD_MAX);
		field->value = cur_sv(&c, HTTP_HEAD_MAX);
	}
	if (c.bad)
		return err_kind(e, ERR_PROTO, "malformed fields");
	*ret = f;
	return 0;
}

void head_put_edit(struct buf *b, const struct edit *edit)
{
	buf_put_u8(b, (uint8_t)edit->form);
	buf_put_sv(b, edit->field);
	buf_put_sv(b, edit->placeholder);
	buf_put_sv(b, edit->prefix);
	buf_put_u32(b, edit->secret);
}

int head_get_edits(struct sv bytes, struct edit ret[EDITS_MAX], size_t *ret_n,
		   struct err *e)
{
	struct cur c = cur_of(bytes);
	size_t n = 0;

	while (!c.bad && c.rest.n) {
		struct edit *edit = &ret[n];

		if (n++ == EDITS_MAX)
			return err_kind(e, ERR_PROTO, "too many edits");
		edit->form = (enum edit_form)cur_u8(&c);
		edit->field = cur_sv(&c, 256);
		edit->placeholder = cur_sv(&c, 256);
		edit->prefix = cur_sv(&c, 256);
		edit->secret = cur_u32(&c);
		if (edit->form < EDIT_REPLACE || edit->form > EDIT_ADD_QUERY ||
		    edit->field.n == 0)
			c.bad = true;
	}
	if (c.bad)
		return err_kind(e, ERR_PROTO, "malformed edits");
	*ret_n = n;
	return 0;
}

void head_to_request(const struct http_request *r, uint32_t conn, uint32_t id,
		     struct buf *scratch, struct msg_REQUEST *ret)
{
	buf_reset(scratch);
	head_put_fields(scratch, &r->fields);
	*ret = (struct msg_REQUEST){
		.conn = conn, .id = id, .scheme = (uint8_t)r->scheme,
		.host = r->host, .port = r->port, .method = r->method,
		.path = r->path, .has_query = r->has_query, .query = r->query,
		.fields = buf_sv(scratch), .body = (uint8_t)r->body,
		.length = r->length, .h2 = r->h2,
		.trailers = r->trailers, .upgrade = r->upgrade,
	};
}

int head_from_request(const struct msg_REQUEST *m, struct arena *a,
		      struct http_request *ret, struct err *e)
{
	struct http_request r = {
		.scheme = (enum http_scheme)m->scheme, .host = m->host,
		.port = m->port, .method = m->method, .path = m->path,
		.has_query = m->has_query == 1, .query = m->query,
		.body = (enum http_body)m->body, .length = m->length,
		.h2 = m->h2 == 1, .trailers = m->trailers == 1,
		.upgrade = m->upgrade == 1,
	};

	if ((m->scheme != HTTP_PLAIN && m->scheme != HTTP_TLS) ||
	    m->body > HTTP_BODY_CHUNKED || m->has_query > 1 ||
	    m->h2 > 1 || m->trailers > 1 || m->upgrade > 1 ||
	    (m->body != HTTP_BODY_LENGTH && m->length != 0))
		return err_kind(e, ERR_PROTO, "malformed request");
	if (head_get_fields(m->fields, a, &r.fields, e) < 0)
		return -1;
	*ret = r;
	return 0;
}

void head_exchange_of(const struct msg_REQUEST *m, struct msg_EXCHANGE *ret)
{
#define COPY_OUT(type, name, max) ret->name = m->name;
	WIRE_FIELDS_REQUEST(COPY_OUT)
}

void head_request_of(const struct msg_EXCHANGE *m, struct msg_REQUEST *ret)
{
#define COPY_BACK(type, name, max) ret->name = m->name;
	WIRE_FIELDS_REQUEST(COPY_BACK)
}
