/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `syscalls strict` and `syscalls FILE`: filters for behind the agent's own.
 *
 * The kernel asks all filters and does what the most restrictive one says, so
 * that nothing in here can open what the agent's filter closes.  Two errors are
 * equally restrictive, and then the kernel takes that of the filter which came
 * last: where the agent's filter refuses in any case, these say nothing, so
 * that clone3 stays ENOSYS and libraries fall back from it.
 */
#ifndef LAUNCH_NARROW_H
#define LAUNCH_NARROW_H

#include "arena.h"
#include "seccomp.h"
#include "syscall_profile.h"

/* What *ret points to is in the arena; name is for messages, and short. */
must_check int narrow_strict(bool debug, struct arena *a,
			     struct seccomp_filter *ret, struct err *e);
must_check int narrow_profile(const struct syscall_profile *p, struct sv name,
			      bool debug, struct arena *a,
			      struct seccomp_filter *ret, struct err *e);

/* For people: does that entry speak of that call on that kernel, this one, and
 * what would the kernel be told? */
uint32_t narrow_kernel(void);
bool narrow_applies(const struct profile_entry *n, const char *call,
		    uint32_t kernel);
uint32_t narrow_verdict(struct profile_verdict v);

/* The instructions, for plan steps. */
must_check int narrow_compile(const struct seccomp_filter *f, struct sv name,
			      struct arena *a, struct sv *ret, struct err *e);

#endif
