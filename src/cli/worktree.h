/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worktree of git's whose repository lies elsewhere: without a grant of that,
 * git says inside that there is no repository, and not why.
 */
#ifndef CLI_WORKTREE_H
#define CLI_WORKTREE_H

#include "policy.h"

/* Tells the person at the terminal which grant is missing, if one is. */
void worktree_tell(const struct policy *p, const char *cwd);

#endif
