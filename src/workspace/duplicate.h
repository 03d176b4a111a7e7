/* SPDX-License-Identifier: Apache-2.0 */
/* A whole upper layer, as it is, in another place. */
#ifndef WORKSPACE_DUPLICATE_H
#define WORKSPACE_DUPLICATE_H

#include "err.h"

/*
 * What is below from_fd, and what it is itself, into the empty directory to_fd:
 * contents with their holes, modes, times, a user's attributes and ACLs,
 * overlayfs's notes and whiteouts; by root also owners.  Not security.*
 * attributes, which are never applied.  It may be of any depth.
 *
 * links_fd is an empty directory of to_fd's file system.  A file with several
 * names has them again in all that is copied with the same one, which may be
 * removed afterwards with what is in it.
 */
must_check int duplicate_tree(int from_fd, int to_fd, int links_fd,
			      struct err *e);

#endif
