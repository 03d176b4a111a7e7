/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of the host that are asked one thing, outside, before a run.
 *
 * Nothing that the agent can write takes part: a program is looked for in the
 * absolute entries of PATH that do not lead into the working directory, and
 * runs in the root directory with these entries alone as its PATH.
 */
#ifndef CLI_CLIENT_PROGRAM_H
#define CLI_CLIENT_PROGRAM_H

#include "arena.h"
#include "buf.h"

struct client_program {
	const char *path;	/* in the arena; NULL when it is nowhere */
	const char *search;	/* the PATH that is left, "PATH=..." */
};

must_check int client_program_find(const char *name, const char *cwd,
				   struct arena *a, struct client_program *ret,
				   struct err *e);

/* Runs it with those arguments, argv[0] included and NULL behind the last, and
 * takes what it writes; its complaints are dropped, and so is how it ends. */
must_check int client_program_ask(const struct client_program *program,
				  char *const *argv, struct buf *ret,
				  struct err *e);

#endif
