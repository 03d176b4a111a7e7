/* SPDX-License-Identifier: Apache-2.0 */
/* The messages: see bus.h. */
#include "bus.h"

enum {
	/* Fields of the header, "Header Fields". */
	FIELD_PATH = 1, FIELD_INTERFACE, FIELD_MEMBER, FIELD_ERROR_NAME,
	FIELD_REPLY_SERIAL, FIELD_DESTINATION, FIELD_SENDER, FIELD_SIGNATURE,
	CALL = 1, VERSION = 1,
	HEADER = 16,		/* up to and with the length of the fields */
};

static void align(struct buf *b, size_t n)
{
	while (b->n % n && !b->full)
		buf_putc(b, '\0');
}

static void put_le32(struct buf *b, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		buf_putc(b, (char)(value >> 8 * i & 0xff));
}

void bus_put_u32(struct buf *b, uint32_t value)
{
	align(b, 4);
	put_le32(b, value);
}

void bus_put_string(struct buf *b, struct sv text)
{
	bus_put_u32(b, (uint32_t)text.n);
	buf_put(b, text);
	buf_putc(b, '\0');
}

void bus_put_signature(struct buf *b, const char *signature)
{
	struct sv text = sv_str(signature);

	buf_putc(b, (char)text.n);
	buf_put(b, text);
	buf_putc(b, '\0');
}

size_t bus_begin_array(struct buf *b, size_t n)
{
	size_t at;

	bus_put_u32(b, 0);
	at = b->n;
	align(b, n);
	return at;
}

void bus_end_array(struct buf *b, size_t at, size_t n)
{
	/* Without the padding in front of the first element. */
	size_t first = (at + n - 1) / n * n;
	uint32_t length = (uint32_t)(b->n - first);

	for (int i = 0; i < 4 && !b->full; i++)
		b->p[at - 4 + (size_t)i] = (char)(length >> 8 * i & 0xff);
}

void bus_begin_struct(struct buf *b)
{
	align(b, 8);
}

/* A structure of a code and a variant. */
static void put_field(struct buf *b, int code, const char *type,
		      const char *text)
{
	bus_begin_struct(b);
	buf_putc(b, (char)code);
	bus_put_signature(b, type);
	if (type[0] == 'g')
		bus_put_signature(b, text);
	else
		bus_put_string(b, sv_str(text));
}

void bus_put_call(struct buf *b, const struct bus_call *call, uint32_t serial)
{
	size_t fields;

	buf_put(b, sv_of((char[]){ 'l', CALL, 0, VERSION }, 4));
	put_le32(b, (uint32_t)call->body.n);
	put_le32(b, serial);
	fields = bus_begin_array(b, 8);
	put_field(b, FIELD_PATH, "o", call->path);
	put_field(b, FIELD_DESTINATION, "s", call->destination);
	put_field(b, FIELD_INTERFACE, "s", call->interface);
	put_field(b, FIELD_MEMBER, "s", call->member);
	if (call->signature)
		put_field(b, FIELD_SIGNATURE, "g", call->signature);
	bus_end_array(b, fields, 8);
	align(b, 8);
	buf_put(b, call->body);
}

static uint32_t le32(struct sv v, size_t at)
{
	const unsigned char *p = (const unsigned char *)v.p + at;

	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

/* Cuts a value of n bytes, aligned, from v at *at. */
static bool take(struct sv v, size_t *at, size_t aligned, size_t n,
		 struct sv *ret)
{
	size_t from = (*at + aligned - 1) / aligned * aligned;

	if (from > v.n || n > v.n - from)
		return false;
	*ret = sv_of(v.p + from, n);
	*at = from + n;
	return true;
}

static bool take_u32(struct sv v, size_t *at, uint32_t *ret)
{
	struct sv bytes;

	if (!take(v, at, 4, 4, &bytes))
		return false;
	*ret = le32(bytes, 0);
	return true;
}

/* Its length comes first, and a NUL that is not counted last. */
static bool take_string(struct sv v, size_t *at, struct sv *ret)
{
	uint32_t n;
	struct sv end;

	return take_u32(v, at, &n) && take(v, at, 1, n, ret) &&
	       take(v, at, 1, 1, &end) && end.p[0] == '\0';
}

static bool take_signature(struct sv v, size_t *at, struct sv *ret)
{
	struct sv n, end;

	return take(v, at, 1, 1, &n) &&
	       take(v, at, 1, (unsigned char)n.p[0], ret) &&
	       take(v, at, 1, 1, &end) && end.p[0] == '\0';
}

/* One of the header; those that nobody asks for are passed over. */
static bool take_field(struct sv v, size_t *at, struct bus_message *ret,
		       struct sv *signature)
{
	struct sv code, type, text = { 0 };
	uint32_t number = 0;

	if (!take(v, at, 8, 1, &code) || !take_signature(v, at, &type))
		return false;
	if (sv_eq(type, SV("s")) || sv_eq(type, SV("o"))) {
		if (!take_string(v, at, &text))
			return false;
	} else if (sv_eq(type, SV("g"))) {
		if (!take_signature(v, at, &text))
			return false;
	} else if (!sv_eq(type, SV("u")) || !take_u32(v, at, &number)) {
		return false;
	}
	if (code.p[0] == FIELD_REPLY_SERIAL)
		ret->reply_to = number;
	if (code.p[0] == FIELD_ERROR_NAME)
		ret->error = text;
	if (code.p[0] == FIELD_SIGNATURE)
		*signature = text;
	return true;
}

long bus_parse(struct sv bytes, struct bus_message *ret)
{
	struct sv signature = { 0 }, head, body;
	size_t at = HEADER, fields, n;

	*ret = (struct bus_message){ 0 };
	if (bytes.n < HEADER)
		return 0;
	if (bytes.p[0] != 'l' || bytes.p[3] != VERSION ||
	    le32(bytes, 4) > BUS_MESSAGE_MAX ||
	    le32(bytes, 12) > BUS_MESSAGE_MAX)
		return -1;
	fields = HEADER + le32(bytes, 12);
	n = (fields + 7) / 8 * 8 + le32(bytes, 4);
	if (n > BUS_MESSAGE_MAX)
		return -1;
	if (bytes.n < n)
		return 0;
	ret->type = (uint8_t)bytes.p[1];
	head = sv_head(bytes, fields);
	while (at < fields)
		if (!take_field(head, &at, ret, &signature))
			return -1;
	body = sv_from(sv_head(bytes, n), (fields + 7) / 8 * 8);
	at = 0;
	if (sv_starts(signature, SV("s")) &&
	    !take_string(body, &at, &ret->text))
		return -1;
	return (long)n;
}
