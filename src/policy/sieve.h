/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first test of very many names against all that is looked for: cheap, never
 * wrong about what it keeps back, and for nearly every other name it says no.
 *
 * A name may be one of those looked for when its first two characters, or its
 * last two, are those of one.  A pattern that begins with a wildcard counts by
 * its end; one that has wildcards at both lets every name through.
 */
#ifndef POLICY_SIEVE_H
#define POLICY_SIEVE_H

#include <stdint.h>

#include "sv.h"

enum { SIEVE_BITS = 4096 };

/* Zeroed, it lets nothing through. */
struct sieve {
	bool all, has_ends;
	uint64_t begins[SIEVE_BITS / 64], ends[SIEVE_BITS / 64];
};

/* This very name. */
void sieve_add_name(struct sieve *s, struct sv name);
/* What this segment of a pattern matches (glob_match_segment()). */
void sieve_add_pattern(struct sieve *s, struct sv segment);

static inline unsigned sieve_place_(char outer, char inner)
{
	unsigned at = (unsigned)(unsigned char)outer << 4;

	return (at ^ (unsigned char)inner) % SIEVE_BITS;
}

static inline bool sieve_has_(const uint64_t *bits, unsigned at)
{
	return bits[at / 64] >> at % 64 & 1;
}

/* name is not empty, and ends with NUL. */
static inline bool sieve_lets_through(const struct sieve *s, const char *name)
{
	size_t n;

	if (s->all || sieve_has_(s->begins, sieve_place_(name[0], name[1])))
		return true;
	if (!s->has_ends)
		return false;
	n = strlen(name);
	return sieve_has_(s->ends, sieve_place_(name[n - 1], n > 1 ?
						name[n - 2] : '\0'));
}

#endif
