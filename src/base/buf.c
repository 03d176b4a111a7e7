/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded buffers: see buf.h. */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUF_FIRST = 256 };

void buf_free(struct buf *b)
{
	free(b->p);
	*b = buf_new(b->max);
}

void buf_wipe(struct buf *b)
{
	if (b->p)
		explicit_bzero(b->p, b->cap);
	buf_free(b);
}

char *buf_reserve(struct buf *b, size_t n)
{
	size_t want, cap;
	char *p;

	if (b->full || n > b->max - b->n) {
		b->full = true;
		return NULL;
	}
	want = b->n + n;
	if (want <= b->cap && b->p)
		return b->p + b->n;
	cap = b->cap ? b->cap : BUF_FIRST;
	while (cap < want)
		cap = cap > b->max / 2 ? b->max : cap * 2;
	if (cap < want)
		cap = want;
	p = realloc(b->p, cap ? cap : 1);
	if (!p) {
		b->full = true;
		return NULL;
	}
	b->p = p;
	b->cap = cap;
	return p + b->n;
}

void buf_put(struct buf *b, struct sv v)
{
	char *at = buf_reserve(b, v.n);

	if (at && v.n) {
		memcpy(at, v.p, v.n);
		b->n += v.n;
	}
}

void buf_putc(struct buf *b, char c)
{
	buf_put(b, sv_of(&c, 1));
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, sv_str(s));
}

void buf_put_decimal(struct buf *b, uint64_t v)
{
	char digits[20];
	size_t n = 0;

	do {
		digits[sizeof digits - ++n] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	buf_put(b, sv_of(digits + sizeof digits - n, n));
}

void buf_put_percent(struct buf *b, struct sv v)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < v.n; i++) {
		uint8_t c = (uint8_t)v.p[i];
		const char escape[] = { '%', digits[c >> 4], digits[c & 15] };

		buf_put(b, is_unreserved(v.p[i]) ? sv_of(&v.p[i], 1) :
						   sv_of(escape, sizeof escape));
	}
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	size_t end = b->cap < b->max ? b->cap : b->max;
	size_t room = b->full || !b->p || end < b->n ? 0 : end - b->n;
	va_list ap;
	char *at;
	int n;

	/* Mostly there is room, and it is written at once. */
	va_start(ap, fmt);
	n = vsnprintf(room ? b->p + b->n : NULL, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < room) {
		b->n += (size_t)n;
		return;
	}
	/* One more byte for the NUL that vsnprintf insists on. */
	at = n < 0 ? NULL : buf_reserve(b, (size_t)n + 1);
	if (!at) {
		b->full = true;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(at, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n >= b->n) {
		b->n = 0;
		return;
	}
	memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
}

void buf_reset(struct buf *b)
{
	b->n = 0;
	b->full = false;
}

int buf_check(const struct buf *b, const char *what, struct err *e)
{
	if (b->full)
		return err_kind(e, ERR_LIMIT, "%s exceeds %zu bytes", what,
				b->max);
	return 0;
}

const char *buf_cstr(struct buf *b)
{
	char *at;

	/* The NUL may lie past the maximum: it is not content. */
	b->max++;
	at = buf_reserve(b, 1);
	b->max--;
	if (!at)
		return NULL;
	*at = '\0';
	return b->p;
}
