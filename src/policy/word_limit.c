/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit: how much of something the run may have.
 *
 * One table says what can be limited and in which unit.  An amount is kept
 * exactly, and printed in the largest unit in which it is whole; each kind of
 * limit stands once in a policy, so profiles that differ are an error.
 */
#include <inttypes.h>

#include "nearest.h"
#include "own.h"
#include "words.h"

enum unit { UNIT_TIME = 1, UNIT_BYTES, UNIT_COUNT, UNIT_CORES };

#define KIB UINT64_C(1024)
#define MIB (KIB << 10)
#define TIB (MIB << 20)
#define DAY_MS UINT64_C(86400000)

struct limit_info {
	struct sv name;
	enum limit_kind kind;	/* LIMIT_NONE: known, and not enforced */
	enum unit unit;
	bool may_lack;		/* a machine may be unable to hold it */
	uint64_t min, max;
	const char *expected;
};

#define SIZE_FORM "a size as 512K, 64M or 4G"

static const struct limit_info table[] = {
	{ SV("time"), LIMIT_TIME, UNIT_TIME, false, 1, 366 * DAY_MS,
	  "a duration as 30m, 90s or 2h" },
	/* Less than that does not even hold the sandbox's own set-up. */
	{ SV("memory"), LIMIT_MEMORY, UNIT_BYTES, true, 4 * MIB, 1024 * TIB,
	  SIZE_FORM ", at least 4M" },
	{ SV("swap"), LIMIT_SWAP, UNIT_BYTES, true, 0, 1024 * TIB,
	  SIZE_FORM ", or 0" },
	{ SV("processes"), LIMIT_PROCESSES, UNIT_COUNT, false, 1, 4000000,
	  "a number of processes from 1 to 4000000" },
	{ SV("cpu"), LIMIT_CPU, UNIT_CORES, true, 10, 4096000,
	  "a number of processors as 2, 1.5 or 0.25, at least 0.01" },
	/* The program itself has to be read. */
	{ SV("io"), LIMIT_IO, UNIT_BYTES, true, 64 * KIB, 1024 * TIB,
	  SIZE_FORM ", at least 64K, of each second" },
	/* pid 1 places the standard descriptors by numbers up to that. */
	{ SV("files"), LIMIT_FILES, UNIT_COUNT, false, 32, 1 << 30,
	  "a number of descriptors, at least 32" },
	{ SV("file-size"), LIMIT_FILE_SIZE, UNIT_BYTES, false, KIB, 1024 * TIB,
	  SIZE_FORM },
	/* The skeleton of the root has to fit in, too. */
	{ SV("disk"), LIMIT_DISK, UNIT_BYTES, false, MIB, 1024 * TIB,
	  SIZE_FORM ", at least 1M" },
	{ SV("output"), LIMIT_OUTPUT, UNIT_BYTES, false, KIB, 1024 * TIB,
	  SIZE_FORM },
	/* An empty tree of it has a few directories of the kernel's. */
	{ SV("workspace"), LIMIT_WORKSPACE, UNIT_BYTES, true, MIB, 1024 * TIB,
	  SIZE_FORM ", at least 1M" },
	{ SV("workspace-files"), LIMIT_WORKSPACE_FILES, UNIT_COUNT, true, 1,
	  1 << 30, "a number of files, at least 1" },
	{ SV("upload"), LIMIT_NONE, 0, false, 0, 0, NULL },
	{ SV("requests"), LIMIT_NONE, 0, false, 0, 0, NULL },
	{ SV("ask"), LIMIT_NONE, 0, false, 0, 0, NULL },
};

/* The largest first, as they are tried when an amount is printed. */
struct unit_info {
	struct sv name;
	uint64_t factor;
};
static const struct unit_info times[] = {
	{ SV("d"), DAY_MS }, { SV("h"), 3600000 }, { SV("m"), 60000 },
	{ SV("s"), 1000 }, { SV("ms"), 1 }, { { 0 }, 0 },
};
static const struct unit_info sizes[] = {
	{ SV("T"), TIB }, { SV("G"), MIB << 10 }, { SV("M"), MIB },
	{ SV("K"), KIB }, { { 0 }, 0 },
};
static const struct unit_info counts[] = { { SV(""), 1 }, { { 0 }, 0 } };

static const struct unit_info *units_of(enum unit unit)
{
	return unit == UNIT_TIME ? times : unit == UNIT_BYTES ? sizes : counts;
}

static size_t digits_of(struct sv v)
{
	size_t n = 0;

	while (n < v.n && is_digit(v.p[n]))
		n++;
	return n;
}

/* 2, 1.5 or 0.25, in thousandths. */
static bool to_cores(struct sv v, uint64_t *ret)
{
	size_t point = sv_find(v, '.');
	struct sv part = sv_from(v, point + 1);
	uint64_t whole, thousandths = 0;

	if (!sv_to_u64(sv_head(v, point), 4096, &whole))
		return false;
	if (point < v.n && (part.n == 0 || part.n > 3 ||
			    digits_of(part) != part.n))
		return false;
	for (size_t i = 0; i < 3; i++)
		thousandths = thousandths * 10 +
			      (i < part.n ? (uint64_t)(part.p[i] - '0') : 0);
	*ret = whole * 1000 + thousandths;
	return true;
}

static bool to_amount(struct sv v, enum unit unit, uint64_t *ret)
{
	size_t digits = digits_of(v);
	uint64_t n;

	if (unit == UNIT_CORES)
		return to_cores(v, ret);
	/* Nothing is the same in every unit. */
	if (unit == UNIT_BYTES && sv_eq(v, SV("0"))) {
		*ret = 0;
		return true;
	}
	for (const struct unit_info *u = units_of(unit); u->factor; u++) {
		if (!sv_eq(sv_from(v, digits), u->name))
			continue;
		if (!sv_to_u64(sv_head(v, digits), INT64_MAX / u->factor, &n))
			return false;
		*ret = n * u->factor;
		return true;
	}
	return false;
}

static void put_amount(struct buf *b, enum unit unit, uint64_t amount)
{
	const struct unit_info *u = units_of(unit);

	if (unit == UNIT_CORES) {
		buf_printf(b, "%" PRIu64 ".%03" PRIu64, amount / 1000,
			   amount % 1000);
		while (b->p && b->p[b->n - 1] == '0')
			b->n--;
		if (b->p && b->p[b->n - 1] == '.')
			b->n--;
		return;
	}
	if (amount == 0) {
		buf_putc(b, '0');
		return;
	}
	while (amount % u->factor)
		u++;
	buf_printf(b, "%" PRIu64 "%.*s", amount / u->factor, SV_FMT(u->name));
}

static int unknown_limit(const struct statement *s, const struct word *w,
			 struct err *e)
{
	struct nearest n = nearest_to(w->text);

	for (size_t i = 0; i < countof(table); i++)
		if (table[i].kind)
			nearest_offer(&n, table[i].name);
	if (n.best.p)
		return statement_error(s, w, e, "unknown limit \"%.*s\"; did "
				       "you mean `%.*s`?", WORD_FMT(w->text),
				       SV_FMT(n.best));
	return statement_error(s, w, e, "unknown limit \"%.*s\"; "
			       "stockade-policy(5) has them all",
			       WORD_FMT(w->text));
}

static const struct limit_info *find(struct sv name)
{
	for (size_t i = 0; i < countof(table); i++)
		if (sv_eq(table[i].name, name))
			return &table[i];
	return NULL;
}

/* Sets the texts from the other members. */
static int set_texts(struct limit *l, const struct limit_info *info,
		     struct arena *a)
{
	auto_buf struct buf b = buf_new(128);
	size_t word, amount;

	buf_puts(&b, l->optional ? "limit? " : "limit ");
	word = b.n;
	buf_printf(&b, "%.*s ", SV_FMT(info->name));
	amount = b.n;
	put_amount(&b, info->unit, l->value);
	l->text = arena_dup(a, buf_sv(&b));
	if (b.full || !l->text.p)
		return -1;
	l->shown = sv_from(l->text, word);
	l->amount = sv_from(l->text, amount);
	return 0;
}

/* The same twice is one; what must hold wins over what may. */
static int merge(const struct statement *s, const struct word *value,
		 const struct limit_info *info, struct policy *p,
		 struct err *e)
{
	struct limit *kept = &p->limits[info->kind];
	struct limit l = {
		.set = true, .optional = s->optional && info->may_lack,
		.origin = s->origin,
	};

	(void)to_amount(value->text, info->unit, &l.value);
	if (kept->set && kept->value != l.value) {
		auto_buf struct buf b = buf_new(256);

		origin_put(&b, &kept->origin);
		return statement_error(s, value, e,
			"another %.*s limit is set already (%.*s)",
			SV_FMT(info->name), SV_FMT(buf_sv(&b)));
	}
	if (kept->set && (!kept->optional || l.optional))
		return 0;
	if (set_texts(&l, info, &p->arena) < 0)
		return statement_full(s, e);
	*kept = l;
	return 0;
}

int word_limit(const struct statement *s, struct policy *p, struct err *e)
{
	const struct word *what = statement_word(s, 1, "what is limited", e);
	const struct limit_info *info;
	const struct word *value;
	uint64_t amount;

	if (!what)
		return -1;
	info = find(what->text);
	if (!info)
		return unknown_limit(s, what, e);
	if (info->kind == LIMIT_NONE)
		return words_refuse(s, what, e);
	value = statement_word(s, 2, "the amount", e);
	if (!value || statement_end(s, 3, e) < 0)
		return -1;
	if (!to_amount(value->text, info->unit, &amount) ||
	    amount < info->min || amount > info->max)
		return statement_error(s, value, e,
				       "expected %s, found \"%.*s\"",
				       info->expected, WORD_FMT(value->text));
	return merge(s, value, info, p, e);
}
