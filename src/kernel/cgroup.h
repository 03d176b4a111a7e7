/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups, of both versions.
 *
 * A group for a run is made below the group that this process is in, so that
 * whatever limits that has stay in force, and nobody else's part of the tree
 * is touched.  With version 2 a group that has processes cannot give
 * controllers to groups below it: this process and its children then step
 * aside into a group of their own (cgroup_open_up()), and back at the end.
 *
 * Names are CGROUP_PREFIX and what the caller likes.  Who has made a group
 * holds a lock on its directory; one that can be locked is a leftover, whatever
 * pid namespace its maker lived in, and cgroup_sweep() removes it.
 */
#ifndef KERNEL_CGROUP_H
#define KERNEL_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

#define CGROUP_PREFIX "stockade-"
#define CGROUP_ASIDE "-self"	/* ends the name of one that was stepped into */

enum cgroup_controller {
	CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU,
	CGROUP_IO,		/* of version 2 only */
	CGROUP_CONTROLLERS
};

const char *cgroup_controller_name(enum cgroup_controller c);

/* This process's own group, in a hierarchy that has some controller. */
struct cgroup_place {
	int version;		/* 1 or 2 */
	int dir_fd;		/* owned */
	char path[256];		/* to be shown; cut where it is longer */
};

/* Version 2: may groups in there have the controller? */
bool cgroup_offers(int dir_fd, enum cgroup_controller c);

/* ERR_UNSUPP: no hierarchy has it, or this user may not make groups there. */
must_check int cgroup_find(enum cgroup_controller c, struct cgroup_place *ret,
			   struct err *e);

/* Version 2 alone: every controller is in its tree. */
bool cgroup_is_unified(void);
/* Version 2: nobody is in this process's group but itself and its children, or
 * it is the machine's, where that is of no matter. */
bool cgroup_is_ours(int dir_fd);

/*
 * Where it is, from the texts of /proc/self/cgroup and /proc/self/mountinfo:
 * appends the path to ret and returns true.  Version 2 has no name for a
 * controller there: c is of no matter then.
 */
bool cgroup_locate(struct sv groups, struct sv mounts, int version,
		   enum cgroup_controller c, struct buf *ret);

/* Makes and locks a group; *ret_fd is its directory. */
must_check int cgroup_make(int parent_fd, const char *name, int *ret_fd,
			   struct err *e);
/* Removes what is empty or will be in a moment. */
must_check int cgroup_remove(int parent_fd, const char *name, int *dir_fd,
			     struct err *e);
/* Removes leftovers, as far as nothing lives in them.  How many there are
 * still, and of those that begin with `mine` (NULL: none) also the held. */
int cgroup_sweep(int parent_fd, const char *mine);

/* Version 2: groups below may have these controllers ("+memory +pids").  Where
 * this process had to step aside, into the group `name`, *ret_aside_fd is that
 * (locked), else -1. */
must_check int cgroup_open_up(int dir_fd, const char *controllers,
			      const char *name, int *ret_aside_fd,
			      struct err *e);
/* Takes them back ("-memory -pids"), and everybody from the group `name`. */
void cgroup_close_up(int dir_fd, const char *controllers, const char *name);
/* The same for a group that nobody holds any more, whatever its name. */
void cgroup_close_up_left(int dir_fd, const char *controllers);

must_check int cgroup_set(int dir_fd, const char *file, const char *value,
			  struct err *e);
/* No limit of processors and disks any more, where there was one. */
int cgroup_unthrottle(int dir_fd, struct err *e);
bool cgroup_has(int dir_fd, const char *file);
/* Of a file with one number (key NULL), or lines of a key and one; 0 where it
 * cannot be had. */
uint64_t cgroup_get(int dir_fd, const char *file, const char *key);

/* Version 1: a descriptor (eventfd) that is readable when the group is out of
 * memory; -1 with *e. */
must_check int cgroup_watch_memory(int dir_fd, struct err *e);

#endif
