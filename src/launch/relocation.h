/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renaming a directory of the host's in an overlay, which the kernel refuses
 * (EXDEV): by its parts.
 *
 *	list	what is in it, and whether all of it may go (inventory.h)
 *	move	each part into a new directory beside the new name; what is the
 *		agent's own already goes by one rename, of the host's each
 *		directory is made anew and each file renamed
 *	name	the new directory gets its name, at once
 *
 * Each step is a call that the agent could make itself.  No other name is made
 * meanwhile, for that is up to us as well.  What fails is taken back.  Nothing
 * is ever removed but empty directories, so that whatever ends this leaves all
 * of it, under the old name or under RELOCATION_NAME beside the new one.
 */
#ifndef LAUNCH_RELOCATION_H
#define LAUNCH_RELOCATION_H

#include "judge.h"

#define RELOCATION_NAME ".stockade-rename-"

/* What a rename that failed with EXDEV is answered with: 0 or an errno. */
must_check int relocation_make(struct judge *j, const struct descent *from,
			       const struct descent *to, unsigned flags);

#endif
