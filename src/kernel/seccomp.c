/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules to a program: see seccomp.h.
 *
 * The program asks for the architecture, then finds the range of numbers that
 * the call is in by bisection; neighbours with the same outcome are one range.
 * A call whose outcome depends on its number alone costs nothing after all:
 * the kernel (5.11) recognises it when the filter is installed.
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

enum { VERDICTS_MAX = 32 };

struct range {
	uint32_t from;
	unsigned place;
};

struct compiler {
	struct bpf *bpf;
	/* One return instruction for each verdict. */
	struct { uint32_t verdict; unsigned place; } returns[VERDICTS_MAX];
	unsigned n_returns;
	struct range ranges[2 * SECCOMP_NUMBERS];
	unsigned n_ranges;
};

static unsigned place_return(struct compiler *c, uint32_t verdict)
{
	unsigned place;

	for (unsigned i = 0; i < c->n_returns; i++)
		if (c->returns[i].verdict == verdict)
			return c->returns[i].place;
	place = bpf_return(c->bpf, verdict);
	if (c->n_returns < VERDICTS_MAX) {
		c->returns[c->n_returns].verdict = verdict;
		c->returns[c->n_returns++].place = place;
	}
	return place;
}

/* Returns the place of the comparison. */
static unsigned place_check(struct compiler *c, const struct seccomp_check *k,
			    unsigned match, unsigned miss)
{
	uint32_t low = (uint32_t)(offsetof(struct seccomp_data, args) +
				  8U * k->arg);

	switch ((enum seccomp_op)k->op) {
	case SECCOMP_EQ:
		bpf_test(c->bpf, BPF_JEQ, k->value, match, miss);
		break;
	case SECCOMP_NE:
		bpf_test(c->bpf, BPF_JEQ, k->value, miss, match);
		break;
	case SECCOMP_ANY:
		bpf_test(c->bpf, BPF_JSET, k->mask, match, miss);
		return bpf_load(c->bpf, low);
	case SECCOMP_END:
		break;
	}
	if (k->mask)
		bpf_and(c->bpf, k->mask);
	return bpf_load(c->bpf, low);
}

/* The groups from the last to the first, each falling to the one after it. */
static unsigned place_rule(struct compiler *c, const struct seccomp_rule *r)
{
	unsigned next = place_return(c, r->verdict), match = 0;
	size_t n = 0;

	while (r->checks && r->checks[n].op != SECCOMP_END)
		n++;
	for (size_t end = n; end > 0;) {
		size_t start = end - 1;

		while (start > 0 && r->checks[start - 1].and)
			start--;
		match = place_return(c, r->checks[end - 1].verdict);
		for (size_t i = end; i > start; i--)
			match = place_check(c, &r->checks[i - 1], match, next);
		next = match;
		end = start;
	}
	return next;
}

static void find_ranges(struct compiler *c, const unsigned *places,
			unsigned fallback)
{
	unsigned last = 0;

	for (uint32_t nr = 0; nr <= SECCOMP_NUMBERS; nr++) {
		unsigned place = fallback;

		if (nr < SECCOMP_NUMBERS && places[nr])
			place = places[nr];
		if (place != last)
			c->ranges[c->n_ranges++] =
				(struct range){ .from = nr, .place = place };
		last = place;
	}
}

static unsigned place_search(struct compiler *c, unsigned lo, unsigned hi)
{
	unsigned mid = lo + (hi - lo + 1) / 2, below, above;

	if (lo == hi)
		return c->ranges[lo].place;
	above = place_search(c, mid, hi);
	below = place_search(c, lo, mid - 1);
	return bpf_test(c->bpf, BPF_JGE, c->ranges[mid].from, above, below);
}

static int check_filter(const struct seccomp_filter *filter, struct err *e)
{
	bool seen[SECCOMP_NUMBERS] = { false };

	if (filter->fallback == VERDICT_ALLOW)
		return err_kind(e, ERR_BUG, "a filter that allows by default");
	for (size_t i = 0; i < filter->n; i++) {
		const struct seccomp_rule *r = &filter->rules[i];

		if (r->nr >= SECCOMP_NUMBERS || seen[r->nr])
			return err_kind(e, ERR_BUG,
					"rule for %s: number %u twice or too "
					"large", r->name, r->nr);
		seen[r->nr] = true;
	}
	return 0;
}

int seccomp_compile(const struct seccomp_filter *filter, struct bpf *ret,
		    struct err *e)
{
	struct compiler c = { .bpf = ret };
	unsigned places[SECCOMP_NUMBERS] = { 0 };
	unsigned kill, fallback, root;

	if (check_filter(filter, e) < 0)
		return -1;
	ret->n = 0;
	ret->full = false;
	kill = place_return(&c, VERDICT_KILL);
	fallback = place_return(&c, filter->fallback);
	for (size_t i = 0; i < filter->n; i++)
		places[filter->rules[i].nr] = place_rule(&c, &filter->rules[i]);
	find_ranges(&c, places, fallback);
	root = place_search(&c, 0, c.n_ranges - 1);
	if (root != ret->n)
		bpf_goto(ret, root);
	root = bpf_load(ret, offsetof(struct seccomp_data, nr));
	bpf_test(ret, BPF_JEQ, NATIVE_ARCH, root, kill);
	bpf_load(ret, offsetof(struct seccomp_data, arch));
	if (ret->full)
		return err_kind(e, ERR_BUG, "a filter of more than %d "
				"instructions", BPF_LENGTH_MAX);
	return 0;
}

int seccomp_install(const struct seccomp_filter *filter, struct err *e)
{
	struct bpf program;
	struct sock_fprog prog;
	long rc;

	if (seccomp_compile(filter, &program, e) < 0 ||
	    bpf_program(&program, &prog, e) < 0)
		return -1;
	rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		     SECCOMP_FILTER_FLAG_TSYNC, &prog);
	if (rc < 0)
		return err_feature(e, "seccomp", "3.17", "install a filter");
	if (rc > 0) {
		errno = EBUSY;
		return err_sys(e, "install a filter on thread %ld", rc);
	}
	return 0;
}
