/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run's policy comes from.
 *
 * Merged, in any order with the same result: the statements given as flags,
 * the files of --policy, the user's own policy, and the project's
 * ./stockade.policy once `stockade trust` has recorded it.  A file named by
 * --policy replaces the project's.
 */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "buf.h"
#include "flags.h"
#include "policy.h"

/*
 * The whole policy, merged and checked.  ret->files are the files that it was
 * read from (launch keeps them out of the agent's reach).  The caller frees it
 * with policy_free(), also after a failure.
 */
must_check int source_load(const struct source_options *o, struct policy *ret,
			   struct err *e);

/*
 * The folders that the policies of later runs come from, though nothing may be
 * there yet: the user's (empty when there is no home), and the shipped
 * profiles.  The texts live in a.
 */
must_check int source_folders(struct arena *a, struct sv ret[2],
			      struct err *e);

/* The project's policy, in the working directory. */
#define SOURCE_PROJECT_FILE "stockade.policy"

/* Reads a regular file whole; a fifo of a hostile project is not waited for. */
must_check int source_read_regular(const char *path, struct buf *ret,
				   struct err *e);

#endif
