/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that a plain file may get, and what has or leads to something below it may
 * not: `.config` where `.config/git` is guarded.
 *
 * Between our look and our call an agent in another sandbox, which can write the
 * same tree, may give the old name to a directory.  So what is linked is held by
 * a descriptor, and what is renamed is looked at under a name that no sandbox
 * lets be given to anything or taken away.
 */
#ifndef LAUNCH_PLAIN_H
#define LAUNCH_PLAIN_H

#include "descent.h"

/* absent.c forbids them. */
#define PLAIN_NAME ".stockade-plain-"

bool plain_is_reserved(const struct descent *d);
/* 0 or an errno. */
must_check int plain_link(const struct descent *from, const struct descent *to);
/* flags: without RENAME_EXCHANGE. */
must_check int plain_rename(const struct descent *from,
			    const struct descent *to, unsigned flags);

#endif
