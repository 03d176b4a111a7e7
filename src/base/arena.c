/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: see arena.h. */
#include "arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <sys/mman.h>

struct arena_block {
	struct arena_block *next;
	size_t n, cap;
	alignas(max_align_t) char bytes[];
};

enum { ARENA_BLOCK = 4000 };

int arena_new_shared(size_t max, struct arena *ret, struct err *e)
{
	struct arena_block *block;
	size_t n = sizeof *block + max;

	/* Memory is used by the page that is touched, not by the maximum. */
	block = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED |
		     MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block == MAP_FAILED)
		return err_sys(e, "map shared memory");
	block->cap = max;
	*ret = (struct arena){ .head = block, .max = max, .shared = true };
	return 0;
}

void arena_free(struct arena *a)
{
	if (a->shared && a->head)
		(void)munmap(a->head, sizeof *a->head + a->head->cap);
	while (a->head && !a->shared) {
		struct arena_block *block = a->head;

		a->head = block->next;
		free(block);
	}
	a->head = NULL;
	a->used = 0;
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *block = a->head;
	char *at;

	if (n > SIZE_MAX - alignof(max_align_t))
		return NULL;
	n = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (a->used > a->max || n > a->max - a->used)
		return NULL;
	if (a->shared && (!block || n > block->cap - block->n))
		return NULL;
	if (!block || n > block->cap - block->n) {
		size_t cap = n > ARENA_BLOCK ? n : ARENA_BLOCK;

		block = malloc(sizeof *block + cap);
		if (!block)
			return NULL;
		block->next = a->head;
		block->n = 0;
		block->cap = cap;
		a->head = block;
	}
	at = block->bytes + block->n;
	block->n += n;
	a->used += n;
	if (!a->shared)		/* fresh pages are zero */
		memset(at, 0, n);
	return at;
}

struct sv arena_dup(struct arena *a, struct sv v)
{
	char *p = arena_alloc(a, v.n + 1);

	if (!p)
		return (struct sv){ 0 };
	if (v.n)
		memcpy(p, v.p, v.n);
	return sv_of(p, v.n);
}

const char *arena_str(struct arena *a, struct sv v)
{
	return arena_dup(a, v).p;
}

void *arena_push_(struct arena *a, void **items, size_t *n, size_t *cap,
		  size_t size)
{
	if (*n == *cap) {
		size_t more = *cap ? *cap * 2 : 8;
		void *grown = more > SIZE_MAX / size ?
				      NULL : arena_alloc(a, more * size);

		if (!grown)
			return NULL;
		if (*n)
			memcpy(grown, *items, *n * size);
		*items = grown;
		*cap = more;
	}
	return (char *)*items + (*n)++ * size;
}
