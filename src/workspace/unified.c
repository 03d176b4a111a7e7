/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unified differences: see unified.h.
 *
 * What is equal at both ends is set aside; between, the shortest script of
 * deletions and insertions is sought by Myers' greedy method: for each number
 * d of edits, how far each diagonal can be reached.  The rows of all d are kept
 * and walked back.  Past EDITS_MAX the middle is replaced as a whole.
 */
#include "unified.h"

#include <stdlib.h>

#include "arena.h"
#include "json.h"
#include "own.h"

enum { EDITS_MAX = 2000, CONTEXT = 3, ARENA_MAX = 512 << 20, BINARY = 8000 };

struct lines {
	struct sv *v;		/* each with its newline */
	size_t n, cap;
	bool *changed;
};

/* One line of the whole comparison. */
struct row {
	char sign;		/* ' ', '-' or '+' */
	size_t a, b;		/* lines of each before it */
	struct sv text;
};

struct comparison {
	struct arena arena;
	struct lines a, b;
	struct row *rows;
	size_t rows_n, rows_cap;
};

bool unified_is_binary(struct sv text)
{
	return memchr(text.p ? text.p : "", 0,
		      text.n < BINARY ? text.n : BINARY) != NULL;
}

static int split(struct comparison *c, struct sv text, struct lines *ret)
{
	while (text.n) {
		struct sv *line = arena_push(&c->arena, &ret->v, &ret->n,
					     &ret->cap);

		if (!line)
			return -1;
		*line = sv_head(text, sv_find(text, '\n') + 1);
		text = sv_from(text, line->n);
	}
	ret->changed = arena_alloc(&c->arena, ret->n + 1);
	return ret->changed ? 0 : -1;
}

/* The part of both that is neither a common start nor a common end. */
struct middle {
	const struct sv *a, *b;
	long a_n, b_n;
	bool *a_changed, *b_changed;
};

/*
 * The d-th edit that ends on diagonal k: from which x of the row before it, and
 * whether it inserts (down) or deletes (right).  Nothing leaves the grid; *ret_x
 * is -1 when k cannot be reached.
 */
static bool last_edit(const struct middle *m, const long *row, long d, long k,
		      long *ret_x)
{
	long right = k - 1 >= -(d - 1) ? row[k - 1 + d - 1] : -1;
	long down = k + 1 <= d - 1 ? row[k + 1 + d - 1] : -1;

	right = right >= 0 && right < m->a_n ? right + 1 : -1;
	if (down - k > m->b_n)
		down = -1;
	*ret_x = right > down ? right : down;
	return down >= right;
}

/* Walks the rows back from the end. */
static void walk_back(const struct middle *m, long *const *rows, long d)
{
	for (long k = m->a_n - m->b_n; d > 0; d--) {
		long x;

		if (last_edit(m, rows[d - 1], d, k, &x)) {
			m->b_changed[x - k - 1] = true;
			k++;
		} else {
			m->a_changed[x - 1] = true;
			k--;
		}
	}
}

static long reach(const struct middle *m, const long *row, long d, long k)
{
	long x = 0;

	if (d)
		(void)last_edit(m, row, d, k, &x);
	while (x >= 0 && x < m->a_n && x - k < m->b_n &&
	       sv_eq(m->a[x], m->b[x - k]))
		x++;
	return x;
}

/* 1 when the script was found, 0 when it is too long. */
static int find_script(struct comparison *c, const struct middle *m)
{
	long **rows = arena_alloc(&c->arena, (EDITS_MAX + 1) * sizeof *rows);

	for (long d = 0; rows && d <= EDITS_MAX; d++) {
		rows[d] = arena_alloc(&c->arena, (size_t)(2 * d + 1) *
				      sizeof **rows);
		if (!rows[d])
			return -1;
		for (long k = -d; k <= d; k += 2) {
			long x = reach(m, d ? rows[d - 1] : NULL, d, k);

			rows[d][k + d] = x;
			if (x == m->a_n && x - k == m->b_n) {
				walk_back(m, rows, d);
				return 1;
			}
		}
	}
	return rows ? 0 : -1;
}

static int compare(struct comparison *c)
{
	size_t start = 0, end = 0;
	size_t least = c->a.n < c->b.n ? c->a.n : c->b.n;
	struct middle m;
	int found;

	while (start < least && sv_eq(c->a.v[start], c->b.v[start]))
		start++;
	while (end < least - start && sv_eq(c->a.v[c->a.n - 1 - end],
					    c->b.v[c->b.n - 1 - end]))
		end++;
	m = (struct middle){
		.a = c->a.v + start, .b = c->b.v + start,
		.a_n = (long)(c->a.n - start - end),
		.b_n = (long)(c->b.n - start - end),
		.a_changed = c->a.changed + start,
		.b_changed = c->b.changed + start,
	};
	found = m.a_n && m.b_n ? find_script(c, &m) : 0;
	for (long i = 0; !found && i < m.a_n; i++)
		m.a_changed[i] = true;
	for (long i = 0; !found && i < m.b_n; i++)
		m.b_changed[i] = true;
	return found < 0 ? -1 : 0;
}

static int make_rows(struct comparison *c)
{
	size_t i = 0, j = 0;

	while (i < c->a.n || j < c->b.n) {
		struct row *row = arena_push(&c->arena, &c->rows, &c->rows_n,
					     &c->rows_cap);

		if (!row)
			return -1;
		*row = (struct row){ .sign = ' ', .a = i, .b = j };
		if (i < c->a.n && c->a.changed[i]) {
			row->sign = '-';
			row->text = c->a.v[i++];
		} else if (j < c->b.n && c->b.changed[j]) {
			row->sign = '+';
			row->text = c->b.v[j++];
		} else {
			row->text = c->a.v[i++];
			j++;
		}
	}
	return 0;
}

static void put_visible(struct buf *out, struct sv text)
{
	while (text.n) {
		size_t n = sv_find(text, '\t');

		buf_put_visible(out, sv_head(text, n));
		if (n < text.n)
			buf_putc(out, '\t');
		text = sv_from(text, n + 1);
	}
}

static void put_row(struct buf *out, const struct row *row, bool visible)
{
	bool ends = sv_ends(row->text, SV("\n"));
	struct sv text = sv_head(row->text, row->text.n - ends);

	buf_putc(out, row->sign);
	if (visible)
		put_visible(out, text);
	else
		buf_put(out, text);
	buf_puts(out, ends ? "\n" : "\n\\ No newline at end of file\n");
}

static void put_range(struct buf *out, char sign, size_t first, size_t n)
{
	/* Lines count from 1; what is empty is named by the line before it. */
	buf_printf(out, "%c%zu", sign, n ? first + 1 : first);
	if (n != 1)
		buf_printf(out, ",%zu", n);
}

/* Rows from `from` on, below `to`. */
static void put_hunk(const struct comparison *c, size_t from, size_t to,
		     struct buf *out, bool visible)
{
	size_t a_n = 0, b_n = 0;

	for (size_t i = from; i < to; i++) {
		a_n += c->rows[i].sign != '+';
		b_n += c->rows[i].sign != '-';
	}
	buf_puts(out, "@@ ");
	put_range(out, '-', c->rows[from].a, a_n);
	buf_putc(out, ' ');
	put_range(out, '+', c->rows[from].b, b_n);
	buf_puts(out, " @@\n");
	for (size_t i = from; i < to; i++)
		put_row(out, &c->rows[i], visible);
}

static void put_hunks(const struct comparison *c, struct buf *out,
		      bool visible)
{
	size_t i = 0;

	while (i < c->rows_n) {
		size_t from, last;

		while (i < c->rows_n && c->rows[i].sign == ' ')
			i++;
		if (i == c->rows_n)
			return;
		from = i > CONTEXT ? i - CONTEXT : 0;
		/* Changes so near that their surroundings meet are one hunk. */
		for (last = i; i < c->rows_n && i <= last + 2 * CONTEXT + 1; i++)
			if (c->rows[i].sign != ' ')
				last = i;
		i = last + 1 + CONTEXT;
		i = i < c->rows_n ? i : c->rows_n;
		put_hunk(c, from, i, out, visible);
	}
}

int unified_put(struct buf *out, struct sv a, struct sv b, bool visible,
		struct err *e)
{
	struct comparison c = { .arena = arena_new(ARENA_MAX) };
	int rc = split(&c, a, &c.a) < 0 || split(&c, b, &c.b) < 0 ||
		 compare(&c) < 0 || make_rows(&c) < 0 ? -1 : 0;

	if (rc == 0)
		put_hunks(&c, out, visible);
	arena_free(&c.arena);
	if (rc < 0)
		return err_kind(e, ERR_LIMIT, "too large to compare");
	return buf_check(out, "the differences", e);
}
