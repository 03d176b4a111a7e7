/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp filters: rules to a program, and its installation.
 *
 * A rule says what happens to one system call.  Without checks that is its
 * verdict; with checks, the first check that matches decides, and the rule's
 * verdict is what is left.  Calls without a rule get the filter's default.
 *
 * Arguments are compared by their low 32 bits, as the kernel itself takes an
 * int, unless `wide` is set: then the high half must be zero to match.
 */
#ifndef KERNEL_SECCOMP_H
#define KERNEL_SECCOMP_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf.h"

/* Verdicts, as the kernel encodes them. */
#define VERDICT_ALLOW SECCOMP_RET_ALLOW
#define VERDICT_KILL SECCOMP_RET_KILL_PROCESS
#define VERDICT_ERRNO(n) (SECCOMP_RET_ERRNO | ((uint32_t)(n) & SECCOMP_RET_DATA))

enum seccomp_op {
	SECCOMP_EQ = 1,		/* (arg & mask) == value */
	SECCOMP_NE,		/* (arg & mask) != value */
	SECCOMP_ANY,		/* (arg & mask) != 0 */
};

/* One comparison; with `and` the next one must match as well. */
struct seccomp_check {
	uint8_t op;		/* enum seccomp_op; 0 ends the list */
	uint8_t arg;		/* 0..5 */
	bool and;
	bool wide;
	uint32_t mask;		/* 0 means all bits */
	uint32_t value;
	uint32_t verdict;	/* of the last comparison of a chain */
};

struct seccomp_rule {
	uint32_t nr;
	uint32_t verdict;
	const struct seccomp_check *checks;	/* NULL: none */
	const char *name;
};

struct seccomp_filter {
	const struct seccomp_rule *rules;	/* in any order, no number twice */
	size_t n;
	uint32_t fallback;	/* for a number without a rule */
};

/* Any other architecture than the native one kills the process; the x32 bit
 * is ENOSYS. */
must_check int seccomp_compile(const struct seccomp_filter *filter,
			       struct bpf *ret, struct err *e);
/* For every thread of the process; needs no_new_privs. */
must_check int seccomp_install(const struct seccomp_filter *filter,
			       struct err *e);

#endif
