/* SPDX-License-Identifier: Apache-2.0 */
/* WebSockets: see websocket.h. */
#include "websocket.h"

#include "base64.h"
#include "field.h"

enum { OPCODE_CLOSE = 8, LENGTH_16 = 126, LENGTH_64 = 127 };

void websocket_drop(struct http_fields *f, struct sv name)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++)
		if (!sv_eq(f->v[i].name, name))
			f->v[kept++] = f->v[i];
	f->n = kept;
}

/* The only field of that name; .p NULL: there is none, or more. */
static struct sv only(const struct http_fields *f, struct sv name)
{
	struct sv found = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (!sv_eq(f->v[i].name, name))
			continue;
		found = f->v[i].value;
		n++;
	}
	return n == 1 ? found : (struct sv){ 0 };
}

static bool is_key(struct sv key)
{
	auto_buf struct buf b = buf_new(WEBSOCKET_KEY);

	return key.n == WEBSOCKET_KEY && buf_put_unbase64(&b, key) &&
	       b.n == 16;
}

const char *websocket_take(struct http_fields *f, bool needs_key,
			   struct sv *ret_key)
{
	if (!sv_eq(only(f, SV("sec-websocket-version")), SV("13")))
		return "a WebSocket of another version than 13";
	*ret_key = only(f, SV("sec-websocket-key"));
	if (needs_key && !is_key(*ret_key))
		return "the key of a WebSocket is not 16 bytes in base64";
	websocket_drop(f, SV("sec-websocket-version"));
	websocket_drop(f, SV("sec-websocket-key"));
	return NULL;
}

/* The name of an element, without its parameters. */
static struct sv name_of(struct sv item)
{
	return sv_trim(sv_head(item, sv_find(item, ';')));
}

/* Is it an element of the fields of that name?  whole: with its parameters. */
static bool is_among(const struct http_fields *f, struct sv name,
		     struct sv item, bool whole)
{
	for (size_t i = 0; i < f->n; i++) {
		struct sv rest = f->v[i].value, one;

		if (!sv_eq(f->v[i].name, name))
			continue;
		while (list_next(&rest, &one))
			if (whole ? sv_eq(one, item) :
				    sv_eq(name_of(one), name_of(item)))
				return true;
	}
	return false;
}

static bool all_among(const struct http_fields *request,
		      const struct http_fields *response, struct sv name,
		      bool is_protocol)
{
	size_t n = 0;

	for (size_t i = 0; i < response->n; i++) {
		struct sv rest = response->v[i].value, one;

		if (!sv_eq(response->v[i].name, name))
			continue;
		/* A protocol is one token, and not a list of them. */
		if (is_protocol && (n++ || !is_token(rest)))
			return false;
		while (list_next(&rest, &one))
			if (!is_among(request, name, one, is_protocol))
				return false;
	}
	return true;
}

bool websocket_is_offered(const struct http_fields *request,
			  const struct http_fields *response)
{
	return all_among(request, response, SV("sec-websocket-protocol"),
			 true) &&
	       all_among(request, response, SV("sec-websocket-extensions"),
			 false);
}

static size_t head_size(const struct websocket_frames *f)
{
	uint8_t length;

	if (f->head_n < 2)
		return 2;
	length = f->head[1] & 0x7f;
	return length == LENGTH_64 ? 10 : length == LENGTH_16 ? 4 : 2;
}

/* A server masks nothing (RFC 6455, 5.1); what bits and codes mean that are not
 * defined is unknown without an extension. */
static bool head_is_good(struct websocket_frames *f)
{
	uint8_t opcode = f->head[0] & 0x0f, length = f->head[1] & 0x7f;
	bool is_control = opcode >= OPCODE_CLOSE;

	if (f->head[1] & 0x80 || (length == LENGTH_64 && f->head[2] & 0x80))
		return false;
	if (!f->extended && (f->head[0] & 0x70 || (opcode & 7) > 2))
		return false;
	return !is_control || (f->head[0] & 0x80 && length < LENGTH_16);
}

static void head_take(struct websocket_frames *f)
{
	f->left = f->head[1] & 0x7f;
	if (f->head_n > 2)
		f->left = 0;
	for (size_t i = 2; i < f->head_n; i++)
		f->left = f->left << 8 | f->head[i];
	f->is_control = (f->head[0] & 0x0f) >= OPCODE_CLOSE;
	f->is_last = f->head[0] & 0x80;
	f->closes = (f->head[0] & 0x0f) == OPCODE_CLOSE;
	f->closed = f->closes && f->left == 0;
}

enum websocket_piece websocket_next(struct websocket_frames *f, struct sv *in,
				    struct sv *piece)
{
	if (in->n == 0)
		return WEBSOCKET_MORE;
	if (f->closed)
		return WEBSOCKET_BAD;
	if (f->left) {
		*piece = sv_head(*in, f->left < in->n ? (size_t)f->left :
							in->n);
		*in = sv_from(*in, piece->n);
		f->left -= piece->n;
		f->closed = f->closes && f->left == 0;
		return WEBSOCKET_DATA;
	}
	if (f->head_n && f->head_n == head_size(f))
		f->head_n = 0;	/* the frame before */
	while (in->n && f->head_n < head_size(f)) {
		f->head[f->head_n++] = (uint8_t)in->p[0];
		*in = sv_from(*in, 1);
	}
	if (f->head_n < head_size(f))
		return WEBSOCKET_MORE;
	if (!head_is_good(f))
		return WEBSOCKET_BAD;
	head_take(f);
	*piece = sv_of((const char *)f->head, f->head_n);
	return WEBSOCKET_HEAD;
}
