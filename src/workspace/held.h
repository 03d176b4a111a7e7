/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Held changes: what a run with `workspace overlay` has written, or several with
 * the same `keep`, one after the other; then the name of that is the ID.
 *
 *	STORE/ID/meta		when it began, and the trees
 *	STORE/ID/N/upper	the changes of one tree, or of several that are in
 *				the same directory, as overlayfs keeps them
 *	STORE/.spare		of a run that held nothing, for the next (spare.h)
 *	STORE/ID/seen		what an apply of ours has touched (seen.c)
 *	STORE/NAME/last		of a kept one, its last run (last.c)
 *
 * While a run of `limit workspace` lasts, its changes are elsewhere (carry.h).
 * A run holds a lock on its directory while it lasts, and leaves the directory
 * only when there is a change in it.
 */
#ifndef WORKSPACE_HELD_H
#define WORKSPACE_HELD_H

#include <time.h>

#include "arena.h"
#include "path.h"

enum { HELD_ID_MAX = 32, HELD_TREES_MAX = 1024, HELD_ARENA_MAX = 512 << 20 };

#define HELD_META "meta"

struct held_tree {
	struct sv path;		/* absolute, on the host */
	uint64_t ino;		/* of the directory; a device's number would
				   not outlive a reboot */
	struct sv only;		/* the one file of it that was shown, or "" */
	uint32_t layers;	/* N of the above */
	struct sv below;	/* where in "upper", or "" */
};

/* An entry of the host's whose ctime is ours. */
struct held_seen {
	uint32_t tree;
	struct sv path;
	uint64_t ino;
	struct timespec ctime;
};

struct held {
	struct arena arena;
	char id[HELD_ID_MAX];
	char run[HELD_ID_MAX];	/* the one that wrote last; "" when it is new */
	int store_fd;		/* borrowed */
	int fd;			/* owned; STORE/ID, and its lock */
	bool is_spare;		/* directories of its layers are there, empty */
	struct timespec began;
	struct held_tree *trees;
	size_t trees_n, trees_cap;
	struct held_seen *seen;
	size_t seen_n, seen_cap;
};

/* Makes and locks STORE/ID.  Also after a failure: held_close(). */
must_check int held_make(int store_fd, const char *id, struct held *ret,
			 struct err *e);
/* The same of a kept one, which may be there already.  *ret_again then: it is as
 * the last run of that name has left it, and no run can have it any more. */
must_check int held_keep(int store_fd, const char *name, struct held *ret,
			 bool *ret_again, struct err *e);
must_check int held_add(struct held *h, const struct held_tree *tree,
			struct err *e);
/* From now on it is a run that may hold something. */
must_check int held_write(struct held *h, struct err *e);

/* The same in another directory, which is to become part of it (carry.h). */
must_check int held_write_in(const struct held *h, int dir_fd, struct err *e);
/* Locks it and nothing else, whatever is in it; ERR_POLICY when somebody has it,
 * or it is gone.  Also after a failure: held_close(). */
must_check int held_take(int store_fd, const char *id, struct held *ret,
			 struct err *e);

/* last.c: the name of a kept one, rather than a run's? */
static inline bool held_is_name(const char *id)
{
	return is_alpha(id[0]);
}
/* Which run has it from now on, in the sandbox whose pid 1 that is. */
must_check int held_set_last(struct held *h, const char *run, pid_t pid,
			     struct err *e);
/* The run that wrote to it last: the ID, unless it is a name. */
must_check int held_last(int store_fd, const char *id,
			 char ret_run[HELD_ID_MAX], struct err *e);
/* Nothing of that run is left, or ERR_POLICY after some seconds. */
must_check int held_await_last(const struct held *h, struct err *e);

/* Opens and locks it; ERR_POLICY while its run lasts, or without one. */
must_check int held_open(int store_fd, const char *id, struct held *ret,
			 struct err *e);
void held_close(struct held *h);

/* How many N there are. */
uint32_t held_layers(const struct held *h);
/* The host's tree n, and the directory of its changes: descriptors. */
must_check int held_open_lower(const struct held *h, size_t n, struct err *e);
must_check int held_open_upper(const struct held *h, size_t n, struct err *e);
/* The same, *ret_fd and 1; 0 when nothing was changed in it: in an upper layer of
 * several trees there is only what the kernel has copied. */
must_check int held_find_upper(const struct held *h, size_t n, int *ret_fd,
			       struct err *e);

/* Does this run hold something, as far as its directory says? */
bool held_is_there(int store_fd, const char *id);
/* The IDs of those, newest first, in the arena. */
must_check int held_list(int store_fd, struct arena *a, struct sv **ret,
			 size_t *ret_n, struct err *e);
/* Removes it, whatever is in it. */
must_check int held_remove(struct held *h, struct err *e);
/* What killed runs have left that holds nothing; without a word. */
void held_sweep(int store_fd);

#endif
