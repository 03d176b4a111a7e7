/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the run may use: from `limit` statements to groups and rlimits.
 *
 *	memory, swap, cpu	control groups, or not at all
 *	io			one of version 2, or not at all (limit_io.c)
 *	processes		a control group; else RLIMIT_NPROC, which inside
 *				a user namespace counts that one's processes
 *	files, file-size	RLIMIT_NOFILE, RLIMIT_FSIZE
 *	disk			the size of the sandbox's own tmpfs
 *	workspace		the size of a tmpfs that has the upper layers
 *				(layers.c)
 *	workspace-files		how many names it may have
 *	time, output		counted by who supervises the run
 *	record			counted by who writes it (audit/trail.c)
 *
 * plan_new() decides (struct plan_limits), sandbox_start() makes the groups,
 * pid 1 enters them before it makes any namespace that knows of groups, and
 * sandbox_kill() removes them.
 */
#ifndef LAUNCH_LIMIT_H
#define LAUNCH_LIMIT_H

#include "cgroup.h"
#include "disk.h"
#include "policy.h"

#include <sys/types.h>

enum { LIMITS_HIERARCHIES = CGROUP_CONTROLLERS, LIMITS_DISKS_MAX = 32 };

/* Part of the plan. */
struct plan_limits {
	/* By kind; of those that are not held, `set` is false. */
	struct limit by_kind[LIMIT_KINDS];
	bool by_rlimit;			/* processes */
	struct limits_place {
		struct cgroup_place at;	/* its descriptor is owned */
		uint64_t inode;
		unsigned controllers;	/* 1 << enum cgroup_controller */
	} places[LIMITS_HIERARCHIES];
	size_t places_n;
	/* Those below what is visible; known when the plan is built. */
	struct disk disks[LIMITS_DISKS_MAX];
	size_t disks_n;
};

/* Part of a running sandbox: one group in each place. */
struct limits_groups {
	struct group {
		int dir_fd;		/* owned, all of them */
		int procs_fd;
		int aside_fd;
	} v[LIMITS_HIERARCHIES];
	size_t n;
	char name[48];
};

/* Sets *ret from what the policy asks for; fails where it cannot be held. */
must_check int limits_decide(const struct policy *p, struct plan_limits *ret,
			     struct err *e);
void limits_forget(struct plan_limits *l);
/* One line for --explain: what is limited by groups, and where. */
void limits_put_groups(const struct plan_limits *l, struct buf *b);
void limits_put_rlimits(const struct plan_limits *l, struct buf *b);

/* limit_io.c.  The place of CGROUP_IO, which the limit needs together with the
 * memory controller: is it good for that? */
must_check int limits_io_place(struct plan_limits *l, struct err *e);
/* Adds the disks of all that is mounted at or below path. */
must_check int limits_add_disks(struct plan_limits *l, struct sv path,
				struct sv mounts, const struct disk_view *view,
				struct err *e);
/* Sets what limits_make() could not know yet, before anything runs. */
must_check int limits_set_io(const struct plan_limits *l,
			     const struct limits_groups *g, struct err *e);

/* In the command's process, last before it executes. */
must_check int limits_lower(const struct plan_limits *l, unsigned joins,
			    struct err *e);

/* Makes and sets the groups; on failure nothing of them is left. */
must_check int limits_make(const struct plan_limits *l,
			   struct limits_groups *ret, struct err *e);
/* When nothing lives in them any more. */
void limits_remove(const struct plan_limits *l, struct limits_groups *g);

/* Which limit was reached: LIMIT_MEMORY, which ends a run, before
 * LIMIT_PROCESSES, which does not. */
enum limit_kind limits_reached(const struct plan_limits *l,
			       const struct limits_groups *g);
/* Readable when memory is at its limit; -1 where the kernel itself ends
 * everything then.  -1 with e->kind on failure. */
int limits_watch_memory(const struct plan_limits *l,
			const struct limits_groups *g, struct err *e);

/* Is it our own limit that memory is at? */
bool limits_memory_is_full(const struct plan_limits *l,
			   const struct limits_groups *g);

/* What is in them is to die, and need not wait for its share of anything. */
void limits_release(const struct limits_groups *g);
/* In another process, when the one that made groups was killed: removes what
 * is left of them; how many there are still. */
int limits_leave(const struct plan_limits *l, pid_t maker);

#endif
