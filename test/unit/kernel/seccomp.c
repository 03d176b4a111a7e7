/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler of filters, run on a machine against a plain reading. */
#include "seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "caps.h"
#include "child.h"
#include "machine.h"
#include "own.h"
#include "tap.h"

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

static const struct seccomp_check two_groups[] = {
	{ SECCOMP_EQ, 0, true, 0, 7, 0 },
	{ SECCOMP_ANY, 2, false, 0x30, 0, VERDICT_ERRNO(1) },
	{ SECCOMP_NE, 1, false, 0xff, 5, VERDICT_ERRNO(2) },
	{ 0 },
};
static const struct seccomp_rule few[] = {
	{ 3, VERDICT_ALLOW, NULL, "three" },
	{ 0, VERDICT_ALLOW, NULL, "zero" },
	{ 9, VERDICT_ALLOW, two_groups, "nine" },
	{ 1023, VERDICT_ERRNO(9), NULL, "last" },
};
static const struct seccomp_filter few_filter = {
	.rules = few, .n = countof(few), .fallback = VERDICT_ERRNO(ENOSYS),
};

static struct sock_filter code[BPF_LENGTH_MAX];
static struct bpf program = BPF_IN(code);

static uint32_t run(const struct seccomp_filter *filter, int nr, uint32_t arch,
		    uint64_t a, uint64_t b, uint64_t c)
{
	struct seccomp_data data = {
		.nr = nr, .arch = arch, .args = { a, b, c },
	};
	struct sock_fprog prog;
	struct err e;

	if (seccomp_compile(filter, &program, &e) < 0 ||
	    bpf_program(&program, &prog, &e) < 0)
		return MACHINE_BAD;
	return machine_run(&prog, &data, NULL);
}

static void test_compile_listed_and_unlisted_numbers(void)
{
	CHECK_INT(run(&few_filter, 0, NATIVE, 0, 0, 0), VERDICT_ALLOW);
	CHECK_INT(run(&few_filter, 1, NATIVE, 0, 0, 0), few_filter.fallback);
	CHECK_INT(run(&few_filter, 3, NATIVE, 0, 0, 0), VERDICT_ALLOW);
	CHECK_INT(run(&few_filter, 1023, NATIVE, 0, 0, 0), VERDICT_ERRNO(9));
	CHECK_INT(run(&few_filter, 1024, NATIVE, 0, 0, 0), few_filter.fallback);
	CHECK_INT(run(&few_filter, -1, NATIVE, 0, 0, 0), few_filter.fallback);
}

static void test_compile_foreign_architecture_kills(void)
{
	CHECK_INT(run(&few_filter, 0, AUDIT_ARCH_I386, 0, 0, 0), VERDICT_KILL);
	CHECK_INT(run(&few_filter, 3, 0, 0, 0, 0), VERDICT_KILL);
}

static void test_compile_x32_number_is_fallback(void)
{
	CHECK_INT(run(&few_filter, 0x40000000, NATIVE, 0, 0, 0),
		  few_filter.fallback);
	CHECK_INT(run(&few_filter, 0x40000003, NATIVE, 0, 0, 0),
		  few_filter.fallback);
}

static void test_compile_groups_of_checks_in_order(void)
{
	CHECK_INT(run(&few_filter, 9, NATIVE, 7, 5, 0x10), VERDICT_ERRNO(1));
	CHECK_INT(run(&few_filter, 9, NATIVE, 7, 5, 0x40), VERDICT_ALLOW);
	CHECK_INT(run(&few_filter, 9, NATIVE, 8, 5, 0x10), VERDICT_ALLOW);
	CHECK_INT(run(&few_filter, 9, NATIVE, 8, 6, 0), VERDICT_ERRNO(2));
	CHECK_INT(run(&few_filter, 9, NATIVE, 7, 0x105, 0), VERDICT_ALLOW);
}

/* What the first group leaves over for the others is nothing. */
static void test_compile_group_that_begins_the_next(void)
{
	static const struct seccomp_check checks[] = {
		{ SECCOMP_EQ, 0, false, 0, 7, VERDICT_ERRNO(1) },
		{ SECCOMP_EQ, 0, true, 0, 7, 0 },
		{ SECCOMP_EQ, 0, false, 0, 7, VERDICT_ERRNO(2) },
		{ SECCOMP_EQ, 0, true, 0, 8, 0 },
		{ SECCOMP_EQ, 1, false, 0, 1, VERDICT_ERRNO(3) },
		{ SECCOMP_EQ, 0, false, 0, 8, VERDICT_ERRNO(4) },
		{ 0 },
	};
	const struct seccomp_rule rule = { 5, VERDICT_ALLOW, checks, "five" };
	const struct seccomp_filter f = {
		.rules = &rule, .n = 1, .fallback = VERDICT_KILL,
	};

	CHECK_INT(run(&f, 5, NATIVE, 7, 0, 0), VERDICT_ERRNO(1));
	CHECK_INT(run(&f, 5, NATIVE, 8, 1, 0), VERDICT_ERRNO(3));
	CHECK_INT(run(&f, 5, NATIVE, 8, 0, 0), VERDICT_ERRNO(4));
	CHECK_INT(run(&f, 5, NATIVE, 9, 1, 0), VERDICT_ALLOW);
}

static void test_compile_no_rules_is_fallback(void)
{
	const struct seccomp_filter f = {
		.rules = NULL, .n = 0, .fallback = VERDICT_ERRNO(3),
	};

	CHECK_INT(run(&f, 0, NATIVE, 0, 0, 0), VERDICT_ERRNO(3));
	CHECK_INT(run(&f, 77, NATIVE, 0, 0, 0), VERDICT_ERRNO(3));
}

static void test_compile_high_half_makes_no_difference(void)
{
	const uint64_t high = 0xdeadbeef00000000;

	CHECK_INT(run(&few_filter, 9, NATIVE, high | 7, 5, high | 0x10),
		  VERDICT_ERRNO(1));
}

static void test_compile_allowing_fallback_is_refused(void)
{
	struct seccomp_filter open = few_filter;
	struct err e = { 0 };

	open.fallback = VERDICT_ALLOW;
	CHECK_INT(seccomp_compile(&open, &program, &e), -1);
	CHECK_INT(e.kind, ERR_BUG);
}

/* Behind another filter, which closes what has to be closed. */
static void test_compile_narrowing_may_allow_the_rest(void)
{
	struct seccomp_filter narrow = few_filter;

	narrow.fallback = VERDICT_ALLOW;
	narrow.narrows = true;
	CHECK_INT(run(&narrow, 4, NATIVE, 0, 0, 0), VERDICT_ALLOW);
	CHECK_INT(run(&narrow, 1023, NATIVE, 0, 0, 0), VERDICT_ERRNO(9));
	CHECK_INT(run(&narrow, 4, AUDIT_ARCH_I386, 0, 0, 0), VERDICT_KILL);
}

static void test_compile_opened_number_is_allowed(void)
{
	static const uint16_t opened[] = { 1023, 9 };
	struct seccomp_filter open = few_filter;

	open.opened = opened;
	open.opened_n = countof(opened);
	CHECK_INT(run(&open, 1023, NATIVE, 0, 0, 0), VERDICT_ALLOW);
	CHECK_INT(run(&open, 9, NATIVE, 7, 0, 0x10), VERDICT_ALLOW);
	CHECK_INT(run(&open, 1, NATIVE, 0, 0, 0), few_filter.fallback);
}

static void test_compile_number_twice_is_refused(void)
{
	struct seccomp_rule twice[2] = { few[0], few[0] };
	struct seccomp_filter f = {
		.rules = twice, .n = 2, .fallback = VERDICT_KILL,
	};
	struct err e = { 0 };

	CHECK_INT(seccomp_compile(&f, &program, &e), -1);
	CHECK_INT(e.kind, ERR_BUG);
}

static void test_compile_too_long_is_refused(void)
{
	static struct seccomp_check checks[BPF_LENGTH_MAX + 1];
	const struct seccomp_rule rule = { 0, VERDICT_ALLOW, checks, "long" };
	const struct seccomp_filter f = {
		.rules = &rule, .n = 1, .fallback = VERDICT_KILL,
	};
	struct err e = { 0 };

	for (unsigned i = 0; i < countof(checks) - 1; i++)
		checks[i] = (struct seccomp_check){ SECCOMP_EQ, 0, false, 0, i,
						    VERDICT_KILL };
	CHECK_INT(seccomp_compile(&f, &program, &e), -1);
	CHECK_INT(e.kind, ERR_BUG);
}

static void test_compile_too_many_outcomes_is_refused(void)
{
	struct seccomp_rule many[100];
	struct seccomp_filter f = {
		.rules = many, .n = countof(many), .fallback = VERDICT_KILL,
	};
	struct err e = { 0 };

	for (unsigned i = 0; i < countof(many); i++)
		many[i] = (struct seccomp_rule){ i, VERDICT_ERRNO(i), NULL,
						 "many" };
	CHECK_INT(seccomp_compile(&f, &program, &e), -1);
	CHECK_INT(e.kind, ERR_BUG);
}

/* Of few values, so that neighbours have much in common. */
static void random_checks(struct seccomp_check *ret, unsigned n)
{
	static const uint32_t masks[] = { 0, 1, 3 };
	static const uint8_t args[] = { 0, 1, 0 | SECCOMP_HIGH };

	for (unsigned i = 0; i < n; i++) {
		ret[i] = (struct seccomp_check){
			.op = (uint8_t)(SECCOMP_EQ + rand() % 7),
			.arg = args[rand() % 3],
			.and = i + 1 < n && rand() % 2,
			.mask = masks[rand() % 3],
			.value = (uint32_t)rand() % 2,
			.verdict = VERDICT_ERRNO(rand() % 4),
		};
		if (ret[i].op == SECCOMP_ANY && ret[i].mask == 0)
			ret[i].mask = 2;
	}
	ret[n] = (struct seccomp_check){ 0 };
}

/* Every number, and the arguments that the checks tell apart. */
static unsigned disagreements(const struct seccomp_filter *f,
			      const struct sock_fprog *prog)
{
	unsigned wrong = 0;

	for (int nr = 0; nr < 600; nr++)
		for (unsigned args = 0; args < 32; args++) {
			struct seccomp_data d = {
				.nr = nr, .arch = NATIVE,
				.args = { args % 4 | (uint64_t)(args / 16) << 32,
					  args / 4 % 4 },
			};

			wrong += machine_run(prog, &d, NULL) !=
				 machine_expect(f, NATIVE, &d);
		}
	return wrong;
}

/* Long programs need long jumps. */
static void test_compile_random_filters_agree_with_reading(void)
{
	static struct seccomp_rule rules[SECCOMP_NUMBERS];
	static struct seccomp_check checks[8][13];
	unsigned longest = 0;

	srand(7);
	for (int round = 0; round < 100; round++) {
		struct seccomp_filter f = {
			.rules = rules, .fallback = VERDICT_KILL,
		};
		struct sock_fprog prog = { 0 };
		struct err e;

		for (size_t i = 0; i < countof(checks); i++)
			random_checks(checks[i], (unsigned)rand() % 13);
		for (unsigned nr = 0; nr < 520 && f.n < 120; nr++) {
			int dice = rand() % 8;

			if (dice == 0)
				continue;
			rules[f.n++] = (struct seccomp_rule){
				nr, VERDICT_ERRNO(rand() % 2),
				dice < 3 ? checks[rand() % 8] : NULL, "any",
			};
		}
		CHECK_INT(seccomp_compile(&f, &program, &e), 0);
		CHECK_INT(bpf_program(&program, &prog, &e), 0);
		CHECK_INT(disagreements(&f, &prog), 0);
		if (longest < prog.len)
			longest = prog.len;
	}
	CHECK(longest > 300);
}

static int install(void)
{
	NEED(caps_no_new_privs(&child_err) == 0);
	{
		static const struct seccomp_rule rules[] = {
			SECCOMP_ROW(getppid, VERDICT_ERRNO(EXDEV), NULL),
			SECCOMP_ROW(exit_group, VERDICT_ALLOW, NULL),
			SECCOMP_ROW(write, VERDICT_ALLOW, NULL),
			SECCOMP_ROW(newfstatat, VERDICT_ALLOW, NULL),
		};
		const struct seccomp_filter f = {
			.rules = rules, .n = countof(rules),
			.fallback = VERDICT_KILL,
		};

		NEED(seccomp_install(&f, true, &child_err) == 0);
	}
	NEED(syscall(SYS_getppid) == -1 && errno == EXDEV);
	(void)syscall(SYS_getuid);
	return CHILD_OK;
}

static void test_install_kernel_enforces(void)
{
	CHECK_INT(child_run(install), CHILD_KILLED);
}

int main(void)
{
	RUN(test_compile_listed_and_unlisted_numbers);
	RUN(test_compile_foreign_architecture_kills);
	RUN(test_compile_x32_number_is_fallback);
	RUN(test_compile_groups_of_checks_in_order);
	RUN(test_compile_group_that_begins_the_next);
	RUN(test_compile_no_rules_is_fallback);
	RUN(test_compile_high_half_makes_no_difference);
	RUN(test_compile_allowing_fallback_is_refused);
	RUN(test_compile_narrowing_may_allow_the_rest);
	RUN(test_compile_opened_number_is_allowed);
	RUN(test_compile_number_twice_is_refused);
	RUN(test_compile_too_long_is_refused);
	RUN(test_compile_too_many_outcomes_is_refused);
	RUN(test_compile_random_filters_agree_with_reading);
	RUN(test_install_kernel_enforces);
	return tap_done();
}
