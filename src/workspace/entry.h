/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single entries of directories, by descriptor and name; no symbolic link is
 * ever followed.
 */
#ifndef WORKSPACE_ENTRY_H
#define WORKSPACE_ENTRY_H

#include <stdbool.h>
#include <sys/stat.h>

#include "buf.h"
#include "err.h"

/* 1 and *ret, or 0 when nothing is there. */
must_check int entry_look(int dir_fd, const char *name, struct stat *ret,
			  struct err *e);
/* Opens a file or directory of ours for reading, also one whose mode forbids
 * that to us. */
must_check int entry_open(int dir_fd, const char *name, int flags,
			  struct err *e);
/* What a symbolic link says, appended. */
must_check int entry_read_link(int dir_fd, const char *name, struct buf *ret,
			       struct err *e);
/* Removes it with all that is below, at any depth; what is not there is no
 * error. */
must_check int entry_remove(int dir_fd, const char *name, struct err *e);
/* Also where its owner, whom we are, may not write: the mode is changed for the
 * moment. */
must_check int entry_remove_in(int dir_fd, const char *name, struct err *e);

/* How overlayfs says "deleted". */
static inline bool entry_is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

/*
 * Attributes.  `user.overlay.` ones are the kernel's notes in an upper layer.
 * From inside nobody can set those it acts upon; what was tried from there has
 * another name, and is found by entry_has_foreign_notes().
 */
bool entry_is_opaque(int fd);
must_check int entry_has_foreign_notes(int fd, struct err *e);
/* Those that are a user's, by name, joined by NULs; -1 with *e. */
must_check int entry_attributes(int fd, struct buf *ret, struct err *e);
/* ... and the kernel's notes. */
must_check int entry_all_attributes(int fd, struct buf *ret, struct err *e);

#endif
