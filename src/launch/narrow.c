/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles to filters: see narrow.h.
 *
 * Of the entries that name a call, the strictest one that matches decides, so
 * that their order means nothing.  A comparison of 64 bits becomes groups of
 * checks of 32 bits: `a > v` is "the high half is greater, or it is equal and
 * the low half is greater".  What the kernel reads as 32 bits is compared as
 * 32 bits, or a program could put garbage into the other half and pass.
 */
#include "narrow.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "calls.h"
#include "filter.h"
#include "own.h"

enum {
	ATOMS_MAX = 2 * PROFILE_ARGS,
	CHECKS_MAX = 2 * BPF_LENGTH_LIMIT,	/* of one call */
	LISTS_MAX = 128,
};

struct maker {
	const struct syscall_profile *profile;
	const struct seccomp_filter *agent;
	struct arena *arena;
	struct sv name;
	uint32_t kernel;
	/* The checks of the call that is being made. */
	struct seccomp_check checks[CHECKS_MAX + 1];
	size_t checks_n;
	bool full;
	/* Those that there are; what is equal is one. */
	const struct seccomp_check *lists[LISTS_MAX];
	size_t lists_n;
};

/* A way to match: all of them. */
struct way {
	struct seccomp_check atoms[ATOMS_MAX];
	size_t n;
	bool never;
};

static int too_large(const struct maker *m, struct err *e)
{
	return err_kind(e, ERR_LIMIT, "%.*s: the profile is too large",
			SV_FMT(m->name));
}

/* MAJOR.MINOR as one number, at the start of a release's name. */
uint32_t narrow_kernel(void)
{
	struct utsname name;
	struct sv v;
	uint32_t parts[2] = { 0 };

	if (uname(&name) < 0)
		return 0;
	v = sv_str(name.release);
	for (size_t i = 0, at = 0; i < v.n && at < countof(parts); i++) {
		if (is_digit(v.p[i]))
			parts[at] = parts[at] * 10 + (uint32_t)(v.p[i] - '0');
		else if (v.p[i] != '.' || ++at == countof(parts))
			break;
	}
	return parts[0] << 16 | parts[1];
}

static void put(struct way *w, enum seccomp_op op, unsigned arg, uint32_t mask,
		uint32_t value)
{
	if (mask == 0) {	/* of which nothing is left but 0 */
		w->never |= value != 0;
		return;
	}
	w->atoms[w->n++] = (struct seccomp_check){
		.op = (uint8_t)op, .arg = (uint8_t)arg, .and = true,
		.mask = mask == UINT32_MAX ? 0 : mask, .value = value,
	};
}

/* Of > and its like: what the high half must be to decide alone. */
static enum seccomp_op strict_op(enum profile_op op)
{
	return op == PROFILE_GT || op == PROFILE_GE ? SECCOMP_GT : SECCOMP_LT;
}

static enum seccomp_op plain_op(enum profile_op op)
{
	static const enum seccomp_op ops[] = {
		[PROFILE_NE] = SECCOMP_NE, [PROFILE_LT] = SECCOMP_LT,
		[PROFILE_LE] = SECCOMP_LE, [PROFILE_EQ] = SECCOMP_EQ,
		[PROFILE_GE] = SECCOMP_GE, [PROFILE_GT] = SECCOMP_GT,
		[PROFILE_MASKED] = SECCOMP_EQ,
	};

	return ops[op];
}

/* The first (0) or second (1) way in which k can hold, into *w. */
static void put_compare(struct way *w, const struct profile_compare *k,
			bool is_int, unsigned which)
{
	const unsigned high = k->arg | SECCOMP_HIGH;
	uint32_t lo = (uint32_t)k->value, hi = (uint32_t)(k->value >> 32);

	if (k->op == PROFILE_MASKED) {
		w->never |= which == 1;
		put(w, SECCOMP_EQ, k->arg, lo, (uint32_t)k->value_two);
		if (!is_int)
			put(w, SECCOMP_EQ, high, hi,
			    (uint32_t)(k->value_two >> 32));
	} else if (is_int) {
		w->never |= which == 1;
		put(w, plain_op(k->op), k->arg, UINT32_MAX, lo);
	} else if (k->op == PROFILE_EQ) {
		w->never |= which == 1;
		put(w, SECCOMP_EQ, high, UINT32_MAX, hi);
		put(w, SECCOMP_EQ, k->arg, UINT32_MAX, lo);
	} else if (k->op == PROFILE_NE) {
		put(w, SECCOMP_NE, which ? high : k->arg, UINT32_MAX,
		    which ? hi : lo);
	} else if (which) {
		put(w, strict_op(k->op), high, UINT32_MAX, hi);
	} else {
		put(w, SECCOMP_EQ, high, UINT32_MAX, hi);
		put(w, plain_op(k->op), k->arg, UINT32_MAX, lo);
	}
}

uint32_t narrow_verdict(struct profile_verdict v)
{
	switch (v.action) {
	case PROFILE_ALLOW:
		return VERDICT_ALLOW;
	case PROFILE_LOG:
		return SECCOMP_RET_LOG;
	case PROFILE_ERRNO:
		return VERDICT_ERRNO(v.errnum);
	case PROFILE_TRAP:
		return SECCOMP_RET_TRAP;
	case PROFILE_KILL:
		break;
	}
	return VERDICT_KILL;
}

/* Where the agent's filter refuses anyway, only what is worse is said. */
static uint32_t verdict_beside(struct profile_verdict v, bool refused)
{
	return refused && v.action <= PROFILE_ERRNO ? VERDICT_ALLOW :
						      narrow_verdict(v);
}

static void add_way(struct maker *m, const struct way *w, uint32_t verdict)
{
	if (w->never)
		return;
	if (m->checks_n + w->n > CHECKS_MAX) {
		m->full = true;
		return;
	}
	for (size_t i = 0; i < w->n; i++)
		m->checks[m->checks_n++] = w->atoms[i];
	m->checks[m->checks_n - 1].and = false;
	m->checks[m->checks_n - 1].verdict = verdict;
}

/* All ways in which all comparisons hold; true: there is one without a check,
 * so that it always does. */
static bool add_entry(struct maker *m, const struct profile_entry *n,
		      const struct call *call, uint32_t verdict)
{
	for (unsigned i = 0; i < 1U << n->compares_n; i++) {
		struct way w = { .n = 0 };

		for (size_t k = 0; k < n->compares_n; k++)
			put_compare(&w, &n->compares[k],
				    call->ints >> n->compares[k].arg & 1,
				    i >> k & 1);
		if (!w.never && w.n == 0)
			return true;
		add_way(m, &w, verdict);
	}
	return false;
}

bool narrow_applies(const struct profile_entry *n, const char *call,
		    uint32_t kernel)
{
	if (kernel < n->from_kernel ||
	    (n->below_kernel && kernel >= n->below_kernel))
		return false;
	for (size_t i = 0; i < n->names_n; i++)
		if (sv_eq(n->names[i], sv_str(call)))
			return true;
	return false;
}

/* A value that an int cannot have would be compared by half of it. */
static int check_values(const struct maker *m, const struct profile_entry *n,
			const struct call *call, struct err *e)
{
	for (size_t i = 0; i < n->compares_n; i++) {
		const struct profile_compare *k = &n->compares[i];

		if ((call->ints >> k->arg & 1) &&
		    (k->value | k->value_two) > UINT32_MAX)
			return err_kind(e, ERR_POLICY,
				"%.*s: argument %u of %s has 32 bits; the value "
				"it is compared with has more",
				SV_FMT(m->name), k->arg, call->name);
	}
	return 0;
}

static bool same_checks(const struct seccomp_check *a,
			const struct seccomp_check *b)
{
	for (; a->op == b->op; a++, b++) {
		if (a->op == SECCOMP_END)
			return true;
		if (a->arg != b->arg || a->and != b->and ||
		    a->mask != b->mask || a->value != b->value ||
		    a->verdict != b->verdict)
			return false;
	}
	return false;
}

/* Many calls have the same checks, which then are in the program once. */
static int keep_checks(struct maker *m, struct seccomp_rule *r, struct err *e)
{
	struct seccomp_check *kept;

	if (m->full)
		return too_large(m, e);
	if (m->checks_n == 0)
		return 0;
	m->checks[m->checks_n] = (struct seccomp_check){ .op = SECCOMP_END };
	for (size_t i = 0; i < m->lists_n && !r->checks; i++)
		if (same_checks(m->checks, m->lists[i]))
			r->checks = m->lists[i];
	if (r->checks)
		return 0;
	kept = arena_alloc(m->arena, (m->checks_n + 1) * sizeof *kept);
	if (!kept || m->lists_n == LISTS_MAX)
		return too_large(m, e);
	memcpy(kept, m->checks, (m->checks_n + 1) * sizeof *kept);
	r->checks = m->lists[m->lists_n++] = kept;
	return 0;
}

/* The checks of all entries with that action, unless there are weaker ones
 * that always apply: those only add what is stricter. */
static int make_rule(struct maker *m, const struct call *call,
		     struct seccomp_rule *r, struct err *e)
{
	const struct syscall_profile *p = m->profile;
	bool refused = filter_refuses(m->agent, call->nr), decided = false;
	struct profile_verdict always = p->otherwise;

	m->checks_n = 0;
	*r = (struct seccomp_rule){ .nr = call->nr, .name = call->name };
	for (int action = PROFILE_KILL; action >= PROFILE_ALLOW; action--) {
		for (size_t i = 0; !decided && i < p->entries_n; i++) {
			const struct profile_entry *n = &p->entries[i];

			if ((int)n->verdict.action != action ||
			    !narrow_applies(n, call->name, m->kernel))
				continue;
			if (check_values(m, n, call, e) < 0)
				return -1;
			if (!add_entry(m, n, call,
				       verdict_beside(n->verdict, refused)))
				continue;
			/* Always: what is weaker is never asked. */
			always = n->verdict;
			decided = true;
		}
	}
	r->verdict = verdict_beside(always, refused);
	return keep_checks(m, r, e);
}

static int check_names(const struct maker *m, struct err *e)
{
	const struct syscall_profile *p = m->profile;

	for (size_t i = 0; i < p->entries_n; i++)
		for (size_t j = 0; j < p->entries[i].names_n; j++) {
			struct sv name = p->entries[i].names[j];

			if (!call_named(name) && !call_is_foreign(name))
				return err_kind(e, ERR_POLICY,
					"%.*s: unknown system call %.*s",
					SV_FMT(m->name),
					(int)(name.n < 60 ? name.n : 60),
					name.p);
		}
	return 0;
}

static int make_rules(struct maker *m, struct seccomp_filter *ret,
		      struct err *e)
{
	struct seccomp_rule *rules = NULL;
	size_t n = 0;

	while (call_at(n))
		n++;
	rules = arena_alloc(m->arena, n * sizeof *rules);
	if (!rules)
		return too_large(m, e);
	for (size_t i = 0; i < n; i++) {
		if (make_rule(m, call_at(i), &rules[i], e) < 0)
			return -1;
		if (rules[i].nr == SYS_execve &&
		    (rules[i].checks || rules[i].verdict != VERDICT_ALLOW))
			return err_kind(e, ERR_POLICY,
				"%.*s: execve is not allowed, so that no "
				"command could run", SV_FMT(m->name));
	}
	*ret = (struct seccomp_filter){
		.rules = rules, .n = n, .narrows = true,
		/* Numbers that nobody has a name for: ENOSYS, or worse. */
		.fallback = verdict_beside(m->profile->otherwise, true),
	};
	return 0;
}

int narrow_profile(const struct syscall_profile *p, struct sv name, bool debug,
		   struct arena *a, struct seccomp_filter *ret, struct err *e)
{
	struct maker *m = arena_alloc(a, sizeof *m);

	if (!m)
		return err_kind(e, ERR_LIMIT, "%.*s: the profile is too large",
				SV_FMT(name));
	m->profile = p;
	m->agent = filter_agent(debug);
	m->arena = a;
	m->name = name;
	m->kernel = narrow_kernel();
	if (check_names(m, e) < 0)
		return -1;
	return make_rules(m, ret, e);
}

int narrow_strict(bool debug, struct arena *a, struct seccomp_filter *ret,
		  struct err *e)
{
	size_t max = filter_agent(debug)->n;
	struct seccomp_rule *rules = arena_alloc(a, max * sizeof *rules);

	if (!rules)
		return err_kind(e, ERR_LIMIT, "out of memory");
	filter_strict(debug, rules, ret);
	return 0;
}

int narrow_compile(const struct seccomp_filter *f, struct sv name,
		   struct arena *a, struct sv *ret, struct err *e)
{
	auto_free struct sock_filter *code = calloc(BPF_LENGTH_LIMIT,
						    sizeof *code);
	struct bpf b = { .code = code, .max = BPF_LENGTH_LIMIT };
	struct sock_fprog prog;

	if (!code)
		return err_sys(e, "allocate a filter");
	if (seccomp_compile(f, &b, e) < 0 || bpf_program(&b, &prog, e) < 0) {
		if (!b.full)
			return err_ctx(e, "%.*s", SV_FMT(name));
		return err_kind(e, ERR_LIMIT, "%.*s: its filter would have more "
				"than %d instructions, or too many kinds of "
				"conditions", SV_FMT(name), BPF_LENGTH_LIMIT);
	}
	*ret = arena_dup(a, sv_of((const char *)prog.filter,
				  prog.len * sizeof *prog.filter));
	return ret->p ? 0 : err_kind(e, ERR_LIMIT, "%.*s: out of memory",
				     SV_FMT(name));
}
