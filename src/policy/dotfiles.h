/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a grant shows without being asked, and what it keeps from being
 * written, as data.
 *
 * An entry whose name starts with a dot is masked inside any grant: that is
 * where credentials live.  Those that a project's work needs are shown.  Among
 * what is shown, that which runs something later, outside, by being there (a
 * hook, an editor's tasks) is guarded: visible, never writable.
 */
#ifndef POLICY_DOTFILES_H
#define POLICY_DOTFILES_H

#include <sys/stat.h>

#include "sieve.h"

/* Is this name, which starts with a dot, shown unless hidden? */
bool dotfile_is_shown(struct sv name);
/* Below a directory of this name nothing is masked. */
bool dotfile_is_open(struct sv name);
/* Lets through every name that starts with a dot, and those just named. */
void dotfiles_sieve(struct sieve *s);

/* Guarded wherever they are in a write grant: paths relative to a directory of
 * it, or patterns of one name; ended by NULL.  A `.git` that is a file (a linked
 * worktree) is guarded itself. */
extern const char *const dotfile_guards[];
/* Is it the first name of one of them? */
bool dotfile_begins_guard(struct sv name);

/*
 * Does this path (absolute, or below a directory) name such a file, or one
 * below, at any depth?  For what is to be written outside: names are compared
 * as the least careful file system would, without regard to case, to characters
 * that it ignores, to dots and spaces at the end, and to short names.  A link that
 * may lead to a directory with such a name in it is one, and what makes a directory
 * a bare repository.
 */
bool dotfile_is_guarded(struct sv path, mode_t mode);

#endif
