/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors: see cur.h. */
#include "cur.h"

struct sv cur_bytes(struct cur *c, size_t n)
{
	struct sv v;

	if (c->bad || n > c->rest.n) {
		c->bad = true;
		return (struct sv){ 0 };
	}
	v = sv_head(c->rest, n);
	c->rest = sv_from(c->rest, n);
	return v;
}

static uint64_t cur_uint(struct cur *c, size_t size)
{
	struct sv v = cur_bytes(c, size);
	uint64_t value = 0;

	for (size_t i = v.n; i > 0; i--)
		value = value << 8 | (uint8_t)v.p[i - 1];
	return value;
}

uint8_t cur_u8(struct cur *c)
{
	return (uint8_t)cur_uint(c, 1);
}

uint16_t cur_u16(struct cur *c)
{
	return (uint16_t)cur_uint(c, 2);
}

uint32_t cur_u32(struct cur *c)
{
	return (uint32_t)cur_uint(c, 4);
}

uint64_t cur_u64(struct cur *c)
{
	return cur_uint(c, 8);
}

struct sv cur_sv(struct cur *c, size_t max)
{
	size_t n = cur_u32(c);

	if (n > max) {
		c->bad = true;
		return (struct sv){ 0 };
	}
	return cur_bytes(c, n);
}

static void put_uint(struct buf *b, uint64_t v, size_t size)
{
	char bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(v >> (8 * i) & 0xff);
	buf_put(b, sv_of(bytes, size));
}

void buf_put_u8(struct buf *b, uint8_t v)
{
	put_uint(b, v, 1);
}

void buf_put_u16(struct buf *b, uint16_t v)
{
	put_uint(b, v, 2);
}

void buf_put_u32(struct buf *b, uint32_t v)
{
	put_uint(b, v, 4);
}

void buf_put_u64(struct buf *b, uint64_t v)
{
	put_uint(b, v, 8);
}

void buf_put_sv(struct buf *b, struct sv v)
{
	if (v.n > UINT32_MAX) {
		b->full = true;
		return;
	}
	buf_put_u32(b, (uint32_t)v.n);
	buf_put(b, v);
}
