/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worktree of git's whose repository lies elsewhere: without a grant of that,
 * git says inside that there is no repository, and not why.
 */
#ifndef CLI_WORKTREE_H
#define CLI_WORKTREE_H

#include "buf.h"
#include "policy.h"

/* Before the command runs, which could write such files itself: with a person at
 * the terminal, and a grant that is missing, what to tell afterwards. */
void worktree_look(const struct policy *p, const char *cwd, struct buf *ret);

#endif
