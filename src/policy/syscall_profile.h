/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile of system calls, as container engines write it: the form of the
 * OCI runtime specification (`architectures`), and Docker's (`archMap`,
 * `includes`, `excludes`, `minKernel`), which Podman's is too.
 *
 * Here it is data; launch/narrow.h makes a filter of it.  What the sandbox does
 * not have is resolved already: capabilities are none, and what is for other
 * architectures is left out.  What is not understood is an error, and so is an
 * action that would hand a call to somebody else (TRACE, NOTIFY).
 */
#ifndef POLICY_SYSCALL_PROFILE_H
#define POLICY_SYSCALL_PROFILE_H

#include "arena.h"

/* From the weakest to the strongest. */
enum profile_action {
	PROFILE_ALLOW = 0,
	PROFILE_LOG,		/* allowed, and in the host's log */
	PROFILE_ERRNO,
	PROFILE_TRAP,		/* SIGSYS, which can be caught */
	PROFILE_KILL,		/* the whole process, also for KILL_THREAD */
};

struct profile_verdict {
	enum profile_action action;
	uint16_t errnum;	/* with PROFILE_ERRNO */
};

enum profile_op {
	PROFILE_NE, PROFILE_LT, PROFILE_LE, PROFILE_EQ, PROFILE_GE, PROFILE_GT,
	PROFILE_MASKED,		/* (argument & value) == value_two */
};

struct profile_compare {
	uint8_t arg;
	enum profile_op op;
	uint64_t value, value_two;
};

enum { PROFILE_ARGS = 6 };

/* Applies where all comparisons hold. */
struct profile_entry {
	struct sv *names;
	size_t names_n;
	struct profile_verdict verdict;
	struct profile_compare compares[PROFILE_ARGS];
	size_t compares_n;
	/* MAJOR << 16 | MINOR, 0 for none: from that kernel on, below that one. */
	uint32_t from_kernel, below_kernel;
};

struct syscall_profile {
	struct profile_verdict otherwise;
	struct profile_entry *entries;
	size_t entries_n, entries_cap;
};

/* name is for messages; what *ret points to is in the arena. */
must_check int syscall_profile_parse(struct sv text, struct sv name,
				     struct arena *a,
				     struct syscall_profile *ret,
				     struct err *e);

/* How that operation is written for people: "!=". */
const char *profile_op_sign(enum profile_op op);

#endif
