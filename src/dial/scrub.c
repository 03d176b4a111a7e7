/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking: see scrub.h.
 *
 * Each value gives five patterns: itself, the base64 digits that it alone
 * decides at each of the three alignments, and its hexadecimal digits.  A
 * position of the input is looked at closely only if it and the next byte can
 * begin a pattern in some spelling, which a table answers; everything between
 * such positions is copied at once.  Occurrences may overlap: a byte is masked
 * when any of them covers it, so the result does not depend on which is found
 * first.
 *
 * A position whose match cannot be told yet is kept with all behind it until
 * more comes.  As what is kept decides nothing by itself, any division of the
 * input into pieces gives the same output.
 */
#include "scrub.h"

#include <stdlib.h>

#include "base64.h"
#include "spelling.h"

/* 1 to 3 are base64's alignments 0 to 2. */
enum pattern_form { RAW, BASE64_0, BASE64_1, BASE64_2, HEX, PATTERNS_EACH };
enum { HELD_MAX = 1 << 20 };

struct scrub_pattern {
	struct spelling spelling;
	char *text;		/* owned, wiped; what spelling views */
};

/* Two bytes as they lie in memory: of any byte order, if always of the same. */
static unsigned pair_of(const char *p)
{
	uint16_t pair;

	memcpy(&pair, p, sizeof pair);
	return pair;
}

static void pair_set(struct scrub *s, const char pair[2])
{
	unsigned bit = pair_of(pair);

	s->first[(uint8_t)pair[0]] = 1;
	s->pairs[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* 1 or 0: several are asked without a branch. */
static unsigned pair_has(const struct scrub *s, const char *p)
{
	unsigned bit = pair_of(p);

	return (unsigned)(s->pairs[bit / 64] >> bit % 64) & 1;
}

/* Into 2 * (value.n + 2) bytes; returns how many it is. */
static size_t pattern_text(struct sv value, enum pattern_form form, char *out)
{
	struct buf hex = buf_of(out, 2 * value.n);

	switch (form) {
	case BASE64_0:
	case BASE64_1:
	case BASE64_2:
		return spelling_base64(value, form - BASE64_0, out);
	case HEX:
		buf_put_hex(&hex, value);
		return hex.n;
	case RAW:
	case PATTERNS_EACH:
		break;
	}
	memcpy(out, value.p, value.n);
	return value.n;
}

static void pattern_wipe(struct scrub_pattern *p)
{
	explicit_bzero(p->text, p->spelling.text.n);
	free(p->text);
}

static bool pattern_add(struct scrub *s, struct sv value,
			enum pattern_form form)
{
	struct scrub_pattern *p = &s->patterns[s->n_patterns];
	char pairs[SPELLING_OPENINGS][2];
	size_t n;

	p->text = malloc(2 * (value.n + 2));
	if (!p->text)
		return false;
	n = pattern_text(value, form, p->text);
	p->spelling = spelling_of(sv_of(p->text, n));
	p->spelling.fold = form == HEX;
	p->spelling.url64 = form != RAW && form != HEX;
	s->n_patterns++;
	if ((SPELLING_MAX + SPELLING_BREAK_MAX) * n > s->longest)
		s->longest = (SPELLING_MAX + SPELLING_BREAK_MAX) * n;
	for (size_t i = spelling_openings(&p->spelling, pairs); i-- > 0;)
		pair_set(s, pairs[i]);
	return true;
}

static bool has_value(const struct scrub *s, struct sv value)
{
	for (size_t i = RAW; i < s->n_patterns; i += PATTERNS_EACH)
		if (sv_eq(s->patterns[i].spelling.text, value))
			return true;
	return false;
}

int scrub_add(struct scrub *s, struct sv value, struct err *e)
{
	const size_t before = s->n_patterns;
	struct scrub_pattern *all;

	if (has_value(s, value))
		return 0;
	if (value.n < SCRUB_VALUE_MIN)
		return err_kind(e, ERR_LIMIT, "a credential of fewer than %d "
				"bytes cannot be masked", SCRUB_VALUE_MIN);
	if (before == SCRUB_VALUES_MAX * PATTERNS_EACH)
		return err_kind(e, ERR_LIMIT, "more than %d credentials in one "
				"request", SCRUB_VALUES_MAX);
	/* Where the texts are, not the texts. */
	all = realloc(s->patterns, (before + PATTERNS_EACH) * sizeof *all);
	if (!all)
		return err_kind(e, ERR_LIMIT, "out of memory");
	s->patterns = all;
	for (unsigned i = 0; i < PATTERNS_EACH; i++) {
		if (pattern_add(s, value, i))
			continue;
		while (s->n_patterns > before)
			pattern_wipe(&s->patterns[--s->n_patterns]);
		return err_kind(e, ERR_LIMIT, "out of memory");
	}
	return 0;
}

int scrub_add_lines(struct scrub *s, struct sv values, struct err *e)
{
	while (values.n) {
		struct sv one = sv_head(values, sv_find(values, '\n'));

		if (scrub_add(s, one, e) < 0)
			return -1;
		values = sv_from(values, one.n + 1);
	}
	return 0;
}

int scrub_init(struct scrub *s, const struct sv *values, size_t n,
	       struct err *e)
{
	*s = (struct scrub){ .held = buf_new(HELD_MAX) };
	for (size_t i = 0; i < n; i++)
		if (scrub_add(s, values[i], e) < 0) {
			scrub_fini(s);
			return -1;
		}
	return 0;
}

void scrub_fini(struct scrub *s)
{
	for (size_t i = 0; i < s->n_patterns; i++)
		pattern_wipe(&s->patterns[i]);
	free(s->patterns);
	buf_wipe(&s->held);
	*s = (struct scrub){ 0 };
}

/* What begins at in: the longest occurrence, or part of one. */
static enum spelled match_at(const struct scrub *s, struct sv in, bool last,
			     size_t *len)
{
	enum spelled best = SPELLED_NO;

	*len = 0;
	for (size_t i = 0; i < s->n_patterns; i++) {
		size_t n;
		enum spelled r = spelling_match(&s->patterns[i].spelling, in,
						last, &n);

		if (r == SPELLED_PART)
			return r;
		if (r == SPELLED_YES && n > *len) {
			best = r;
			*len = n;
		}
	}
	return best;
}

/* The first position from `from` on that may begin a pattern, or in.n. */
static size_t candidate(const struct scrub *s, struct sv in, size_t from)
{
	size_t i = from;

	/* Nearly all of a response goes by here, four at a time. */
	while (i + 4 < in.n && !(pair_has(s, in.p + i) |
				 pair_has(s, in.p + i + 1) |
				 pair_has(s, in.p + i + 2) |
				 pair_has(s, in.p + i + 3)))
		i += 4;
	while (i + 1 < in.n && !pair_has(s, in.p + i))
		i++;
	if (i + 1 < in.n || i >= in.n)
		return i;
	return s->first[(uint8_t)in.p[i]] ? i : in.n;
}

/* in[from, to) with what belongs to occurrences masked. */
static void emit(struct scrub *s, struct sv in, size_t from, size_t to,
		 struct buf *out)
{
	size_t n = to - from;
	size_t masked = s->masked < n ? s->masked : n;
	char *at = buf_reserve(out, n);

	if (!at || n == 0)
		return;
	memset(at, '*', masked);
	memcpy(at + masked, in.p + from + masked, n - masked);
	out->n += n;
	s->masked -= masked;
}

/* Settles what can be told of in; returns how much that was. */
static size_t scan(struct scrub *s, struct sv in, bool last, struct buf *out)
{
	size_t done = 0;

	for (size_t i = candidate(s, in, 0); i < in.n;
	     i = candidate(s, in, i + 1)) {
		size_t len;
		enum spelled r = match_at(s, sv_from(in, i), last, &len);

		if (r == SPELLED_PART) {
			emit(s, in, done, i, out);
			return i;
		}
		if (r != SPELLED_YES)
			continue;
		emit(s, in, done, i, out);
		done = i;
		s->hits++;
		if (len > s->masked)
			s->masked = len;
	}
	emit(s, in, done, in.n, out);
	return in.n;
}

int scrub_push(struct scrub *s, struct sv in, struct buf *out, struct err *e)
{
	size_t done;

	if (in.n == 0)
		return 0;
	if (s->held.n) {
		buf_put(&s->held, in);
		done = scan(s, buf_sv(&s->held), false, out);
		buf_consume(&s->held, done);
	} else {
		done = scan(s, in, false, out);
		buf_put(&s->held, sv_from(in, done));
	}
	if (buf_check(&s->held, "held back response", e) < 0)
		return -1;
	return buf_check(out, "response", e);
}

int scrub_finish(struct scrub *s, struct buf *out, struct err *e)
{
	(void)scan(s, buf_sv(&s->held), true, out);
	s->masked = 0;
	buf_reset(&s->held);
	return buf_check(out, "response", e);
}

static int scrub_value(struct scrub *s, struct sv *text, struct arena *a,
		       struct err *e)
{
	struct buf out = buf_new(HELD_MAX);
	uint64_t before = s->hits;
	struct sv masked;
	int r;

	if (text->n == 0)
		return 0;
	(void)scan(s, *text, true, &out);
	s->masked = 0;
	r = buf_check(&out, "field", e);
	if (r == 0 && s->hits != before) {
		masked = arena_dup(a, buf_sv(&out));
		if (masked.p)
			*text = masked;
		else
			r = err_kind(e, ERR_LIMIT, "out of memory");
	}
	buf_wipe(&out);
	return r;
}

/* Names were brought to lower case, so case cannot matter. */
static int scrub_name(struct scrub *s, struct sv *name, struct arena *a,
		      struct err *e)
{
	char *copy = NULL;

	for (size_t i = 0; i < name->n; i++)
		for (size_t k = 0; k < s->n_patterns; k++) {
			struct spelling spelling = s->patterns[k].spelling;
			size_t len;

			spelling.fold = true;
			if (spelling_match(&spelling, sv_from(*name, i), true,
					   &len) != SPELLED_YES)
				continue;
			if (!copy)
				copy = arena_alloc(a, name->n);
			if (!copy)
				return err_kind(e, ERR_LIMIT, "out of memory");
			memset(copy + i, '*', len);
			s->hits++;
		}
	if (!copy)
		return 0;
	for (size_t i = 0; i < name->n; i++)
		if (copy[i] == '\0')
			copy[i] = name->p[i];
	*name = sv_of(copy, name->n);
	return 0;
}

int scrub_fields(struct scrub *s, struct http_fields *f, struct arena *a,
		 struct err *e)
{
	for (size_t i = 0; i < f->n; i++)
		if (scrub_name(s, &f->v[i].name, a, e) < 0 ||
		    scrub_value(s, &f->v[i].value, a, e) < 0)
			return -1;
	return 0;
}
