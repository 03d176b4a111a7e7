/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe: tries one thing from inside and says what came of it.
 *
 *	probe VERB ARGUMENT...
 *
 * prints a line for each attempt, with tabs between the columns:
 *
 *	NAME	ALLOWED|BLOCKED	0|ERRNO|SIGNAL
 *
 * The same attempt outside must be ALLOWED, or the test has no teeth.  Every
 * attempt runs in a process of its own, so that a filter that kills is seen,
 * and that nothing of it remains.  The status is 0 when the attempt was made,
 * whatever came of it, and 2 for a question that probe does not understand.
 */
#ifndef TEST_PROBE_H
#define TEST_PROBE_H

#include <stdbool.h>

/* 0, or -errno; args are the verb's arguments. */
typedef int probe_fn(char **args);

struct probe_verb {
	const char *name;
	int n_args;
	probe_fn *attempt;
};

extern const struct probe_verb probe_files[];	/* ended by a NULL name */
extern const struct probe_verb probe_network[];
extern const struct probe_verb probe_kernel[];
extern const struct probe_verb probe_calls[];

/* `probe syscall NAME...`; with no name, all of them. */
int probe_syscalls(int argc, char **argv);
/* `probe posture`: key=value lines. */
int probe_posture(void);

/* Makes the attempt and prints its line; detail may be NULL. */
void probe_report(const char *name, const char *detail, probe_fn *attempt,
		  char **args);

/* A decimal or 0x number; -1 for anything else. */
long probe_number(const char *text);

/* For the end of an attempt: 0 or -errno of a call that gives -1. */
int probe_result(long rc);

#endif
