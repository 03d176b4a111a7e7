/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards of what does not exist: no mount can hold a name that is not there, so
 * making it is refused (keeper.h asks).
 *
 * A rule is a row of segments, each a name or a pattern, either the whole path
 * or its end, at any depth below a write grant.  A name is also one under which
 * another file system would know it: other case, characters that are ignored,
 * trailing dots.  A default rule for every depth does not hold in a directory
 * that the agent has made itself: a repository that it clones, a project that it
 * sets up, are its own.  Of what is in a .git that is the .git itself.
 */
#ifndef LAUNCH_CREATION_H
#define LAUNCH_CREATION_H

#include "plan.h"

/* Which directories are the agent's: the one that is called by all but the last n
 * names of path; or NULL for none. */
struct creation_made {
	bool (*has)(struct creation_made *m, struct sv path, size_t n);
	const struct creation_rule *freed;	/* the last that did not hold
						   because of it */
};

/*
 * The rule that forbids that something gets this path, or NULL.  `tree` says
 * that it may have something below it at once, as a directory that is renamed,
 * or lead somewhere, as a link: then the path may not be the beginning of a
 * guarded one either.  path is absolute and canonical.
 */
const struct creation_rule *creation_refused(const struct plan *plan,
					     struct sv path, bool tree,
					     struct creation_made *made);

/* Whether path, which the rule forbids, is spelled as the rule is, and is not only
 * another system's name for it. */
bool creation_is_exact(const struct creation_rule *r, struct sv path);

/*
 * Whether a directory, renamed with all that is in it, would bring names to where
 * they could not be made: it is to be copied instead, name by name.  So it is out
 * of node_modules and .venv, where installers unpack what others have made and
 * nothing is guarded by default, and into where a pattern begins to hold.
 */
bool creation_is_copied(const struct plan *plan, struct sv from, struct sv to);

/* Is it in a tree that can be written?  Private directories, such as /tmp, are
 * none: their names are nobody's outside. */
bool creation_is_granted(const struct plan *plan, struct sv path);

#endif
