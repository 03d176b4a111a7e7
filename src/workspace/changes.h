/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run has changed: its upper layers, compared with the host's trees as
 * they are now.
 *
 * What is copied up and equal is no change.  A directory that is new, or gone,
 * is one change; what is in a new one follows it as changes of its own.
 *
 * A change is a conflict when the host's file is another than the run began
 * with.  Nothing is recorded of the files at the launch: what the host has
 * changed since has a later ctime, which no program can set.
 */
#ifndef WORKSPACE_CHANGES_H
#define WORKSPACE_CHANGES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "held.h"

enum change_kind {
	CHANGE_ADDED = 'A',
	CHANGE_MODIFIED = 'M',	/* its contents, link or attributes, its mode */
	CHANGE_DELETED = 'D',
	CHANGE_TYPE = 'T',	/* a file became a directory, or a link, ... */
};

struct change {
	enum change_kind kind;
	unsigned tree;		/* index of held.trees */
	struct sv path;		/* below the tree; a NUL behind it */
	uint32_t mode;		/* S_IFMT and permissions: of the new one, or
				   of the old when it is deleted */
	bool guarded;		/* would run something later, outside */
	bool conflict;
	bool chosen;		/* the caller's */
	const char *refused;	/* why it is never applied, or NULL */
	uint64_t inode;		/* in the upper layer, of what has more names
				   there; or 0 */
	/* What it will be one file with, by changes_link(): 1 and an index of
	 * changes.unchanged, or of changes.list; or 0. */
	uint32_t host, first;
};

/* A name that is no change, of a file that has more names in the upper layer. */
struct unchanged {
	unsigned tree;
	struct sv path;
	uint64_t inode;
	mode_t mode;
	bool usable;		/* others may be linked to the host's file */
	bool guarded, conflict;
	bool used;		/* and some are; changes_link() */
	size_t host;		/* index of apply.hosts then */
};

struct changes {
	struct change *list;	/* sorted by tree and path; a directory before
				   what is in it */
	size_t n, cap;
	struct unchanged *unchanged;	/* the same */
	size_t unchanged_n, unchanged_cap;
};

/* In the arena of h.  With `settle`, a directory that replaces the host's is
 * turned into one that lies over it with single deletions, which can be dropped
 * one by one. */
must_check int changes_find(struct held *h, bool settle, struct changes *ret,
			    struct err *e);
/* Is there any at all?  1 or 0. */
must_check int changes_any(struct held *h, struct err *e);
/* Of the chosen ones that are names of one file: which will be linked to what. */
must_check int changes_link(struct held *h, struct changes *c, struct err *e);
/* What that is: below the tree, a NUL behind it; or "". */
struct sv change_linked(const struct changes *c, const struct change *change);
/* Forgets the chosen ones: their places show the host's again. */
must_check int changes_drop(struct held *h, const struct changes *c,
			    struct err *e);

/* compare.c: 1 when two entries of one type have the same contents, link and
 * attributes; modes are not compared.  b is the host's. */
struct entry_at {
	int dir_fd;
	const char *name;
	struct stat st;
};
must_check int compare_entries(const struct entry_at *a,
			       const struct entry_at *b, struct err *e);

/* names.c: may another name be made for the host's file?  1 or 0. */
must_check int names_is_usable(const struct entry_at *upper,
			       const struct entry_at *lower, struct err *e);
/* Adds those that are a change because they have become one file alone.  Both
 * lists are sorted then. */
must_check int names_find(struct held *h, struct changes *c, struct err *e);

/* "a/b" of "a/b/c", "" of "a"; and "c". */
struct sv change_parent(struct sv path);
struct sv change_base(struct sv path);

static inline bool change_is_below(struct sv path, struct sv dir)
{
	return sv_starts(path, dir) && path.n > dir.n &&
	       (dir.n == 0 || path.p[dir.n] == '/');
}

#endif
