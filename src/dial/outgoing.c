/* SPDX-License-Identifier: Apache-2.0 */
/* One request: see outgoing.h. */
#include "outgoing.h"

#include "chunked.h"
#include "cur.h"
#include "h1_response.h"
#include "target.h"

/* At least what the head will take. */
static size_t head_room(const struct http_request *r)
{
	size_t n = r->method.n + r->path.n + r->query.n + r->host.n + 512;

	for (size_t i = 0; i < r->fields.n; i++)
		n += r->fields.v[i].name.n + r->fields.v[i].value.n + 16;
	return n;
}

static int init(struct outgoing *o, const struct http_request *r,
		void (*write)(struct buf *b, const struct http_request *r),
		struct err *e)
{
	*o = (struct outgoing){
		.head = buf_new(OUTGOING_HEAD_MAX),
		.body = buf_new(OUTGOING_BODY_MAX),
		.framing = r->body,
		.left = r->body == HTTP_BODY_LENGTH ? r->length : 0,
		.ended = request_is_bare(r),
	};
	/* At once: a buffer that moves leaves a copy of a credential behind. */
	(void)buf_reserve(&o->head, head_room(r));
	write(&o->head, r);
	if (buf_check(&o->head, "the request's head", e) < 0) {
		buf_wipe(&o->head);
		return -1;
	}
	return 0;
}

int outgoing_init(struct outgoing *o, const struct http_request *r,
		  struct err *e)
{
	return init(o, r, h1_write_request, e);
}

static void put_field(struct buf *b, struct sv name, struct sv value)
{
	buf_put_sv(b, name);
	buf_put_sv(b, value);
}

static void put_list(struct buf *b, const struct http_request *r)
{
	auto_buf struct buf text = buf_new(HTTP_PATH_MAX + HTTP_QUERY_MAX + 1);

	put_field(b, SV(":method"), r->method);
	put_field(b, SV(":scheme"),
		  r->scheme == HTTP_TLS ? SV("https") : SV("http"));
	buf_put(&text, r->host);
	if (r->port != scheme_port(r->scheme))
		buf_printf(&text, ":%u", (unsigned)r->port);
	put_field(b, SV(":authority"), buf_sv(&text));
	buf_reset(&text);
	buf_put(&text, r->path);
	if (r->has_query)
		buf_putc(&text, '?');
	buf_put(&text, r->query);
	put_field(b, SV(":path"), buf_sv(&text));
	for (size_t i = 0; i < r->fields.n; i++)
		put_field(b, r->fields.v[i].name, r->fields.v[i].value);
	buf_reset(&text);
	buf_put_decimal(&text, r->length);
	if (r->body == HTTP_BODY_LENGTH)
		put_field(b, SV("content-length"), buf_sv(&text));
	if (r->trailers)
		put_field(b, SV("te"), SV("trailers"));
	b->full |= text.full;
}

int outgoing_init_bare(struct outgoing *o, const struct http_request *r,
		       struct err *e)
{
	if (init(o, r, put_list, e) < 0)
		return -1;
	o->bare = true;
	return 0;
}

void outgoing_fini(struct outgoing *o)
{
	buf_wipe(&o->head);
	buf_free(&o->body);
}

int outgoing_put(struct outgoing *o, struct sv data, struct err *e)
{
	if (o->ended)
		return err_kind(e, ERR_PROTO, "a body behind its end");
	o->begun = true;
	outgoing_release_head(o);
	switch (o->framing) {
	case HTTP_BODY_LENGTH:
		if (data.n > o->left)
			return err_kind(e, ERR_PROTO,
					"a body longer than announced");
		o->left -= data.n;
		buf_put(&o->body, data);
		break;
	case HTTP_BODY_CHUNKED:
		if (o->bare)
			buf_put(&o->body, data);
		else
			chunked_put(&o->body, data);
		break;
	case HTTP_BODY_NONE:
	case HTTP_BODY_CLOSE:
	default:
		return err_kind(e, ERR_PROTO, "a body where none was announced");
	}
	o->sent += data.n;
	return buf_check(&o->body, "a piece of the body", e);
}

int outgoing_end(struct outgoing *o, struct err *e)
{
	if (o->ended)
		return err_kind(e, ERR_PROTO, "a second end of the body");
	if (o->left)
		return err_kind(e, ERR_PROTO, "a body shorter than announced");
	o->ended = true;
	if (o->framing == HTTP_BODY_CHUNKED && !o->bare) {
		/* The last chunk is no more to be had again than the others. */
		o->begun = true;
		outgoing_release_head(o);
		chunked_put_last(&o->body);
	}
	return buf_check(&o->body, "the end of the body", e);
}

struct sv outgoing_pending(const struct outgoing *o)
{
	if (o->head_written < o->head.n)
		return sv_from(buf_sv(&o->head), o->head_written);
	return sv_from(buf_sv(&o->body), o->body_written);
}

void outgoing_wrote(struct outgoing *o, size_t n)
{
	if (o->head_written < o->head.n) {
		o->head_written += n;
		if (!o->keep_head)
			outgoing_release_head(o);
		return;
	}
	o->body_written += n;
	if (o->body_written == o->body.n) {
		buf_reset(&o->body);
		o->body_written = 0;
	}
}

bool outgoing_head_is_out(const struct outgoing *o)
{
	return o->head_written == o->head.n;
}

bool outgoing_is_complete(const struct outgoing *o)
{
	/* The end of a body of known length is told by its length alone. */
	return outgoing_pending(o).n == 0 && o->left == 0 &&
	       (o->ended || o->framing != HTTP_BODY_CHUNKED);
}

void outgoing_rewind(struct outgoing *o)
{
	o->head_written = 0;
}

void outgoing_release_head(struct outgoing *o)
{
	o->keep_head = false;
	if (!outgoing_head_is_out(o))
		return;
	buf_wipe(&o->head);
	o->head_written = 0;
}
