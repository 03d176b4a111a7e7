/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the Public Suffix List: see public_suffix.h. */
#include "public_suffix.h"

/* The entry of the next line, which ends at the first blank; empty for a comment. */
static struct sv next_entry(struct sv *list)
{
	struct sv line = sv_cut(list, '\n');
	size_t n = 0;

	while (n < line.n && line.p[n] != ' ' && line.p[n] != '\t' &&
	       line.p[n] != '\r')
		n++;
	line = sv_head(line, n);
	return sv_starts(line, SV("//")) ? (struct sv){ 0 } : line;
}

static bool is_below(struct sv name, struct sv domain)
{
	return name.n > domain.n && sv_ends(name, domain) &&
	       name.p[name.n - domain.n - 1] == '.';
}

/* Does "*.parent" stand for the name? */
static bool is_child(struct sv name, struct sv parent)
{
	return is_below(name, parent) &&
	       sv_find(name, '.') == name.n - parent.n - 1;
}

struct sv public_suffix_within(struct sv list, struct sv domain)
{
	struct sv found = { 0 };

	while (list.n) {
		struct sv entry = next_entry(&list);
		struct sv parent = sv_from(entry, 2);

		/* "!name": the wildcard of its parent is not about it. */
		if (entry.n > 1 && entry.p[0] == '!' &&
		    sv_eq(sv_from(entry, 1), domain))
			return (struct sv){ 0 };
		if (found.n || entry.n == 0 || entry.p[0] == '!')
			continue;
		if (!sv_starts(entry, SV("*.")))
			parent = (struct sv){ 0 };
		if (sv_eq(entry, domain) || is_below(entry, domain) ||
		    (parent.n && is_child(domain, parent)))
			found = entry;
	}
	return found;
}
