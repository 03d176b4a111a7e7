/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor over bytes from outside: it cannot leave them.
 *
 * Reading past the end, or a length above the stated maximum, sets the sticky
 * flag `bad` and yields zeros; a decoder checks once, at its end.  Integers
 * are little-endian: both sides of a socket are this program on one machine,
 * but the bytes in a log or a corpus should not depend on it.
 */
#ifndef BASE_CUR_H
#define BASE_CUR_H

#include "buf.h"
#include "sv.h"

struct cur {
	struct sv rest;
	bool bad;
};

static inline struct cur cur_of(struct sv v)
{
	return (struct cur){ .rest = v };
}

struct sv cur_bytes(struct cur *c, size_t n);
uint8_t cur_u8(struct cur *c);
uint16_t cur_u16(struct cur *c);
uint32_t cur_u32(struct cur *c);
uint64_t cur_u64(struct cur *c);
/* A 32-bit length of at most max, then that many bytes (a view). */
struct sv cur_sv(struct cur *c, size_t max);
/* Nothing went wrong and nothing is left. */
static inline bool cur_done(const struct cur *c)
{
	return !c->bad && c->rest.n == 0;
}

void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_sv(struct buf *b, struct sv v);

#endif
