/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the walk share: walk.c goes through the trees, walk_masks.c
 * says what is covered there, walk_guards.c what stays as it is.
 */
#ifndef LAUNCH_WALK_H
#define LAUNCH_WALK_H

#include <dirent.h>
#include <limits.h>

#include "builder.h"
#include "dents.h"
#include "sieve.h"

#define SOCKET_OF_HOST SV("a socket of the host")

/* How the entries of a directory are looked at. */
enum {
	LOOK_DOTS = 1,		/* the dot mask holds here */
	LOOK_HIDDEN = 2,	/* covered but for what leads to what is shown */
	LOOK_WRITE = 4,		/* in a write grant: guards hold */
	LOOK_SOCKETS = 8,	/* for nothing but sockets, and not below */
	LOOK_GIT = 16,		/* in .git: its modules too */
	LOOK_MODULES = 32,	/* below .git/modules, .git/worktrees */
};

struct walk {
	struct builder *b;
	const struct area *root;
	uint64_t until_ms;
	struct sieve sieve;	/* what needs more than a glance at its name */
	struct dents_pile dents;
	unsigned entries, covers, depth;
	bool *visited;		/* by the index of the area */
	size_t path_n;
	char path[PATH_MAX];	/* of what is looked at now */
};

/* One entry, while it is looked at. */
struct walk_entry {
	struct sv name, path;
	unsigned char type;	/* DT_* */
	const struct area *area;	/* that has this very path, or NULL */
};

/* path, which is copied, shows nothing; why is borrowed. */
must_check int walk_cover(struct walk *w, struct sv path, struct sv why,
			  struct err *e);

/* 1 when the entry is covered or absent, 0 when it is shown; may narrow or
 * widen how the entries below are looked at. */
must_check int walk_mask(struct walk *w, const struct walk_entry *entry,
			 unsigned *look, struct err *e);
/* What `hide` names without a pattern need not lie in a tree that is walked. */
must_check int walk_mask_named(struct walk *w, struct err *e);

/* An entry of the directory dir_fd, in a write grant. */
must_check int walk_guard(struct walk *w, int dir_fd,
			  const struct walk_entry *entry, unsigned look,
			  struct err *e);
/* An entry of a tree that is looked through for sockets alone (LOOK_SOCKETS).
 * 1 when it is a directory that has others' repositories below. */
must_check int walk_guard_unsearched(struct walk *w,
				     const struct walk_entry *entry,
				     unsigned look, struct err *e);
/* A grant of a git directory itself, or of a part of it, as a linked worktree
 * needs one: sets how it is looked at. */
must_check int walk_guard_git_grant(struct walk *w, const struct area *area,
				    unsigned *look, struct err *e);
/* Lets through what walk_guard() acts upon. */
void walk_guard_sieve(struct walk *w);
/* A directory of git's own, below which are other repositories'. */
bool walk_leads_to_modules(struct sv name);

#endif
