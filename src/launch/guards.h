/* SPDX-License-Identifier: Apache-2.0 */
/* Guards: what stays as it is inside a write grant. */
#ifndef LAUNCH_GUARDS_H
#define LAUNCH_GUARDS_H

#include "builder.h"

#define GUARDED_BY_DEFAULT "guarded by default"

/*
 * path, which must exist, becomes read-only, and no directory between it and
 * the grant around it can be renamed away.  Does nothing outside write grants.
 */
must_check int guards_add(struct builder *b, struct sv path, struct sv why,
			  struct err *e);
/* What the git directory `dir`, of a submodule or a worktree, has not and is not
 * to get. */
must_check int guards_add_git_dir(struct builder *b, struct sv dir,
				  struct err *e);
/* The default guards of a directory in a write grant that start with `name`,
 * where they exist. */
must_check int guards_add_default(struct builder *b, struct sv dir,
				  struct sv name, struct err *e);
/* One more that is known to exist, unless a `write` names it. */
must_check int guards_add_found(struct builder *b, struct sv path,
				struct err *e);

#endif
