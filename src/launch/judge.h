/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a path get a name?  What the plan's rules (creation.h) say of it, with the
 * directories that the agent has made in this run, and what was refused said to
 * the parent.
 *
 * The functions return 0, or the errno that the call is to fail with.
 */
#ifndef LAUNCH_JUDGE_H
#define LAUNCH_JUDGE_H

#include <limits.h>

#include "creation.h"
#include "descent.h"
#include "leaves.h"
#include "made.h"

struct judge {
	const struct plan *plan;	/* borrowed */
	int control_fd;			/* borrowed; refusals are said there */
	struct made made;
	struct leaves leaves;
	void (*glance)(void *of);	/* now and then, in what takes long */
	void *glance_of;		/* borrowed */
	unsigned reports;
	char reported[PATH_MAX];	/* the last one */
};

/* The name in that directory, as a path. */
must_check int judge_path(const struct descent *d, char room[2 * PATH_MAX],
			  struct sv *ret);
/* tree as in creation.h. */
must_check int judge_name(struct judge *j, const struct descent *d, bool tree);
/* A directory with something below that has been guarded meanwhile (kept.h). */
bool judge_is_kept(const struct judge *j, const struct descent *d);
/* A directory's new place: what would be taken out of where all names are free
 * is copied instead, name by name. */
must_check int judge_move(const struct judge *j, const struct descent *from,
			  const struct descent *to);
/* A name that the kernel has kept from being replaced: where it is a guard's,
 * the parent is told. */
void judge_tell_guarded(struct judge *j, const struct descent *d);
/* Something that is neither a directory nor a link: may it not be one? */
bool judge_minds_tree(const struct judge *j, const struct descent *from,
		      const struct descent *to);
/* A directory goes from one path to the other by its parts: may the one get its
 * new name that is `below` either ("/a/b")?  What the agent has made is so at
 * its old place still. */
must_check int judge_part(struct judge *j, struct sv from, struct sv to,
			  struct sv below, bool tree);

#endif
