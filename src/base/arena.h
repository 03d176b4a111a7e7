/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: allocations that live and die together, up to a maximum.
 *
 * One per request and one per policy.  Hitting the maximum gives NULL, which
 * the caller reports as ERR_LIMIT; it never aborts.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>

#include "err.h"
#include "sv.h"

struct arena_block;

struct arena {
	struct arena_block *head;	/* owned list, newest first */
	size_t used;			/* bytes handed out so far */
	size_t max;
	bool shared;			/* one mapping, not blocks of malloc() */
};

static inline struct arena arena_new(size_t max)
{
	return (struct arena){ .max = max };
}

/*
 * At the same address in every process that is forked from now on, which sees
 * what is written there: one of them writes, and the others are told when.
 */
must_check int arena_new_shared(size_t max, struct arena *ret, struct err *e);

void arena_free(struct arena *a);	/* everything that it handed out */
#define auto_arena __attribute__((cleanup(arena_free)))

/* Zeroed, aligned for any type; NULL at the maximum or without memory. */
void *arena_alloc(struct arena *a, size_t n);
/* A copy of v with a NUL behind it (not counted); .p is NULL on failure. */
struct sv arena_dup(struct arena *a, struct sv v);
const char *arena_str(struct arena *a, struct sv v);

#define arena_make(a, type) ((type *)arena_alloc((a), sizeof(type)))

/*
 * A growing array in the arena: room for one more element, zeroed, or NULL.
 * The old copy of an array that has grown stays until the arena is freed.
 */
void *arena_push_(struct arena *a, void **items, size_t *n, size_t *cap,
		  size_t size);
#define arena_push(a, items, n, cap)                                     \
	((__typeof__(*(items)))arena_push_((a), (void **)(items), (n), (cap), \
					   sizeof(**(items))))

#endif
