/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of system calls: whatever is read fits its own limits.  What becomes
 * of it as a filter is compared with a plain reading in the unit tests.
 */
#include "syscall_profile.h"

#include "fuzz.h"

static void check_entry(const struct profile_entry *n)
{
	MUST(n->names_n > 0 && n->compares_n <= PROFILE_ARGS);
	MUST(n->verdict.action <= PROFILE_KILL);
	MUST(n->verdict.action != PROFILE_ERRNO ||
	     (n->verdict.errnum > 0 && n->verdict.errnum <= 4095));
	for (size_t i = 0; i < n->names_n; i++)
		MUST(n->names[i].n > 0);
	for (size_t i = 0; i < n->compares_n; i++) {
		MUST(n->compares[i].arg < PROFILE_ARGS);
		MUST(profile_op_sign(n->compares[i].op));
		for (size_t j = 0; j < i; j++)
			MUST(n->compares[i].arg != n->compares[j].arg);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = arena_new(1 << 24);
	struct syscall_profile p;
	struct err e = { 0 };

	if (syscall_profile_parse(fuzz_input(data, size), SV("p.json"), &a, &p,
				  &e) == 0)
		for (size_t i = 0; i < p.entries_n; i++)
			check_entry(&p.entries[i]);
	else
		MUST(e.msg[0]);
	arena_free(&a);
	return 0;
}
