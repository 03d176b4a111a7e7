/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each system call by name, and what the filters of a run say about it: see
 * doctor_syscalls.h.
 *
 * It is read from the rules that the filters are made of.  As in the kernel the
 * most restrictive of several answers counts, and of two errors the newer
 * filter's.
 */
#include "doctor_syscalls.h"

#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "filter.h"
#include "json.h"
#include "narrow.h"
#include "own.h"
#include "statement.h"

/* What all filters together say about a call. */
struct answer {
	uint32_t always;	/* the strictest of what depends on nothing */
	bool conditional;	/* and arguments make a difference */
	uint32_t strictest;	/* what they may make of it */
	struct buf words;	/* how */
};

static uint32_t action_of(uint32_t verdict)
{
	return verdict & SECCOMP_RET_ACTION_FULL;
}

/* Smaller is stricter, read as the kernel does: with a sign. */
static bool is_stricter(uint32_t a, uint32_t b)
{
	return (int32_t)action_of(a) < (int32_t)action_of(b);
}

static void put_verdict(struct buf *b, uint32_t verdict)
{
	const char *name = strerrorname_np((int)(verdict &
						 SECCOMP_RET_DATA));

	switch (action_of(verdict)) {
	case SECCOMP_RET_ALLOW:
		buf_puts(b, "allowed");
		break;
	case SECCOMP_RET_LOG:
		buf_puts(b, "logged");
		break;
	case SECCOMP_RET_ERRNO:
		if (name)
			buf_puts(b, name);
		else
			buf_printf(b, "errno %u",
				   (unsigned)(verdict & SECCOMP_RET_DATA));
		break;
	case SECCOMP_RET_TRAP:
		buf_puts(b, "SIGSYS");
		break;
	default:
		buf_puts(b, "killed");
	}
}

static const struct seccomp_rule *find_rule(const struct seccomp_filter *f,
					    uint32_t nr)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->rules[i].nr == nr)
			return &f->rules[i];
	return NULL;
}

static void add_always(struct answer *a, uint32_t verdict)
{
	/* The later filter's among equals. */
	if (!is_stricter(a->always, verdict) &&
	    action_of(verdict) != SECCOMP_RET_ALLOW)
		a->always = verdict;
}

/* The agent's own: a rule with checks allows some, and refuses others. */
static void ask_agent(struct answer *a, const struct call *c, bool debug)
{
	const struct seccomp_filter *f = filter_agent(debug);
	const struct seccomp_rule *r = find_rule(f, c->nr);
	const char *words = filter_words(c->nr);

	if (!r || filter_refuses(f, c->nr)) {
		add_always(a, r ? r->verdict : f->fallback);
	} else if (r->checks) {
		a->conditional = true;
		buf_puts(&a->words, words ? words : "some arguments");
	}
}

static void put_compare(struct buf *b, const struct profile_compare *k)
{
	buf_printf(b, "argument %u ", k->arg);
	if (k->op == PROFILE_MASKED)
		buf_printf(b, "& %#llx == %#llx",
			   (unsigned long long)k->value,
			   (unsigned long long)k->value_two);
	else
		buf_printf(b, "%s %llu", profile_op_sign(k->op),
			   (unsigned long long)k->value);
}

static void put_entry(struct answer *a, const struct profile_entry *n)
{
	const uint32_t verdict = narrow_verdict(n->verdict);

	if (is_stricter(verdict, a->strictest))
		a->strictest = verdict;
	put_verdict(&a->words, verdict);
	for (size_t i = 0; i < n->compares_n; i++) {
		buf_puts(&a->words, i ? " and " : " if ");
		put_compare(&a->words, &n->compares[i]);
	}
	buf_puts(&a->words, ", ");
}

/* A profile's: its entries, the strictest first, and what is left. */
static void ask_profile(struct answer *a, const struct call *c,
			const struct syscalls_rule *rule,
			const struct seccomp_rule *r)
{
	const struct syscall_profile *p = rule->profile;
	uint32_t kernel = narrow_kernel();

	a->conditional = true;
	buf_puts(&a->words, a->words.n ? "; and by " : "by ");
	buf_put_visible(&a->words, name_tail(rule->path));
	buf_puts(&a->words, ": ");
	for (int action = PROFILE_KILL; action >= PROFILE_ALLOW; action--)
		for (size_t i = 0; i < p->entries_n; i++) {
			const struct profile_entry *n = &p->entries[i];

			if ((int)n->verdict.action == action &&
			    n->compares_n &&
			    narrow_applies(n, c->name, kernel))
				put_entry(a, n);
		}
	buf_puts(&a->words, "else ");
	put_verdict(&a->words, r->verdict);
}

static void ask_filter(struct answer *a, const struct call *c,
		       const struct syscalls_rule *rule)
{
	const struct seccomp_filter *f = rule->filter;
	const struct seccomp_rule *r = f ? find_rule(f, c->nr) : NULL;

	if (r && r->checks && rule->profile)
		ask_profile(a, c, rule, r);
	else if (f)
		add_always(a, r ? r->verdict : f->fallback);
}

static struct answer ask(const struct policy *p, const struct call *c)
{
	struct answer a = {
		.always = VERDICT_ALLOW, .strictest = VERDICT_ALLOW,
		.words = buf_new(65536),
	};

	ask_agent(&a, c, p->debug);
	for (size_t i = 0; i < p->syscalls_n; i++)
		ask_filter(&a, c, &p->syscalls[i]);
	if (!is_stricter(a.always, SECCOMP_RET_LOG))
		return a;
	/* Refused whatever the arguments are; they may only make it worse. */
	a.conditional = is_stricter(a.strictest, a.always);
	buf_puts(&a.words, "; and never better than ");
	put_verdict(&a.words, a.always);
	return a;
}

static void put_answer(struct buf *b, const struct answer *a)
{
	if (a->conditional)
		buf_puts(b, "conditional");
	else
		put_verdict(b, a->always);
}

static void print_line(const struct call *c, const struct answer *a,
		       struct buf *b)
{
	auto_buf struct buf verdict = buf_new(64);

	put_answer(&verdict, a);
	if (!a->conditional) {
		buf_printf(b, "%-24s %.*s\n", c->name,
			   SV_FMT(buf_sv(&verdict)));
		return;
	}
	buf_printf(b, "%-24s %-11.*s  ", c->name, SV_FMT(buf_sv(&verdict)));
	buf_put(b, buf_sv(&a->words));
	buf_putc(b, '\n');
}

static void print_object(const struct call *c, const struct answer *a,
			 struct json *j)
{
	auto_buf struct buf verdict = buf_new(64);

	put_answer(&verdict, a);
	json_open(j, '{');
	json_put_str(j, "name", c->name);
	json_put_u64(j, "number", c->nr);
	json_put_sv(j, "verdict", buf_sv(&verdict));
	if (a->conditional)
		json_put_sv(j, "condition", buf_sv(&a->words));
	json_close(j, '}');
}

void doctor_syscalls(const struct policy *p, bool as_json, struct buf *b)
{
	struct json j = json_line(b);

	if (as_json) {
		json_open(&j, '{');
		json_key(&j, "syscalls");
		json_open(&j, '[');
	}
	for (size_t i = 0; call_at(i); i++) {
		struct answer a = ask(p, call_at(i));

		if (as_json)
			print_object(call_at(i), &a, &j);
		else
			print_line(call_at(i), &a, b);
		b->full |= a.words.full;
		buf_free(&a.words);
	}
	if (as_json) {
		json_close(&j, ']');
		json_put_str(&j, "unlisted", "ENOSYS");
		json_put_str(&j, "foreign_abi", "killed");
		json_close(&j, '}');
		buf_putc(b, '\n');
	} else {
		buf_puts(b, "\nEvery other number is ENOSYS; calls of another "
			 "architecture kill the process.\n");
	}
}
