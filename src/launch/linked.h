/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are covered or guarded, or are to be, and may have more names,
 * hard links, than those that are known.
 */
#ifndef LAUNCH_LINKED_H
#define LAUNCH_LINKED_H

#include "builder.h"

struct linked {
	struct path_identity id;
	uint32_t known;		/* names that have a mount of their own */
	enum step_kind kind;	/* STEP_COVER or STEP_GUARD */
	bool hidden;		/* by a `hide`, to which `show` yields */
	struct sv path, why;
};

struct linked_files {
	struct builder *b;
	struct linked *v;	/* of the plan's memory, as is covered */
	size_t n, cap;
	struct sv *covered;	/* paths that were when noted; sorted */
	size_t covered_n;
};

/* Notes what the plan covers and guards so far, what `hide` names anywhere, and
 * the policies.  l is zeroed. */
must_check int linked_note(struct linked_files *l, struct builder *b,
			   struct err *e);
/* One that has names which are not known, or NULL. */
struct linked *linked_incomplete(const struct linked_files *l);
bool linked_is_covered(const struct linked_files *l, struct sv path);

#endif
