/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance (insert, delete, replace, swap of neighbours): nearest.h. */
#include "nearest.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance(struct sv a, struct sv b)
{
	size_t rows[3][NEAREST_MAX + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b.n; j++)
		above[j] = before[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t *free_row = before;

		row[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			size_t cost = a.p[i - 1] != b.p[j - 1];

			row[j] = least(above[j - 1] + cost,
				       least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] &&
			    a.p[i - 2] == b.p[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = free_row;
	}
	return above[b.n];
}

void nearest_offer(struct nearest *n, struct sv candidate)
{
	size_t d;

	if (n->word.n == 0 || n->word.n > NEAREST_MAX ||
	    candidate.n > NEAREST_MAX)
		return;
	d = distance(n->word, candidate);
	/* `mem`: what it was cut from, unless something is nearer. */
	if (d > n->distance && !n->best.p && n->word.n >= NEAREST_CUT_MIN &&
	    sv_starts(candidate, n->word))
		n->distance = d;
	/* As far as the first bound is near enough; then only nearer ones. */
	if (n->best.p ? d < n->distance : d <= n->distance) {
		n->best = candidate;
		n->distance = d;
	}
}
