/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where runs are kept: $XDG_STATE_HOME/stockade/runs/ID.jsonl, by default below
 * ~/.local/state.  An ID is the start's UTC time, so that names sort by age: the
 * second, then seven hexadecimal digits of what is below it (4 ns), and three
 * that are random, for those that start at once: 20261129-163000-4f2a9c01b7.
 */
#ifndef AUDIT_RUN_DIR_H
#define AUDIT_RUN_DIR_H

#include "arena.h"
#include "err.h"

/* RUN_LIST_MAX bytes of an arena hold the IDs of half a million runs. */
enum { RUN_ID_MAX = 32, RUN_LIST_MAX = 64 << 20 };

/* The state directory as a path (a NUL behind it), in the arena. */
must_check int run_state_path(struct arena *a, struct sv *ret, struct err *e);
/*
 * Opens the directory of that name in it, or makes both first; ERR_SYS with
 * ENOENT when it is not there and not to be made.  Both must be this user's,
 * and closed to others' writing.
 */
must_check int run_state_open(const char *name, bool create, int *ret_fd,
			      struct err *e);

must_check int run_new_id(char ret_id[RUN_ID_MAX], struct err *e);
/* Makes the trail of a new run (0600), open for appending; the caller owns the
 * descriptor. */
must_check int run_create(const char *id, int *ret_fd, struct err *e);
/* The same of a run that has one, for reading as well; ERR_SYS with ENOENT. */
must_check int run_open_append(const char *id, int *ret_fd, struct err *e);
/* Leaves the next runs empty files for their trails, where the last ones are
 * used up: to make one can take longer than the rest of a start (ext4 steps
 * over every inode that was freed in the last minutes).  Without one
 * run_create() makes it. */
void run_prepare(void);

/* IDs of this user's runs, newest first, in the arena. */
must_check int run_list(struct arena *a, struct sv **ret, size_t *ret_n,
			struct err *e);

/* Opens a run's trail for reading; id .p NULL means the newest. */
must_check int run_open(struct sv id, int *ret_fd, char ret_id[RUN_ID_MAX],
			struct err *e);

#endif
