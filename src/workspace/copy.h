/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a file and belongs to it, copied from one descriptor to another. */
#ifndef WORKSPACE_COPY_H
#define WORKSPACE_COPY_H

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"

/* `size` bytes into an empty file; a hole stays one. */
must_check int copy_contents(int to_fd, int from_fd, off_t size,
			     struct err *e);
/* A user's attributes and ACLs; with `notes` also overlayfs's own. */
must_check int copy_attributes(int to_fd, int from_fd, bool notes,
			       struct err *e);

#endif
