/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries in rules, against a reference that follows the manual word by word:
 * it writes down every pair of every reading, with what each byte may mean, and
 * compares by recursion.
 *
 * Input: a rule's query, a line feed, a request's query.
 */
#include <stdlib.h>

#include "query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Nearly all that is longer could not be compared. */
enum { TEXT_CAP = 96, STARS_CAP = 5, LIST_CAP = 256, INPUT_MAX = 384 };

/* A byte, and whether it was written as it is. */
struct letter {
	unsigned char c;
	bool raw;
};

struct word {
	struct letter v[TEXT_CAP];
	size_t n;
};

struct entry {
	struct sv spelled;	/* the key, as it is written */
	struct word key, value;
	bool has_value;
};

struct list {
	struct entry v[LIST_CAP];
	size_t n;
};

static struct list whole, split, wanted;

static struct word letters(struct sv v)
{
	struct word w = { .n = 0 };

	for (size_t i = 0; i < v.n; i++) {
		struct letter l = { (unsigned char)v.p[i], true };

		if (v.p[i] == '%' && i + 2 < v.n && hex_value(v.p[i + 1]) >= 0 &&
		    hex_value(v.p[i + 2]) >= 0) {
			l.c = (unsigned char)(hex_value(v.p[i + 1]) * 16 +
					      hex_value(v.p[i + 2]));
			l.raw = false;
			i += 2;
		}
		w.v[w.n++] = l;
	}
	return w;
}

static void add(struct list *l, struct sv piece)
{
	struct entry *e = &l->v[l->n++];
	size_t at = sv_find(piece, '=');

	e->spelled = sv_head(piece, at);
	e->key = letters(e->spelled);
	e->value = letters(sv_from(piece, at + 1));
	e->has_value = at < piece.n;
}

/* Every piece between separators, the empty ones as well. */
static void list_of(struct sv v, const char *separators, struct list *ret)
{
	size_t start = 0;

	ret->n = 0;
	for (size_t i = 0; i <= v.n; i++)
		if (i == v.n || strchr(separators, v.p[i])) {
			add(ret, sv_of(v.p + start, i - start));
			start = i + 1;
		}
}

/* The key of the most forgiving of programs. */
static size_t forgiven(const struct word *w, char out[TEXT_CAP])
{
	char once[TEXT_CAP];
	size_t n = 0, m = 0, start = 0;

	while (start < w->n && (w->v[start].c == ' ' ||
				(w->v[start].c == '+' && w->v[start].raw)))
		start++;
	for (size_t i = start; i < w->n; i++)
		once[m++] = w->v[i].c == '+' && w->v[i].raw ?
				    ' ' : (char)w->v[i].c;
	for (size_t i = 0; i < m; i++) {
		char c = once[i];

		if (c == '%' && i + 2 < m && hex_value(once[i + 1]) >= 0 &&
		    hex_value(once[i + 2]) >= 0) {
			c = (char)(hex_value(once[i + 1]) * 16 +
				   hex_value(once[i + 2]));
			i += 2;
		}
		if (c == '[' || c == '\0')
			break;
		out[n++] = c == '.' || c == ' ' ? '_' : ascii_lower(c);
	}
	return n;
}

static bool same_key(const struct entry *a, const struct entry *b)
{
	char x[TEXT_CAP], y[TEXT_CAP];
	size_t n = forgiven(&a->key, x);

	return n == forgiven(&b->key, y) && memcmp(x, y, n) == 0;
}

/* Is there a meaning (or, exactly, the only one) that both have? */
static bool meet(struct letter want, struct letter got, bool exactly)
{
	bool want_plus = want.raw && want.c == '+';
	bool got_plus = got.raw && got.c == '+';

	if (exactly)
		return want.c == got.c && want_plus == got_plus &&
		       (want.c != ';' || want.raw == got.raw);
	return want.c == got.c || (want_plus && got.c == ' ') ||
	       (got_plus && want.c == ' ');
}

static bool fits(const struct word *p, size_t i, const struct word *v,
		 size_t j, bool exactly)
{
	if (i == p->n)
		return j == v->n;
	if (p->v[i].raw && p->v[i].c == '*')
		return fits(p, i + 1, v, j, exactly) ||
		       (j < v->n &&
			!(exactly && v->v[j].raw && v->v[j].c == ';') &&
			fits(p, i, v, j + 1, exactly));
	return j < v->n && meet(p->v[i], v->v[j], exactly) &&
	       fits(p, i + 1, v, j + 1, exactly);
}

static bool holds(const struct list *l, const struct entry *want)
{
	for (size_t i = 0; i < l->n; i++)
		if ((l->v[i].key.n || l->v[i].has_value) &&
		    same_key(&l->v[i], want) &&
		    fits(&want->value, 0, &l->v[i].value, 0, false))
			return true;
	return false;
}

static bool may_have(bool others)
{
	bool blank = true;

	for (size_t i = 0; i < split.n; i++)
		blank &= split.v[i].key.n == 0 && !split.v[i].has_value;
	if (wanted.n == 0)
		return others || blank;
	for (size_t i = 0; i < wanted.n; i++)
		if (!holds(&whole, &wanted.v[i]) &&
		    !holds(&split, &wanted.v[i]))
			return false;
	return true;
}

static bool has_letter(const struct word *w, char c, bool raw)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].c == (unsigned char)c && (w->v[i].raw || !raw))
			return true;
	return false;
}

/* One pair of the request, for what permits. */
static bool is_taken(const struct entry *got, bool others, size_t *found)
{
	for (size_t i = 0; i < wanted.n; i++) {
		if (!sv_eq(wanted.v[i].spelled, got->spelled))
			continue;
		++*found;
		return wanted.v[i].has_value == got->has_value &&
		       fits(&wanted.v[i].value, 0, &got->value, 0, true);
	}
	for (size_t i = 0; i < wanted.n; i++)
		if (same_key(&wanted.v[i], got))
			return false;
	return others && got->key.n && !has_letter(&got->key, ';', true) &&
	       !has_letter(&got->value, ';', true) &&
	       !has_letter(&got->key, '[', false);
}

static bool permits(bool others, bool empty)
{
	size_t found = 0;

	if (empty)
		return wanted.n == 0;
	if (whole.n > QUERY_PAIRS_MAX)
		return false;
	for (size_t i = 0; i < whole.n; i++) {
		if (whole.v[i].key.n == 0 && !whole.v[i].has_value)
			return false;
		if (!is_taken(&whole.v[i], others, &found))
			return false;
		for (size_t j = 0; j < i; j++)
			if (same_key(&whole.v[i], &whole.v[j]))
				return false;
	}
	return found == wanted.n;
}

static void compare(struct sv pattern, struct sv query)
{
	bool others = sv_eq(pattern, SV("*")) || sv_ends(pattern, SV("&*"));
	bool allowed = query_difference(pattern, query) == NULL;
	bool denied = query_may_have(pattern, query);
	struct sv pairs = pattern;

	if (others)
		pairs.n -= pairs.n > 1 ? 2 : 1;
	list_of(query, "&", &whole);
	list_of(query, "&;", &split);
	list_of(pairs, "&", &wanted);
	if (pairs.n == 0)
		wanted.n = 0;
	if (allowed != permits(others, query.n == 0) ||
	    denied != may_have(others) || (allowed && !denied))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sv input = sv_of((const char *)data, n);
	struct sv rest = input, line = sv_cut(&rest, '\n');
	auto_arena struct arena a = arena_new(1 << 16);
	struct sv pattern, again;
	size_t stars = 0;

	if (n > INPUT_MAX || query_canonical(line, &a, &pattern))
		return 0;
	if (query_canonical(pattern, &a, &again) || !sv_eq(pattern, again))
		abort();
	for (size_t i = 0; i < pattern.n; i++)
		stars += pattern.p[i] == '*';
	for (size_t i = 0; i < rest.n; i++)
		if (rest.p[i] == '\0')
			return 0;
	if (stars <= STARS_CAP && pattern.n <= TEXT_CAP && rest.n <= TEXT_CAP)
		compare(pattern, rest);
	return 0;
}
