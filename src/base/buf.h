/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing buffer with a maximum that it is born with.
 *
 * Appending past the maximum, or without memory, sets the sticky flag `full`
 * and leaves the contents as they were; every later append does nothing.  So
 * a sequence of appends needs one check, at its end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "err.h"
#include "sv.h"

struct buf {
	char *p;	/* owned */
	size_t n;	/* bytes in use */
	size_t cap;
	size_t max;	/* n never exceeds it */
	bool full;	/* an append did not fit */
};

/* A buffer of at most max bytes; nothing is allocated yet. */
static inline struct buf buf_new(size_t max)
{
	return (struct buf){ .max = max };
}

/* A buffer of at most max bytes in p, which is the caller's and has room for that
 * and a NUL: neither grown nor freed. */
static inline struct buf buf_of(char *p, size_t max)
{
	return (struct buf){ .p = p, .cap = max + 1, .max = max };
}

void buf_free(struct buf *b);	/* also makes it empty; accepts a zeroed one */
void buf_wipe(struct buf *b);	/* overwrites the memory, then frees it */
#define auto_buf __attribute__((cleanup(buf_free)))

static inline struct sv buf_sv(const struct buf *b)
{
	return sv_of(b->p, b->n);
}

/* Room for n more bytes at the end, or NULL; does not change b->n. */
char *buf_reserve(struct buf *b, size_t n);
void buf_put(struct buf *b, struct sv v);
void buf_putc(struct buf *b, char c);
void buf_puts(struct buf *b, const char *s);
void buf_put_decimal(struct buf *b, uint64_t v);
/* As a part of a URL: %XX, but for what a URL never needs to encode. */
void buf_put_percent(struct buf *b, struct sv v);
void buf_printf(struct buf *b, const char *fmt, ...) printf_like(2, 3);
/* Drops the first n bytes (at most b->n). */
void buf_consume(struct buf *b, size_t n);
/* Empties it, keeps the memory, clears `full`. */
void buf_reset(struct buf *b);
/* -1 and ERR_LIMIT when something did not fit. */
must_check int buf_check(const struct buf *b, const char *what, struct err *e);
/* A NUL after the contents, not counted; NULL when there is no room. */
const char *buf_cstr(struct buf *b);

#endif
