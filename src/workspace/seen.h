/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the host's entry another than the run began with?
 *
 * By its ctime, which no program can set.  An apply that was undone, or made
 * only a part of the changes, changes ctimes as well: those are noted.  And a
 * directory can take another's name with all that is in it, which is as old as
 * can be: which directories they were is noted when the run has ended.
 */
#ifndef WORKSPACE_SEEN_H
#define WORKSPACE_SEEN_H

#include <stdbool.h>
#include <sys/stat.h>

#include "held.h"

bool seen_is_later(const struct held *h, uint32_t tree, struct sv path,
		   const struct stat *st);
/* Is it the directory that had this path when the run ended? */
enum seen_directory { SEEN_UNKNOWN = 0, SEEN_SAME, SEEN_OTHER };
enum seen_directory seen_directory(const struct held *h, uint32_t tree,
				   struct sv path, const struct stat *st);
must_check int seen_note_directories(struct held *h, struct err *e);
must_check int seen_load(struct held *h, struct err *e);
/* Notes what a has touched, as it is now. */
struct apply;
must_check int seen_note(struct apply *a, struct err *e);

#endif
