/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run's policy comes from, and the flags that say so.
 *
 * Merged, in any order with the same result: the statements given as flags,
 * the files of --policy, the user's own policy, and the project's
 * ./stockade.policy once `stockade trust` has recorded it.  A file named by
 * --policy replaces the project's.
 *
 * A verb parses its command line with flags_parse(): every statement of the
 * policy language is a flag already, its own flags come from a table.
 */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "policy.h"

enum { SOURCE_FLAGS_MAX = 1024, SOURCE_TRUST_NAME = 64 };

/* `--allow 'GET example.org'`: word and value, from argv. */
struct source_flag {
	const char *word;	/* without dashes; "read?" when optional */
	const char *value;
};

struct source_options {
	struct source_flag statements[SOURCE_FLAGS_MAX];
	size_t statements_n;
	const char *files[32];		/* --policy FILE */
	size_t files_n;
};

/* A verb's own flag; `text` or `set` receives it, the other is NULL. */
struct flag_spec {
	const char *name;		/* "json": --json */
	bool *set;			/* --json */
	const char **text;		/* --name VALUE or --name=VALUE */
};

/*
 * Reads flags up to the first argument that is none, or past `--`.  `own` ends
 * with an empty entry.  *ret_first is the index of what follows the flags.
 */
must_check int flags_parse(const struct flag_spec *own,
			   struct source_options *o, int argc, char **argv,
			   int *ret_first, struct err *e);

/*
 * The whole policy, merged and checked.  ret->files are the files that it was
 * read from (launch keeps them out of the agent's reach).  The caller frees it
 * with policy_free(), also after a failure.
 */
must_check int source_load(const struct source_options *o, struct policy *ret,
			   struct err *e);

/* Reads a policy file and records that the user has reviewed it: the verb
 * `trust`.  *ret_path is its absolute path, in a. */
must_check int source_trust(const char *file, struct arena *a,
			    struct sv *ret_path, struct err *e);

#endif
