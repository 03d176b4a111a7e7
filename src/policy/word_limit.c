/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit: how much of something the run may have.
 *
 * One table says what can be limited and in which unit.  An amount is kept
 * exactly, and printed in the largest unit in which it is whole; each kind of
 * limit stands once in a policy, so profiles that differ are an error.
 */
#include "amount.h"
#include "hostpattern.h"
#include "nearest.h"
#include "own.h"
#include "words.h"

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
	/* What is larger is not read any more: AUDIT_SIZE_MOST. */
	{ SV("record"), LIMIT_RECORD, UNIT_BYTES, false, 64 * KIB, 1024 * MIB,
	  SIZE_FORM ", from 64K to 1G" },
	{ SV("requests"), LIMIT_REQUESTS, UNIT_COUNT, false, 1, BUDGET_MOST,
	  "a number of requests, at least 1" },
	/* Every request has a head, which counts. */
	{ SV("upload"), LIMIT_UPLOAD, UNIT_BYTES, false, KIB, 1024 * TIB,
	  SIZE_FORM ", at least 1K" },
	{ SV("names"), LIMIT_NAMES, UNIT_COUNT, false, 1, BUDGET_NAMES_MAX,
	  "a number of names from 1 to 4096" },
	{ SV("ask"), LIMIT_NONE, 0, false, 0, 0, NULL },
};

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
	amount_put(&b, info->unit, l->value);
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

	(void)amount_parse(value->text, info->unit, &l.value);
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

/* Of which there may be several, for other hosts. */
static bool is_budget(const struct limit_info *info)
{
	return info->kind >= LIMIT_KINDS;
}

static int budget_host(const struct statement *s, const struct limit_info *info,
		       struct arena *a, struct sv *ret, struct err *e)
{
	const struct word *by = &s->words[3];
	const struct word *host;
	const char *fault;

	if (!sv_eq(by->text, SV("for")))
		return statement_error(s, by, e, "expected `for HOST` or the "
				       "end, found \"%.*s\"",
				       WORD_FMT(by->text));
	host = statement_word(s, 4, "the host", e);
	if (!host || statement_end(s, 5, e) < 0)
		return -1;
	*ret = hostpattern_lower(a, host->text);
	if (!ret->p)
		return statement_full(s, e);
	fault = hostpattern_fault(*ret);
	if (!fault && sv_eq(*ret, SV("*")))
		fault = "a limit of all hosts has no `for`";
	if (!fault && info->kind == LIMIT_NAMES && !sv_starts(*ret, SV("*.")))
		fault = "one name is one name: expected *.DOMAIN";
	return fault ? statement_error(s, host, e, "%s", fault) : 0;
}

/* limit WHAT AMOUNT [for HOST] */
static int add_budget(const struct statement *s, const struct limit_info *info,
		      uint64_t value, struct policy *p, struct err *e)
{
	auto_buf struct buf b = buf_new(512);
	struct budget_rule r = {
		.kind = info->kind, .value = value, .origin = s->origin,
	};
	struct budget_rule *kept;
	size_t amount_at, amount_n;

	if (s->words_n > 3 && budget_host(s, info, &p->arena, &r.host, e) < 0)
		return -1;
	buf_printf(&b, "limit %.*s ", SV_FMT(info->name));
	amount_at = b.n;
	amount_put(&b, info->unit, value);
	amount_n = b.n - amount_at;
	if (r.host.n)
		buf_printf(&b, " for %.*s", SV_FMT(r.host));
	kept = arena_push(&p->arena, &p->budgets, &p->budgets_n,
			  &p->budgets_cap);
	r.text = arena_dup(&p->arena, buf_sv(&b));
	if (!kept || b.full || !r.text.p)
		return statement_full(s, e);
	r.word = info->name;
	r.amount = sv_head(sv_from(r.text, amount_at), amount_n);
	*kept = r;
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
	if (!value || (!is_budget(info) && statement_end(s, 3, e) < 0))
		return -1;
	if (!amount_parse(value->text, info->unit, &amount) ||
	    amount < info->min || amount > info->max)
		return statement_error(s, value, e,
				       "expected %s, found \"%.*s\"",
				       info->expected, WORD_FMT(value->text));
	if (is_budget(info))
		return add_budget(s, info, amount, p, e);
	return merge(s, value, info, p, e);
}
