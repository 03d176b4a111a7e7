/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the sentry share: sentry.c listens, sentry_look.c looks at a
 * name, sentry_rule.c says what is to be done with it, sentry_tree.c knows the
 * directories that are watched, sentry_links.c the links, sentry_sockets.c whose a
 * socket is, sentry_mount.c mounts, sentry_enter.c takes the process in.
 */
#ifndef LAUNCH_SENTRY_PARTS_H
#define LAUNCH_SENTRY_PARTS_H

#include <errno.h>
#include <limits.h>

#include "builder.h"
#include "control.h"
#include "creation.h"
#include "made.h"
#include "sentry.h"
#include "sieve.h"

/* -- sentry_rule.c: pure -- */

/* How what is in a directory is looked at. */
enum {
	SENTRY_WRITE = 1,	/* in a write grant: guards hold */
	SENTRY_HELD = 2,	/* shown inside by an overlay */
	SENTRY_SHALLOW = 4,	/* not what is below (walk.h: LOOK_SOCKETS) */
	SENTRY_GIT = 8,		/* in a .git */
};

enum sentry_word {
	SENTRY_LEAVE = 0, SENTRY_COVER, SENTRY_GUARD,
	SENTRY_SOCKET,		/* covered, unless it is the agent's */
	SENTRY_POINTER,		/* a .git that is a file: guarded, unless the agent
				   has made it */
};

struct sentry_name {
	struct sv path;		/* of the whole, and its last name */
	struct sv name;
	uint32_t type;		/* S_IFDIR, ... */
};

/* What has to be done with it, and why.  made knows the agent's directories;
 * NULL: there are none. */
enum sentry_word sentry_decide(const struct builder *b,
			       const struct sentry_name *n, unsigned look,
			       struct creation_made *made, struct sv *ret_why);
/* Lets the names through of which it may say that they are covered or guarded:
 * of all others only directories and sockets have to be looked at. */
void sentry_sieve(const struct builder *b, struct sieve *s);
/* Whether what is below this directory is looked at, and how; *look is how it is
 * itself. */
bool sentry_goes_below(const struct builder *b, const struct sentry_name *n,
		       unsigned *look);
/* The trees: an area that is watched from its own directory on, and how. */
bool sentry_watches(const struct builder *b, const struct area *area,
		    unsigned *ret_look);
/* May something below dir be named by a statement that has to be kept? */
bool sentry_must_see(const struct builder *b, struct sv dir);

/* -- sentry_tree.c -- */

struct sentry_dir {
	int wd;			/* -1: no longer watched */
	uint32_t parent;	/* 0: the root of a tree */
	uint32_t children;	/* how many have this one for their parent */
	uint32_t next;		/* of those with the same hash, or free */
	uint32_t after;		/* in the queue */
	uint64_t dev, ino;
	uint64_t mount;		/* it is seen by */
	uint8_t look;
	bool queued;
	bool waiting;		/* to be looked through again, later */
	char *name;		/* owned; of a root its whole path */
};

/* Directories are known by their number in v, which begins at 1. */
struct sentry_tree {
	int inotify_fd;		/* owned */
	struct sentry_dir *v;
	uint32_t n, cap, free;
	uint32_t *buckets;
	uint32_t buckets_n, watched;
	uint32_t max;		/* set by the caller: no more are watched */
	bool waits;		/* one of them does */
	uint32_t first, last;	/* of the queue: to be looked through */
};

must_check int sentry_tree_open(struct sentry_tree *t, struct err *e);
/* Watches the directory fd, which is called name in parent, from now on, and puts
 * it into the queue.  -1 and ENOSPC in e->code: there are too many. */
must_check int sentry_tree_add(struct sentry_tree *t, int fd, uint32_t parent,
			       struct sv name, unsigned look, struct err *e);
/* The next of the queue, or 0. */
uint32_t sentry_tree_take(struct sentry_tree *t);
/* Into the queue with it, when sentry_tree_resume() says so. */
void sentry_tree_wait(struct sentry_tree *t, uint32_t dir);
void sentry_tree_resume(struct sentry_tree *t);
/* The trees' roots into the queue: all is to be looked through. */
void sentry_tree_all(struct sentry_tree *t);
/* Which is watched by that, the next one behind `after` (0: the first), or 0.  There
 * are several where a directory is mounted at several places. */
uint32_t sentry_tree_find(const struct sentry_tree *t, int wd, uint32_t after);
/* The kernel watches it no longer. */
void sentry_tree_ignored(struct sentry_tree *t, int wd);
/* What it is called; .n 0 when that is not known any more. */
struct sv sentry_tree_path(const struct sentry_tree *t, uint32_t dir,
			   char room[PATH_MAX]);

/* -- sentry_mount.c: in the sandbox's mount namespace -- */

struct sentry_mounts {
	int covers_fd;		/* owned: a tmpfs with an empty file and directory */
	int root_fd;		/* owned: the sandbox's */
	int links_fd;		/* owned: /proc/self/fd */
	unsigned made;
};
must_check int sentry_mounts_open(struct sentry_mounts *m, struct err *e);
/* What a name of the host's is inside. */
struct sentry_place {
	struct sv path;
	struct path_identity identity;	/* out here */
	bool held;		/* an overlay's: numbers are others inside */
};
/* SENTRY_DONE: it is covered now.  SENTRY_NOTHING_TO_DO: it was, or it is not there
 * (any more).  SENTRY_UNSEEN: an overlay does not show it, yet. */
enum { SENTRY_NOTHING_TO_DO = 0, SENTRY_DONE, SENTRY_UNSEEN };
must_check int sentry_cover(struct sentry_mounts *m,
			    const struct sentry_place *at, struct err *e);
/* The overlay of that tree forgets what it remembers; false: it could not be
 * made to. */
bool sentry_refresh(const struct area *area);
/* Is that what is seen inside under this name? */
must_check int sentry_is_shown(const struct sentry_place *at, struct err *e);
must_check int sentry_guard(struct sentry_mounts *m,
			    const struct sentry_place *at, struct err *e);

/* 1: what the link leads to, inside; 0: to nothing, or to what is covered. */
must_check int sentry_follow(const struct sentry_mounts *m, struct sv path,
			     char room[PATH_MAX], struct sentry_place *ret,
			     struct err *e);

/* -- sentry_sockets.c -- */

/* A socket that somebody has bound: who? */
struct sentry_doubt {
	char *path;		/* owned */
	struct path_identity file;
	uint32_t at;		/* the directory */
	bool held;		/* as of a place */
	bool inside;		/* somebody who is */
};
enum { SENTRY_DOUBTS = 1024, SENTRY_LOW = 4096 };
struct sentry_sockets {
	int list_fd, probe_fd;	/* owned */
	struct sentry_doubt doubts[SENTRY_DOUBTS];
	size_t n;
	bool low[SENTRY_LOW];	/* the last bits of their numbers */
};
/* In the sandbox's network. */
must_check int sentry_sockets_open(struct sentry_sockets *s, struct err *e);
/* Does that file, which has this name in dir_fd, lead to anybody? */
bool sentry_is_bound(const struct sentry_sockets *s, int dir_fd,
		     const char *name);
/* One more, of which there is room.  False: out of memory. */
bool sentry_sockets_doubt(struct sentry_sockets *s,
			  const struct sentry_place *place, uint32_t at);
/* Says of all of them which are the agent's. */
void sentry_sockets_ask(struct sentry_sockets *s);

/* -- sentry_links.c -- */

struct sentry_link {
	uint64_t hash;
	char *path;		/* owned */
	struct sv why;
	bool guards, held;
};
struct sentry_links {
	struct sentry_link *v;
	size_t n, cap;
	bool stale;		/* something has happened since */
	bool under_way;		/* they are followed: */
	size_t at;		/* this one is the next */
	uint64_t begin_ms, next_ms;
};
/* What is called path is hidden or guarded: it will be followed.  False: out of
 * memory. */
bool sentry_links_add(struct sentry_links *l, const struct sentry_link *link,
		      struct sv path);
/* How long until they are to be followed again; -1: for ever. */
int sentry_links_wait_ms(const struct sentry_links *l);

/* -- sentry_look.c: one name -- */

struct sentry {
	const struct builder *b;
	int note_fd, host_fd;		/* owned */
	struct sentry_sockets sockets;
	struct sentry_tree tree;
	struct sentry_mounts mounts;
	struct sentry_links links;
	struct sieve sieve;
	bool told_unwatched;
	uint32_t most;		/* directories, where no statement is about them */
	/* Directories of the agent's own, as pid 1 says. */
	struct creation_made made;
	struct made agents;		/* owned */
	size_t agents_seen;
	/* Of the name that is looked at. */
	uint32_t at;
	int dir_fd;			/* borrowed */
	/* The directory of the event before this one. */
	uint32_t last;
	int last_fd;			/* owned */
};

/* name, with a NUL behind it, of the directory `at`: what is to be done is done. */
must_check int sentry_look_at(struct sentry *s, int dir_fd, uint32_t at,
			      const char *name, struct err *e);
/* Covers or guards what that one leads to now. */
must_check int sentry_act_on_link(struct sentry *s,
				  const struct sentry_link *link,
				  struct err *e);
/* A part of them. */
must_check int sentry_links_follow(struct sentry *s, struct err *e);
/* Covers the sockets that were met and are not the agent's. */
must_check int sentry_settle(struct sentry *s, struct err *e);
/* Has the agent made the directory that is called by all but the last n names? */
bool sentry_is_agents(struct creation_made *m, struct sv path, size_t n);
/* Watches a directory.  0 as well when there are more than the kernel watches for
 * this user, no statement is about this one, and that was told. */
must_check int sentry_watch(struct sentry *s, int fd, uint32_t parent,
			    struct sv name, struct sv path, unsigned look,
			    struct err *e);
/* To the parent. */
void sentry_tell(const struct sentry *s, enum control_kind kind,
		 const struct err *why);

/* -- sentry_enter.c -- */

/* Enters the sandbox's namespaces.  *ret_host_fd stays the host's root, and
 * *ret_links_fd /proc/self/fd. */
must_check int sentry_enter(const struct sentry_post *post, int *ret_host_fd,
			    int *ret_links_fd, struct err *e);

#endif
