/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of a verb.
 *
 * Every statement of the policy language is a flag already (`--allow 'GET
 * example.org'` or `--allow='GET example.org'`), as is --policy FILE; a verb's
 * own flags come from a table.  An unknown flag is an error that names the
 * nearest one.
 */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { FLAGS_STATEMENTS_MAX = 1024, FLAGS_FILES_MAX = 32 };

/* `--allow 'GET example.org'`: word and value, from argv. */
struct source_flag {
	const char *word;	/* without dashes, "read?" when optional; up to
				   a `=`, if there is one */
	size_t word_n;
	const char *value;
};

/* What the flags say about the policy, for source_load(). */
struct source_options {
	struct source_flag statements[FLAGS_STATEMENTS_MAX];
	size_t statements_n;
	const char *files[FLAGS_FILES_MAX];	/* --policy FILE */
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

#endif
