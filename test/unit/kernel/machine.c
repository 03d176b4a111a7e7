/* SPDX-License-Identifier: Apache-2.0 */
/* A classic BPF machine: see machine.h. */
#include "machine.h"

#include <string.h>

uint32_t machine_run(const struct sock_fprog *prog,
		     const struct seccomp_data *data, unsigned *steps)
{
	uint32_t a = 0;
	unsigned done = 0;

	for (unsigned pc = 0; pc < prog->len; pc++) {
		const struct sock_filter *f = &prog->filter[pc];

		done++;
		if (steps)
			*steps = done;
		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (f->k % 4 || f->k + 4 > sizeof *data)
				return MACHINE_BAD;
			memcpy(&a, (const char *)data + f->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += f->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += a & f->k ? f->jt : f->jf;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		default:
			return MACHINE_BAD;
		}
	}
	return MACHINE_BAD;
}

static bool matches(const struct seccomp_check *k, uint64_t arg)
{
	uint32_t low = (uint32_t)(k->arg & SECCOMP_HIGH ? arg >> 32 : arg);
	uint32_t seen = k->mask ? low & k->mask : low;

	if (k->op == SECCOMP_EQ)
		return seen == k->value;
	if (k->op == SECCOMP_NE)
		return seen != k->value;
	if (k->op == SECCOMP_GT || k->op == SECCOMP_LE)
		return (seen > k->value) == (k->op == SECCOMP_GT);
	if (k->op == SECCOMP_GE || k->op == SECCOMP_LT)
		return (seen >= k->value) == (k->op == SECCOMP_GE);
	return (low & k->mask) != 0;
}

uint32_t machine_expect(const struct seccomp_filter *filter, uint32_t arch,
			const struct seccomp_data *data)
{
	const struct seccomp_rule *rule = NULL;
	bool group = true;

	if (data->arch != arch)
		return VERDICT_KILL;
	for (size_t i = 0; i < filter->n; i++)
		if ((int)filter->rules[i].nr == data->nr)
			rule = &filter->rules[i];
	if (!rule)
		return filter->fallback;
	for (size_t i = 0; i < filter->opened_n; i++)
		if (filter->opened[i] == rule->nr)
			return VERDICT_ALLOW;
	for (const struct seccomp_check *k = rule->checks; k && k->op; k++) {
		group = group && matches(k, data->args[k->arg % SECCOMP_HIGH]);
		if (k->and)
			continue;
		if (group)
			return k->verdict;
		group = true;
	}
	return rule->verdict;
}
