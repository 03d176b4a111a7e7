/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules to a program: see seccomp.h.
 *
 * The program asks for the architecture, then finds the range of numbers that
 * the call is in by bisection; neighbours with the same outcome are one range,
 * also around a few exceptions.
 *
 * A call whose outcome depends on its number alone costs nothing after all:
 * the kernel (5.11) recognises it when the filter is installed, for which it
 * runs the program with every number.  It translates each instruction as well,
 * in several passes.  Every launch waits for that: hence one copy of what
 * several calls share, and no argument loaded or asked about twice.
 */
#include "seccomp.h"

#include <endian.h>
#include <linux/audit.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "feature.h"
#include "own.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call table for this architecture"
#endif

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "offset of the low half");

enum {
	OUTCOMES_MAX = 64,
	EXCEPTIONS_MAX = 2,	/* more would be found faster by bisection */
};

/* What becomes of a call.  It is in the program once, next to what jumps to it
 * first. */
struct outcome {
	uint32_t verdict;
	const struct seccomp_check *checks;
	unsigned place;		/* 0 before that */
};

struct compiler {
	struct bpf *bpf;
	struct outcome outcomes[OUTCOMES_MAX + 1];	/* not the first */
	unsigned n_outcomes;
	/* Of each number, and 0 behind `end`, which stands for all above. */
	uint8_t outcome_of[SECCOMP_NUMBERS + 3];
	unsigned end;
	/* The first number of each range, and after the last one end + 1. */
	uint16_t ranges[SECCOMP_NUMBERS + 2];
	unsigned n_ranges;
};

/* Where a comparison begins, or a return, which needs nothing loaded. */
struct entry {
	const struct seccomp_check *check;	/* NULL for a return */
	unsigned place;		/* with a load; 0 until that is needed */
	unsigned loaded;	/* without */
};

static uint32_t load_mask(const struct seccomp_check *k)
{
	return k->op == SECCOMP_ANY ? 0 : k->mask;
}

static bool same_load(const struct seccomp_check *a,
		      const struct seccomp_check *b)
{
	return a->arg == b->arg && load_mask(a) == load_mask(b);
}

static bool same_check(const struct seccomp_check *a,
		       const struct seccomp_check *b)
{
	return a->op == b->op && a->arg == b->arg && a->mask == b->mask &&
	       a->value == b->value;
}

static unsigned place_load(struct compiler *c, const struct seccomp_check *k)
{
	if (load_mask(k))
		bpf_and(c->bpf, load_mask(k));
	return bpf_load(c->bpf, (uint32_t)(offsetof(struct seccomp_data, args) +
					   8U * (k->arg % SECCOMP_HIGH) +
					   4U * (k->arg / SECCOMP_HIGH)));
}

/* Where to go on at `to` after the check `from`, or at first (NULL). */
static unsigned enter(struct compiler *c, struct entry *to,
		      const struct seccomp_check *from)
{
	if (to->check && from && same_load(to->check, from))
		return to->loaded;
	if (!to->place)
		to->place = place_load(c, to->check);
	return to->place;
}

static struct entry place_test(struct compiler *c,
			       const struct seccomp_check *k, unsigned match,
			       unsigned miss)
{
	switch ((enum seccomp_op)k->op) {
	case SECCOMP_EQ:
		bpf_test(c->bpf, BPF_JEQ, k->value, match, miss);
		break;
	case SECCOMP_NE:
		bpf_test(c->bpf, BPF_JEQ, k->value, miss, match);
		break;
	case SECCOMP_ANY:
		bpf_test(c->bpf, BPF_JSET, k->mask, match, miss);
		break;
	case SECCOMP_GT:
		bpf_test(c->bpf, BPF_JGT, k->value, match, miss);
		break;
	case SECCOMP_GE:
		bpf_test(c->bpf, BPF_JGE, k->value, match, miss);
		break;
	case SECCOMP_LT:
		bpf_test(c->bpf, BPF_JGE, k->value, miss, match);
		break;
	case SECCOMP_LE:
		bpf_test(c->bpf, BPF_JGT, k->value, miss, match);
		break;
	case SECCOMP_END:
		break;
	}
	return (struct entry){ .check = k, .loaded = c->bpf->n };
}

static unsigned find_outcome(struct compiler *c, uint32_t verdict,
			     const struct seccomp_check *checks)
{
	for (unsigned i = 1; i <= c->n_outcomes; i++)
		if (c->outcomes[i].verdict == verdict &&
		    c->outcomes[i].checks == checks)
			return i;
	if (c->n_outcomes == OUTCOMES_MAX) {
		c->bpf->full = true;
		return OUTCOMES_MAX;
	}
	c->outcomes[++c->n_outcomes] = (struct outcome){ verdict, checks, 0 };
	return c->n_outcomes;
}

static unsigned place_return(struct compiler *c, uint32_t verdict)
{
	struct outcome *o = &c->outcomes[find_outcome(c, verdict, NULL)];

	if (!o->place)
		o->place = bpf_return(c->bpf, verdict);
	return o->place;
}

static const struct seccomp_check *
last_group(const struct seccomp_check *first, const struct seccomp_check *end)
{
	const struct seccomp_check *k = end - 1;

	while (k > first && k[-1].and)
		k--;
	return k;
}

/* The start of the last groups that have the check at `depth` in common. */
static const struct seccomp_check *
last_alike(const struct seccomp_check *first, const struct seccomp_check *end,
	   unsigned depth)
{
	const struct seccomp_check *from = last_group(first, end);
	const struct seccomp_check *k = from + depth, *before;

	while (from > first) {
		before = last_group(first, from);
		if (before + depth >= from || !same_check(before + depth, k))
			break;
		from = before;
	}
	return from;
}

/*
 * Groups of which the first checks, `depth` of them, are the same and match:
 * from the last to the first, each falling to the one after it, and neighbours
 * that go on with the same check sharing it.
 */
static struct entry place_groups(struct compiler *c,
				 const struct seccomp_check *first,
				 const struct seccomp_check *end,
				 unsigned depth, struct entry *miss)
{
	struct entry own = *miss, inner, *next = miss;
	const struct seccomp_check *from, *k;
	unsigned missed;

	for (; end > first; end = from) {
		from = last_group(first, end);
		k = from + depth;
		if (k == end) {
			own = (struct entry){
				.place = place_return(c, k[-1].verdict),
			};
		} else {
			from = last_alike(first, end, depth);
			/* At once: a load is right before what it is for. */
			missed = enter(c, next, k);
			inner = place_groups(c, from, end, depth + 1, next);
			own = place_test(c, k, enter(c, &inner, k), missed);
		}
		next = &own;
	}
	return *next;
}

static unsigned place_checks(struct compiler *c, uint32_t verdict,
			     const struct seccomp_check *checks)
{
	struct entry otherwise = { .place = place_return(c, verdict) };
	const struct seccomp_check *end = checks;
	struct entry first;

	while (end->op != SECCOMP_END)
		end++;
	first = place_groups(c, checks, end, 0, &otherwise);
	return enter(c, &first, NULL);
}

static unsigned place_outcome(struct compiler *c, unsigned nr)
{
	struct outcome *o = &c->outcomes[c->outcome_of[nr]];

	if (!o->checks)
		return place_return(c, o->verdict);
	if (!o->place)
		o->place = place_checks(c, o->verdict, o->checks);
	return o->place;
}

/* Fills outcome_of[] and end. */
static int find_outcomes(struct compiler *c,
			 const struct seccomp_filter *filter, struct err *e)
{
	unsigned fallback = find_outcome(c, filter->fallback, NULL);

	for (size_t i = 0; i < filter->n; i++) {
		const struct seccomp_rule *r = &filter->rules[i];

		if (r->nr >= SECCOMP_NUMBERS || c->outcome_of[r->nr])
			return err_kind(e, ERR_BUG,
					"rule for %s: number %u twice or too "
					"large", r->name, r->nr);
		c->outcome_of[r->nr] =
			(uint8_t)find_outcome(c, r->verdict, r->checks);
		if (c->end <= r->nr)
			c->end = r->nr + 1;
	}
	for (size_t i = 0; i < filter->opened_n; i++)
		c->outcome_of[filter->opened[i]] =
			(uint8_t)find_outcome(c, VERDICT_ALLOW, NULL);
	for (unsigned nr = 0; nr <= c->end; nr++)
		if (!c->outcome_of[nr])
			c->outcome_of[nr] = (uint8_t)fallback;
	return 0;
}

/* A range ends where neither the next number nor the one behind it has the
 * outcome of the first: a lone exception is cheaper than two more ranges. */
static void find_ranges(struct compiler *c)
{
	const uint8_t *of = c->outcome_of;

	for (unsigned nr = 0; nr <= c->end; nr++) {
		unsigned first = of[nr], exceptions = 0;

		c->ranges[c->n_ranges++] = (uint16_t)nr;
		while (of[nr + 1] == first ||
		       (of[nr + 2] == first && exceptions++ < EXCEPTIONS_MAX))
			nr += of[nr + 1] == first ? 1 : 2;
	}
	c->ranges[c->n_ranges] = (uint16_t)(c->end + 1);
}

/* Of the numbers from first to end - 1. */
static unsigned place_range(struct compiler *c, unsigned first, unsigned end)
{
	unsigned next = place_outcome(c, first);

	for (unsigned nr = end - 1; nr > first; nr--)
		if (c->outcome_of[nr] != c->outcome_of[first])
			next = bpf_test(c->bpf, BPF_JEQ, nr,
					place_outcome(c, nr), next);
	return next;
}

/* Its start is what is placed last.  It is the numbers that are halved, not the
 * ranges: the kernel looks each of them up once. */
static unsigned place_search(struct compiler *c, unsigned lo, unsigned hi)
{
	unsigned middle = (c->ranges[lo] + c->ranges[hi + 1]) / 2U;
	unsigned mid = lo + 1, below, above;

	if (lo == hi)
		return place_range(c, c->ranges[lo], c->ranges[lo + 1]);
	while (mid < hi && c->ranges[mid] < middle)
		mid++;
	above = place_search(c, mid, hi);
	below = place_search(c, lo, mid - 1);
	return bpf_test(c->bpf, BPF_JGE, c->ranges[mid], above, below);
}

int seccomp_compile(const struct seccomp_filter *filter, struct bpf *ret,
		    struct err *e)
{
	struct compiler c = { .bpf = ret };
	unsigned kill, start;

	if (filter->fallback == VERDICT_ALLOW && !filter->narrows)
		return err_kind(e, ERR_BUG, "a filter that allows by default");
	ret->n = 0;
	ret->full = false;
	if (find_outcomes(&c, filter, e) < 0)
		return -1;
	find_ranges(&c);
	(void)place_search(&c, 0, c.n_ranges - 1);
	start = bpf_load(ret, offsetof(struct seccomp_data, nr));
	kill = bpf_return(ret, VERDICT_KILL);
	bpf_test(ret, BPF_JEQ, NATIVE_ARCH, start, kill);
	bpf_load(ret, offsetof(struct seccomp_data, arch));
	if (ret->full)
		return err_kind(e, ERR_BUG, "a filter of more than %u "
				"instructions or %d outcomes", ret->max,
				OUTCOMES_MAX);
	return 0;
}

int seccomp_add(const struct sock_fprog *prog, struct err *e)
{
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, prog) < 0)
		return err_feature(e, "seccomp", "3.17", "add a filter");
	return 0;
}

int seccomp_install(const struct seccomp_filter *filter, bool all_threads,
		    struct err *e)
{
	unsigned flags = all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0;
	struct sock_filter code[BPF_LENGTH_MAX];
	struct bpf program = BPF_IN(code);
	struct sock_fprog prog;
	long rc;

	if (seccomp_compile(filter, &program, e) < 0 ||
	    bpf_program(&program, &prog, e) < 0)
		return -1;
	rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	if (rc < 0)
		return err_feature(e, "seccomp", "3.17", "install a filter");
	if (rc > 0) {
		errno = EBUSY;
		return err_sys(e, "install a filter on thread %ld", rc);
	}
	return 0;
}
