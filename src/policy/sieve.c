/* SPDX-License-Identifier: Apache-2.0 */
/* A first test of very many names: see sieve.h. */
#include "sieve.h"

static void set(uint64_t *bits, unsigned at)
{
	bits[at / 64] |= UINT64_C(1) << at % 64;
}

/* A ']' may end a class, and so is one too. */
static bool is_wild(char c)
{
	return c == '*' || c == '?' || c == '[' || c == ']';
}

/* inner stands next to outer; NUL when there is nothing. */
static void set_pair(uint64_t *bits, char outer, char inner)
{
	if (!is_wild(inner)) {
		set(bits, sieve_place_(outer, inner));
		return;
	}
	for (unsigned c = 0; c <= UINT8_MAX; c++)
		set(bits, sieve_place_(outer, (char)c));
}

void sieve_add_name(struct sieve *s, struct sv name)
{
	if (name.n)	/* no entry of a directory has none */
		set(s->begins, sieve_place_(name.p[0], name.n > 1 ?
					    name.p[1] : '\0'));
}

void sieve_add_pattern(struct sieve *s, struct sv p)
{
	if (p.n && !is_wild(p.p[0])) {
		set_pair(s->begins, p.p[0], p.n > 1 ? p.p[1] : '\0');
	} else if (p.n && !is_wild(p.p[p.n - 1])) {
		/* What the wildcard in front stands for may be nothing. */
		set_pair(s->ends, p.p[p.n - 1], p.p[p.n - 2]);
		s->has_ends = true;
	} else {
		s->all = true;
	}
}
