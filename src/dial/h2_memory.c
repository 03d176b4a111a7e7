/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for nghttp2 that is wiped when it is given back: see h2_origin.h.
 *
 * It copies the fields of requests, and frees the copies when they are sent.
 * Each block knows its size, which stands before it.
 */
#include "h2_memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Keeps what follows aligned for anything. */
union block {
	size_t n;
	max_align_t align;
};

static void *take(size_t n, void *unused)
{
	union block *b;

	(void)unused;
	if (n > SIZE_MAX - sizeof *b)
		return NULL;
	b = calloc(1, sizeof *b + n);
	if (!b)
		return NULL;
	b->n = n;
	return b + 1;
}

static void give(void *p, void *unused)
{
	union block *b = p;

	(void)unused;
	if (!b)
		return;
	b--;
	explicit_bzero(b + 1, b->n);
	free(b);
}

static void *take_array(size_t n, size_t size, void *unused)
{
	return size && n > SIZE_MAX / size ? NULL : take(n * size, unused);
}

static void *resize(void *p, size_t n, void *unused)
{
	const union block *b = p;
	void *grown = take(n, unused);

	if (!grown || !b)
		return grown;
	b--;
	memcpy(grown, p, b->n < n ? b->n : n);
	give(p, unused);
	return grown;
}

nghttp2_mem *h2_memory(void)
{
	static nghttp2_mem mem = {
		.malloc = take, .free = give, .calloc = take_array,
		.realloc = resize,
	};

	return &mem;
}
