/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plan_build() passes between its parts.
 *
 * There are two lists: the plan's steps, in their final order, and `mounts`,
 * the steps whose place follows from their paths.  A parent directory is
 * mounted before what lies in it, so these are sorted before they join.
 *
 * Running out of memory is remembered in `full` and reported once, at the end.
 */
#ifndef LAUNCH_BUILDER_H
#define LAUNCH_BUILDER_H

#include "launch.h"
#include "loop.h"

#define HOST_NAME "stockade"	/* of the sandbox */

enum area_kind {
	AREA_SYSTEM = 1,	/* in every sandbox: /usr, /etc/ssl, ... */
	AREA_PRIVATE,		/* a writable directory of the sandbox's own */
	AREA_CODE,		/* what the command itself is made of */
	AREA_NAMED,		/* by the policy, or the working directory */
};

/* A tree, or a file, that will be visible inside under its own name. */
struct area {
	enum area_kind kind;
	bool write;
	bool redundant;		/* part of the area around it */
	uint16_t mode;		/* with AREA_PRIVATE */
	uid_t owner;
	gid_t group;
	struct sv path;		/* canonical */
	struct sv source;	/* of a cache, where it is kept; else empty */
	struct path_identity identity;
	struct sv why;
};

struct builder {
	struct plan *plan;
	const struct policy *policy;
	const struct launch_input *in;
	struct arena *arena;		/* the plan's */
	bool full;

	struct sv home, user;
	struct area *areas;		/* sorted by path after areas_settle() */
	size_t areas_n, areas_cap;
	struct grant *marks;		/* show, hide, guard: marks.c */
	size_t marks_n, marks_cap;
	struct step *mounts;
	size_t mounts_n, mounts_cap;
	struct step spare;		/* given out when there is no memory */

	/* For who waits while the host is looked at (look.c): what is looked at
	 * now, and until when there has to be an answer, by loop_now_ms(). */
	struct sv at;
	_Atomic uint64_t until_ms;
	bool here;		/* nobody waits: it is looked at by ourselves */
	bool left;		/* ... and there was what may not answer */
	uint64_t patient_ms;	/* from when signals end us */
};

enum { BUILDER_ANSWER_MS = 8000 };

/* From here on path is looked at, which is borrowed until the next call. */
static inline void builder_at(struct builder *b, struct sv path)
{
	b->at = path;
	b->until_ms = loop_now_ms() + BUILDER_ANSWER_MS;
}

/* Never NULL.  target and why are borrowed, and are seen by pid 1: the plan's
 * memory, or what was there before it was made (the policy, literals). */
struct step *builder_step(struct builder *b, enum step_kind kind,
			  struct sv target, struct sv why);
struct step *builder_mount(struct builder *b, enum step_kind kind,
			   struct sv target, struct sv why);
struct sv builder_dup(struct builder *b, struct sv v);
struct sv builder_printf(struct builder *b, const char *fmt, ...)
	printf_like(2, 3);
/* With a NUL behind it. */
const char *builder_str(struct builder *b, struct sv v);

/* What no statement opens, since it is the sandbox's own (grants.c). */
must_check int grants_check_place(const struct grant *g, struct sv path,
				  struct err *e);

/* Of plan_new(). */
must_check int identity_begin(struct builder *b, struct err *e);
/* Parts of plan_build(), in the order in which they are called. */
void identity_plan(struct builder *b);
must_check int environment_plan(struct builder *b, struct err *e);
must_check int system_plan(struct builder *b, struct err *e);
must_check int command_plan(struct builder *b, struct err *e);
must_check int grants_plan(struct builder *b, struct err *e);
/* Of grants_plan(): a `reach unix:PATH`. */
must_check int sockets_add(struct builder *b, const struct grant *g,
			   struct err *e);
/* ... and those of `reach NAME via unix:PATH`, after areas_settle(). */
must_check int sockets_check_reach(struct builder *b, struct err *e);
must_check int caches_plan(struct builder *b, struct err *e);
must_check int caches_check(const struct builder *b, struct err *e);
must_check int refusals_check(struct builder *b, struct err *e);
/* By what may take long, now and then: path is looked at, and it is not that late
 * yet.  See look.c. */
bool look_in_time(struct builder *b, struct sv path, uint64_t until_ms);
/* Before a directory is entered: true when all has to be given up, whatever the
 * error says. */
bool look_must_leave(struct builder *b, int dir_fd, const char *name);
/* All from marks_plan() to links_plan(), which open what the policy names. */
must_check int look_plan(struct builder *b, struct err *e);
void marks_plan(struct builder *b);
must_check int guards_plan(struct builder *b, struct err *e);
must_check int key_files_plan(struct builder *b, struct err *e);
/* Some are: what hides that directory leaves a way to them. */
bool key_files_are_below(const struct builder *b, struct sv path);
must_check int walk_plan(struct builder *b, struct err *e);
must_check int links_plan(struct builder *b, struct err *e);
must_check int areas_mount(struct builder *b, struct err *e);
must_check int overlay_plan(struct builder *b, struct err *e);
must_check int idmap_plan(struct builder *b, struct err *e);
/* When all mounts are known: with `limit io`, the disks below them. */
must_check int limits_plan_io(struct builder *b, struct err *e);
/* Of plan_new(): with `limit workspace`, where what is held is made (layers.c). */
void layers_plan(struct builder *b);
/* With `workspace overlay`: */
bool overlay_is_asked(const struct builder *b);
/* An OVERLAY by root, who gives pid 1 the whole mount: both layers show the
 * owners through userns_fd. */
must_check int overlay_mapped(const struct builder *b, struct step *s,
			      int userns_fd, struct err *e);

#endif
