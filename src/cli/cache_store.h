/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where `cache` directories are kept: $XDG_STATE_HOME/stockade/caches/KEY/.
 *
 * KEY is a hash of the statement's path and of what the policy is known by: the
 * canonical names of the files of --policy or of the trusted stockade.policy,
 * or, when there is none of these (flags, profiles and the user's own policy
 * alone), the working directory.  So two policies never share a cache, also
 * where both name ~/.npm.
 *
 *	KEY/data	what the sandbox sees; the agent writes there
 *	KEY/about	the path, then what the policy is known by, one a line;
 *			its time is that of the last use
 *
 * A run holds a shared lock on KEY, so that what is in use is not removed.  The
 * agent cannot reach KEY itself.
 */
#ifndef CLI_CACHE_STORE_H
#define CLI_CACHE_STORE_H

#include "launch.h"
#include "policy.h"

#define CACHE_STORE "caches"	/* in the state directory */
#define CACHE_DATA "data"
#define CACHE_ABOUT "about"

enum { CACHE_KEY_SIZE = 33, CACHES_MAX = 64 };

/* The caches of one run. */
struct cache_set {
	struct launch_cache list[CACHES_MAX];
	int lock_fd[CACHES_MAX];	/* owned, with n entries */
	size_t n;
};

/* With `make`, each is there afterwards, and locked; without, only named.  The
 * texts live in the policy's arena.  Failed, it may still be closed. */
must_check int cache_set_open(struct cache_set *ret, struct policy *p,
			      const char *cwd, bool make, struct err *e);
void cache_set_close(struct cache_set *set);

/* Is it a name that a cache can have? */
bool cache_is_key(struct sv name);

/* Removes the cache of that name below store_fd, without following a link: what
 * is in it was arranged by the agent.  ERR_DENIED while a run has it. */
must_check int cache_remove(int store_fd, const char *key, struct err *e);

#endif
