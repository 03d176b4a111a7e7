/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic addresses: see names.h.
 *
 * Names are kept in an array by number, and found through an open-addressed
 * table of numbers.  Both only grow, up to NAMES_MAX names and NAMES_BYTES of
 * text: an agent that asks for more gets no further address, and costs nobody
 * else anything.
 */
#include "names.h"

#include <stdlib.h>

#include "arena.h"
#include "own.h"

enum { NAMES_BYTES = 4 << 20, NAMES_FIRST = 64 };

struct names {
	struct arena text;
	struct sv *by_number;	/* owned; [0] stays empty */
	uint32_t n;		/* numbers in use, with 0 */
	uint32_t cap;		/* of by_number; a power of two */
	uint32_t *slots;	/* owned; 2 * cap of them, 0 is free */
};

static const uint8_t v6_prefix[8] = { 0xfd, 0x53, 0x74, 0x6f, 0x63, 0x6b };

static uint32_t hash(struct sv name)
{
	uint32_t h = 2166136261u;	/* FNV-1a */

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (uint8_t)name.p[i]) * 16777619u;
	return h;
}

/* The slot that holds name, or the free one where it belongs. */
static uint32_t *find_slot(const struct names *n, struct sv name)
{
	uint32_t mask = 2 * n->cap - 1;
	uint32_t at = hash(name) & mask;

	while (n->slots[at] && !sv_eq(n->by_number[n->slots[at]], name))
		at = (at + 1) & mask;
	return &n->slots[at];
}

/* false without memory; nothing has changed then. */
static bool grow(struct names *n)
{
	uint32_t cap = n->cap ? 2 * n->cap : NAMES_FIRST;
	uint32_t *slots = calloc(2 * (size_t)cap, sizeof *slots);
	struct sv *by_number = realloc(n->by_number, cap * sizeof *by_number);

	if (by_number)
		n->by_number = by_number;
	if (!by_number || !slots) {
		free(slots);
		return false;
	}
	free(n->slots);
	n->slots = slots;
	n->cap = cap;
	for (uint32_t i = 1; i < n->n; i++)
		*find_slot(n, by_number[i]) = i;
	return true;
}

struct names *names_new(struct err *e)
{
	struct names *n = calloc(1, sizeof *n);

	if (!n || !grow(n)) {
		(void)err_sys(e, "allocate the names");
		names_free(n);
		return NULL;
	}
	n->text = arena_new(NAMES_BYTES);
	n->by_number[0] = (struct sv){ 0 };
	n->n = 1;
	if (names_number(n, SV("proxy.stockade")) != NAMES_PROXY) {
		(void)err_kind(e, ERR_BUG, "proxy.stockade is not number 1");
		names_free(n);
		return NULL;
	}
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	arena_free(&n->text);
	free(n->by_number);
	free(n->slots);
	free(n);
}

bool name_is_localhost(struct sv name)
{
	return sv_eq(name, SV("localhost")) || sv_ends(name, SV(".localhost"));
}

uint32_t names_number(struct names *n, struct sv name)
{
	uint32_t *slot = find_slot(n, name);
	uint32_t known = *slot;
	struct sv copy;

	if (known)
		return known;
	if (n->n > NAMES_MAX)
		return 0;
	if (n->n == n->cap) {
		if (!grow(n))
			return 0;
		slot = find_slot(n, name);
	}
	copy = arena_dup(&n->text, name);
	if (!copy.p)
		return 0;
	n->by_number[n->n] = copy;
	*slot = n->n;
	return n->n++;
}

struct sv names_get(const struct names *n, uint32_t number)
{
	return number < n->n ? n->by_number[number] : (struct sv){ 0 };
}

void names_v4(uint32_t number, uint8_t ret[4])
{
	ret[0] = 198;
	ret[1] = (uint8_t)(18 + (number >> 16 & 1));
	ret[2] = (uint8_t)(number >> 8);
	ret[3] = (uint8_t)number;
}

void names_v6(uint32_t number, uint8_t ret[16])
{
	memset(ret, 0, 16);
	memcpy(ret, v6_prefix, sizeof v6_prefix);
	ret[13] = (uint8_t)(number >> 16);
	ret[14] = (uint8_t)(number >> 8);
	ret[15] = (uint8_t)number;
}

uint32_t names_of_v4(const uint8_t a[4])
{
	if (a[0] != 198 || (a[1] & 0xfe) != 18)
		return 0;
	return (uint32_t)(a[1] & 1) << 16 | (uint32_t)a[2] << 8 | a[3];
}

uint32_t names_of_v6(const uint8_t a[16])
{
	static const uint8_t zeros[5];

	if (memcmp(a, v6_prefix, sizeof v6_prefix) != 0 ||
	    memcmp(a + 8, zeros, sizeof zeros) != 0)
		return 0;
	return (uint32_t)a[13] << 16 | (uint32_t)a[14] << 8 | a[15];
}
