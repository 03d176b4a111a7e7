/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunked coding: see chunked.h.
 *
 * A state machine over bytes, except for data, which is taken as it comes.
 * Every state accepts exactly the bytes that RFC 9112 names, and once it has
 * met another it stays bad.
 */
#include "chunked.h"

#include "field.h"

enum state {
	SIZE = 0,		/* digits of a chunk's size */
	EXTENSION,		/* behind a ';' */
	ESCAPED,		/* behind a backslash in a quoted value */
	SIZE_LF,
	DATA,
	DATA_CR, DATA_LF,
	TRAILER,		/* at the start of a line behind the last chunk */
	TRAILER_LINE,
	TRAILER_LF,
	END_LF,
	END,
	BAD,
};

enum { SIZE_DIGITS_MAX = 16 };

static bool is_text(char c)
{
	return c == '\t' || ((uint8_t)c >= ' ' && c != 0x7f);
}

static unsigned on_size(struct chunked *c, char byte)
{
	int digit = hex_value(byte);

	if (digit >= 0) {
		/* A body beyond INT64_MAX is an attack on somebody's signed
		 * arithmetic. */
		if (c->digits++ == SIZE_DIGITS_MAX || c->left >> 59)
			return BAD;
		c->left = c->left << 4 | (uint64_t)digit;
		return SIZE;
	}
	if (c->digits == 0)
		return BAD;
	if (byte == ';')
		return EXTENSION;
	return byte == '\r' ? SIZE_LF : BAD;
}

static unsigned on_extension(struct chunked *c, char byte)
{
	if (c->state == ESCAPED)
		return is_text(byte) ? EXTENSION : BAD;
	if (byte == '\r')
		return c->quoted ? BAD : SIZE_LF;
	if (!is_text(byte))
		return BAD;
	if (byte == '"')
		c->quoted = !c->quoted;
	return byte == '\\' && c->quoted ? ESCAPED : EXTENSION;
}

/* A line of the trailers, which are dropped: only its shape matters. */
static unsigned on_trailer(struct chunked *c, char byte)
{
	if (c->state == TRAILER) {
		if (byte == '\r')
			return END_LF;
		c->in_name = true;
	}
	if (c->in_name) {
		if (byte != ':' || c->state == TRAILER)
			return is_token_char(byte) ? TRAILER_LINE : BAD;
		c->in_name = false;
		return TRAILER_LINE;
	}
	if (byte == '\r')
		return TRAILER_LF;
	return is_text(byte) ? TRAILER_LINE : BAD;
}

static unsigned on_size_end(struct chunked *c, char byte)
{
	c->digits = 0;
	c->dropped = 0;
	if (byte != '\n')
		return BAD;
	return c->left ? DATA : TRAILER;
}

/* One byte that is not data. */
static unsigned on_byte(struct chunked *c, char byte)
{
	switch ((enum state)c->state) {
	case SIZE:
		return on_size(c, byte);
	case EXTENSION:
	case ESCAPED:
		if (++c->dropped > CHUNK_EXTENSION_MAX)
			return BAD;
		return on_extension(c, byte);
	case SIZE_LF:
		return on_size_end(c, byte);
	case DATA_CR:
		return byte == '\r' ? DATA_LF : BAD;
	case DATA_LF:
		return byte == '\n' ? SIZE : BAD;
	case TRAILER:
	case TRAILER_LINE:
		if (++c->dropped > CHUNK_TRAILERS_MAX)
			return BAD;
		return on_trailer(c, byte);
	case TRAILER_LF:
		return byte == '\n' ? TRAILER : BAD;
	case END_LF:
		return byte == '\n' ? END : BAD;
	case DATA:
	case END:
	case BAD:
		break;
	}
	return BAD;
}

/* A byte of their lines, without the empty one. */
static bool is_in_trailers(const struct chunked *c, char byte)
{
	return c->state == TRAILER_LINE || c->state == TRAILER_LF ||
	       (c->state == TRAILER && byte != '\r');
}

enum chunked_result chunked_next(struct chunked *c, struct sv *in,
				 struct sv *data)
{
	while (c->state != END && c->state != BAD) {
		if (in->n == 0)
			return CHUNKED_MORE;
		if (c->state == DATA) {
			*data = sv_head(*in, c->left < in->n ? (size_t)c->left
							     : in->n);
			*in = sv_from(*in, data->n);
			c->left -= data->n;
			if (c->left == 0)
				c->state = DATA_CR;
			return CHUNKED_DATA;
		}
		if (c->trailers && is_in_trailers(c, in->p[0]))
			buf_putc(c->trailers, in->p[0]);
		c->state = on_byte(c, in->p[0]);
		*in = sv_from(*in, 1);
	}
	return c->state == END ? CHUNKED_END : CHUNKED_BAD;
}

void chunked_put(struct buf *b, struct sv data)
{
	if (data.n == 0)
		return;
	buf_printf(b, "%zx\r\n", data.n);
	buf_put(b, data);
	buf_put(b, SV("\r\n"));
}

void chunked_put_last(struct buf *b)
{
	buf_puts(b, "0\r\n\r\n");
}

void chunked_put_trailers(struct buf *b, const struct http_fields *f)
{
	buf_puts(b, "0\r\n");
	for (size_t i = 0; i < f->n; i++) {
		buf_put(b, f->v[i].name);
		buf_puts(b, ": ");
		buf_put(b, f->v[i].value);
		buf_puts(b, "\r\n");
	}
	buf_puts(b, "\r\n");
}
