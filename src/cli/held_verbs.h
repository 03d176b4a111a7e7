/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade diff`, `stockade apply`, `stockade discard`, and what they share:
 * which run, which paths, and how changes are listed. */
#ifndef CLI_HELD_VERBS_H
#define CLI_HELD_VERBS_H

#include <limits.h>

#include "buf.h"
#include "changes.h"

int diff_main(int argc, char **argv, struct err *e);
int apply_main(int argc, char **argv, struct err *e);
int discard_main(int argc, char **argv, struct err *e);

struct held_flag {
	const char *name;	/* "--json" */
	bool *set;
};

/* [RUN] [FLAG...] [-- PATH...] */
struct held_verb {
	const char *run;	/* NULL: the newest that holds something */
	const struct held_flag *flags;	/* the verb's own; ends with NULL */
	char **paths;
	int paths_n;

	char cwd[PATH_MAX];
	int store_fd;		/* owned, and locked */
	struct held held;
	struct changes changes;
	bool is_open;		/* held is */
};

void held_verb_fini(struct held_verb *v);
#define auto_verb __attribute__((cleanup(held_verb_fini)))

/* flags is given. */
must_check int held_verb_parse(struct held_verb *v, int argc, char **argv,
			       struct err *e);
/* 1 with the changes, of which those that the paths name are chosen; 0 when no
 * run holds any, and none was named. */
must_check int held_verb_open(struct held_verb *v, bool settle,
			      struct err *e);
/* "M  src/a.c" for each change that `wanted` says. */
void held_verb_put_line(const struct held_verb *v, const struct change *change,
			struct buf *b);
must_check int held_verb_list(const struct held_verb *v,
			      bool (*wanted)(const struct change *change),
			      struct err *e);
/* After some were dropped: a run that holds nothing any more is forgotten. */
must_check int held_verb_tidy(struct held_verb *v, struct err *e);
/* Choosing something in a new directory chooses the directory. */
void held_verb_choose_parents(const struct held_verb *v);
/* Its path on the host, appended. */
void held_verb_put_path(const struct held_verb *v, const struct change *change,
			struct buf *b);

/* That of the name which it is to be one file with, or nothing. */
void held_verb_put_linked(const struct held_verb *v,
			  const struct change *change, struct buf *b);

/* patch.c: "A  src/a.c" and what differs in it, appended.  With `visible` for a
 * terminal. */
must_check int patch_put(const struct held_verb *v, const struct change *change,
			 bool visible, struct buf *b, struct err *e);

#endif
