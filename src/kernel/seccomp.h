/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp filters: rules to a program, and its installation.
 *
 * A rule says what happens to one system call.  Without checks that is its
 * verdict; with checks, the first group of checks that matches decides, and
 * the rule's verdict is what is left.  Calls without a rule get the fallback,
 * which cannot be "allow".
 *
 * Arguments are compared by their low 32 bits.  That is exact for every
 * argument that our own rules look at: each is an int, an unsigned int or a
 * bit set of which the kernel itself drops the high half, so that garbage in
 * the high half must not make a difference.  Rules that others wrote may also
 * look at the high half.
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
#define VERDICT_ERRNO(n) (SECCOMP_RET_ERRNO | (uint32_t)(n))

/* Numbers are below this on every architecture. */
enum { SECCOMP_NUMBERS = 1024 };

enum seccomp_op {
	SECCOMP_END = 0,
	SECCOMP_EQ,		/* (arg & mask) == value */
	SECCOMP_NE,		/* (arg & mask) != value */
	SECCOMP_ANY,		/* (arg & mask) != 0; value is not used */
	SECCOMP_GT,		/* (arg & mask) > value, and so on */
	SECCOMP_GE,
	SECCOMP_LT,
	SECCOMP_LE,
};

/* Added to a check's argument: its high 32 bits. */
enum { SECCOMP_HIGH = 8 };

/* One comparison.  With `and` the group goes on with the next one; the last
 * of a group has the verdict for when all of it matches. */
struct seccomp_check {
	uint8_t op;		/* enum seccomp_op; SECCOMP_END ends the list */
	uint8_t arg;		/* 0..5, with SECCOMP_HIGH */
	bool and;
	uint32_t mask;		/* 0 means all bits */
	uint32_t value;
	uint32_t verdict;
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
	uint32_t fallback;	/* for a number without a rule, and x32 */
	/* Numbers of rules that allow after all, whatever they say. */
	const uint16_t *opened;
	size_t opened_n;
	/* Another one is in force already, so that this may allow the rest:
	 * VERDICT_ALLOW itself, which alone the kernel remembers by number. */
	bool narrows;
};

/* Any other architecture than the native one kills the process. */
must_check int seccomp_compile(const struct seccomp_filter *filter,
			       struct bpf *ret, struct err *e);
/* The instructions alone, behind another filter; for the calling thread. */
must_check int seccomp_add(const struct sock_fprog *prog, struct err *e);
/* For the caller, or every thread of its process; needs no_new_privs. */
must_check int seccomp_install(const struct seccomp_filter *filter,
			       bool all_threads, struct err *e);

/* For tables: a row named after its call. */
#define SECCOMP_ROW(call, what, with) \
	{ .nr = SYS_##call, .verdict = (what), .checks = (with), .name = #call }

#endif
