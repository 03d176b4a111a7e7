/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `workspace overlay`: a tree that the agent may write is shown as an overlay
 * over the host's, and what is written is held in a directory of the state:
 *
 *	HELD/0/upper	what was written, removed and renamed
 *	HELD/0/work	the kernel's, for that
 *	HELD/1/...	of the next overlay
 *
 * Covers, guards and pins lie on the overlay as they do on a bind.  An ordinary
 * user's overlay is made by pid 1, in his user namespace.  Root's is made out
 * here and its trees are given to pid 1: of layers that show the owner mapped,
 * so that it writes as the agent, and the disk says the owner.
 *
 * One overlay shows several trees where it can (overlay_share.c): its lower
 * layer is a directory that they are in, it is attached nowhere itself, and each
 * tree is a mount of just that part.  So nothing beside them is seen.  A single
 * file is shown likewise, by an overlay of its directory.
 *
 * An overlay shows one file system and nothing that is mounted below it, so a
 * tree that has a mount is refused: it would show what that mount hides.
 */
#ifndef LAUNCH_OVERLAY_H
#define LAUNCH_OVERLAY_H

#include <sys/stat.h>

#include "builder.h"

static inline bool overlay_is_file(const struct step *s)
{
	return s->identity.type != S_IFDIR;
}

/* The directory that is shown, or that a file is shown of. */
struct sv overlay_directory(const struct step *s);

/* `limit workspace`: the layers are in a file system of that size (layers.c). */
bool overlay_is_limited(const struct plan *plan);

/* Where the host has mounts. */
struct overlay_points {
	struct sv *list;
	size_t n, cap;
};
/* Makes the plan's list of overlays and gives each OVERLAY its own. */
must_check int overlays_share(struct builder *b,
			      const struct overlay_points *points,
			      struct err *e);

#endif
