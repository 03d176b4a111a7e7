/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a run: see bounds.h. */
#include "bounds.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "own.h"

enum { SWEEPS = 2000 };

static void end_run(struct bounds *b, enum limit_kind kind)
{
	if (b->ended_by == LIMIT_NONE)
		b->ended_by = kind;
	if (b->over)
		b->over(b->ctx);
}

static void output_over(struct output_count *c)
{
	end_run(container_of(c, struct bounds, output), LIMIT_OUTPUT);
}

/* It is also said when a group around ours is full: that is not our limit. */
static void memory_ready(struct watch *w, uint32_t events)
{
	struct bounds *b = container_of(w, struct bounds, memory);
	uint64_t n;

	(void)events;
	if (read(b->memory_fd, &n, sizeof n) == sizeof n &&
	    limits_memory_is_full(b->limits, b->groups))
		end_run(b, LIMIT_MEMORY);
}

/* In the reaper: what was inside is dying, and takes a moment. */
static void remove_groups(const void *arg)
{
	const struct timespec five_ms = { .tv_nsec = 5000000 };

	const struct bounds *b = arg;

	for (int i = 0; i < SWEEPS && limits_leave(b->limits, b->pid) > 0; i++)
		(void)nanosleep(&five_ms, NULL);
}

int bounds_open(struct bounds *b, struct plan *plan, struct err *e)
{
	const struct plan_limits *l = &plan->limits;
	int keep[LIMITS_HIERARCHIES];

	*b = (struct bounds){
		.limits = l, .pid = getpid(), .memory_fd = -1,
		.memory = { .fd = -1, .ready = memory_ready },
		.output = {
			.limited = l->by_kind[LIMIT_OUTPUT].set,
			.left_bytes = l->by_kind[LIMIT_OUTPUT].value,
			.over = output_over,
		},
	};
	if (l->places_n == 0)
		return 0;
	for (size_t i = 0; i < l->places_n; i++)
		keep[i] = l->places[i].at.dir_fd;
	/* Before there is a group that it would have to remove. */
	return reaper_start_job(&b->reaper, &(struct reaper_job){
				.keep = keep, .n = l->places_n,
				.undo = remove_groups, .arg = b }, e);
}

int bounds_watch(struct bounds *b, struct loop *loop, const struct sandbox *sb,
		 struct err *e)
{
	b->loop = loop;
	b->groups = &sb->groups;
	b->memory_fd = limits_watch_memory(b->limits, b->groups, e);
	if (b->memory_fd < 0)
		return e->kind ? -1 : 0;
	return loop_watch(loop, &b->memory, b->memory_fd, EPOLLIN, e);
}

void bounds_close(struct bounds *b)
{
	if (!b->limits)
		return;
	if (b->loop)
		loop_forget(b->loop, &b->memory);
	close_fd(&b->memory_fd);
	reaper_dismiss(&b->reaper);
	b->limits = NULL;
}

enum limit_kind bounds_verdict(const struct bounds *b,
			       const struct sandbox *sb, bool timed_out,
			       int *status)
{
	enum limit_kind kind = timed_out ? LIMIT_TIME : b->ended_by;

	if (kind == LIMIT_NONE)
		kind = sb->reached;
	/* What killed a part of the run has killed the run. */
	if (kind == LIMIT_MEMORY || kind == LIMIT_OUTPUT)
		*status = 128 + SIGKILL;
	if (kind == LIMIT_NONE && *status == 128 + SIGXFSZ &&
	    b->limits->by_kind[LIMIT_FILE_SIZE].set)
		kind = LIMIT_FILE_SIZE;
	return kind;
}

struct sv bounds_text(const struct bounds *b, enum limit_kind kind)
{
	return b->limits->by_kind[kind].shown;
}
