/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups of a run, from outside: see limit.h. */
#include "limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "io.h"
#include "own.h"

/* Memory is charged in batches: the last one may not have fitted. */
enum { CPU_PERIOD_US = 100000, FULL_SLACK_BYTES = 1 << 20 };

static int set_number(int dir_fd, const char *file, uint64_t value,
		      struct err *e)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%" PRIu64, value);
	return cgroup_set(dir_fd, file, text, e);
}

static bool machine_has_swap(void)
{
	auto_buf struct buf b = buf_new(65536);
	struct err ignored;

	/* A line of headings, then one for each. */
	return io_read_file(AT_FDCWD, "/proc/swaps", &b, &ignored) == 0 &&
	       sv_find(buf_sv(&b), '\n') + 1 < b.n;
}

/* Without a limit of its own there is no swap: memory is meant to be all. */
static int set_memory(const struct plan_limits *l, int version, int dir_fd,
		      struct err *e)
{
	const struct limit *swap = &l->by_kind[LIMIT_SWAP];
	const char *file = version == 2 ? "memory.swap.max" :
					  "memory.memsw.limit_in_bytes";
	uint64_t memory = l->by_kind[LIMIT_MEMORY].value;
	uint64_t more = swap->set ? swap->value : 0;

	if (set_number(dir_fd, version == 2 ? "memory.max" :
					      "memory.limit_in_bytes",
		       memory, e) < 0)
		return -1;
	if (version == 2 && cgroup_set(dir_fd, "memory.oom.group", "1", e) < 0)
		return -1;
	if (cgroup_has(dir_fd, file))
		return set_number(dir_fd, file, version == 2 ? more :
				  memory + more, e);
	if (swap->set || machine_has_swap())
		return err_kind(e, ERR_UNSUPP, "this kernel does not account "
				"for swap (CONFIG_SWAP, swapaccount=1)");
	return 0;
}

static int set_cpu(const struct plan_limits *l, int version, int dir_fd,
		   struct err *e)
{
	/* Thousandths of a processor, of a period in microseconds. */
	uint64_t quota_us = l->by_kind[LIMIT_CPU].value * CPU_PERIOD_US / 1000;
	char text[48];

	if (version == 1) {
		if (set_number(dir_fd, "cpu.cfs_period_us", CPU_PERIOD_US,
			       e) < 0)
			return -1;
		return set_number(dir_fd, "cpu.cfs_quota_us", quota_us, e);
	}
	(void)snprintf(text, sizeof text, "%" PRIu64 " %d", quota_us,
		       CPU_PERIOD_US);
	return cgroup_set(dir_fd, "cpu.max", text, e);
}

static int set_group(const struct plan_limits *l,
		     const struct limits_place *place, int dir_fd,
		     struct err *e)
{
	int version = place->at.version;

	/* `limit io` alone needs the controller, and no limit of it. */
	if (place->controllers & 1u << CGROUP_MEMORY &&
	    l->by_kind[LIMIT_MEMORY].set &&
	    set_memory(l, version, dir_fd, e) < 0)
		return -1;
	if (place->controllers & 1u << CGROUP_CPU &&
	    set_cpu(l, version, dir_fd, e) < 0)
		return -1;
	/* pid 1 is not the agent's. */
	if (place->controllers & 1u << CGROUP_PIDS)
		return set_number(dir_fd, "pids.max",
				  l->by_kind[LIMIT_PROCESSES].value + 1, e);
	return 0;
}

/* "+memory +pids" */
static const char *controllers_text(unsigned controllers, char sign,
				    struct buf *b)
{
	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		if (controllers & 1u << c)
			buf_printf(b, "%s%c%s", b->n ? " " : "", sign,
				   cgroup_controller_name(
					(enum cgroup_controller)c));
	return buf_cstr(b);
}

/* The group that we step aside into with version 2. */
static void aside_name(const struct limits_groups *g, char *ret, size_t n)
{
	(void)snprintf(ret, n, "%.40s" CGROUP_ASIDE, g->name);
}

static int make_group(const struct plan_limits *l,
		      const struct limits_place *place,
		      struct limits_groups *g, struct err *e)
{
	auto_buf struct buf text = buf_new(64);
	struct group *group = &g->v[g->n];
	const char *file;
	char aside[64];

	*group = (struct group){ -1, -1, -1 };
	g->n++;
	aside_name(g, aside, sizeof aside);
	if (place->at.version == 2 &&
	    cgroup_open_up(place->at.dir_fd,
			   controllers_text(place->controllers, '+', &text),
			   aside, &group->aside_fd, e) < 0)
		return -1;
	if (cgroup_make(place->at.dir_fd, g->name, &group->dir_fd, e) < 0 ||
	    set_group(l, place, group->dir_fd, e) < 0)
		return -1;
	/* A thread that moves itself need not wait until no process of the
	 * machine forks, for which the kernel takes 8 ms.  pid 1 is one. */
	file = place->at.version == 1 ? "tasks" : "cgroup.procs";
	group->procs_fd = openat(group->dir_fd, file, O_WRONLY | O_CLOEXEC);
	return group->procs_fd < 0 ? err_sys(e, "open %s", file) : 0;
}

int limits_make(const struct plan_limits *l, struct limits_groups *ret,
		struct err *e)
{
	uint32_t noise;

	*ret = (struct limits_groups){ 0 };
	if (l->places_n == 0)
		return 0;
	if (getrandom(&noise, sizeof noise, 0) != sizeof noise)
		return err_sys(e, "getrandom");
	(void)snprintf(ret->name, sizeof ret->name, CGROUP_PREFIX "%d-%08" PRIx32,
		       getpid(), noise);
	for (size_t i = 0; i < l->places_n; i++) {
		(void)cgroup_sweep(l->places[i].at.dir_fd, NULL);
		if (make_group(l, &l->places[i], ret, e) < 0) {
			limits_remove(l, ret);
			return err_ctx(e, "a control group for the run");
		}
	}
	return 0;
}

void limits_remove(const struct plan_limits *l, struct limits_groups *g)
{
	struct err ignored;
	char aside[64];

	aside_name(g, aside, sizeof aside);
	for (size_t i = 0; i < g->n; i++) {
		auto_buf struct buf text = buf_new(64);
		const struct limits_place *place = &l->places[i];
		struct group *group = &g->v[i];

		close_fd(&group->procs_fd);
		/* What is left then, the next run removes. */
		if (group->dir_fd >= 0)
			(void)!cgroup_remove(place->at.dir_fd, g->name,
					     &group->dir_fd, &ignored);
		if (group->aside_fd >= 0) {
			close_fd(&group->aside_fd);
			cgroup_close_up(place->at.dir_fd, controllers_text(
					place->controllers, '-', &text),
					aside);
		}
	}
	g->n = 0;
}

void limits_release(const struct limits_groups *g)
{
	struct err ignored;

	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].dir_fd >= 0)
			(void)!cgroup_unthrottle(g->v[i].dir_fd, &ignored);
}

int limits_leave(const struct plan_limits *l, pid_t maker)
{
	char mine[32];
	int left = 0;

	(void)snprintf(mine, sizeof mine, CGROUP_PREFIX "%d-", maker);

	for (size_t i = 0; i < l->places_n; i++) {
		auto_buf struct buf text = buf_new(64);
		const struct limits_place *place = &l->places[i];
		int here = cgroup_sweep(place->at.dir_fd, mine);

		/* The last is the one that this process is in itself. */
		if (place->at.version == 2 && here > 0)
			cgroup_close_up_left(place->at.dir_fd, controllers_text(
					    place->controllers, '-', &text));
		left += here;
	}
	return left;
}

/* The group that has the controller, or NULL. */
static const struct group *group_of(const struct plan_limits *l,
				    const struct limits_groups *g,
				    enum cgroup_controller c, int *version)
{
	for (size_t i = 0; i < g->n; i++)
		if (l->places[i].controllers & 1u << c) {
			*version = l->places[i].at.version;
			return &g->v[i];
		}
	return NULL;
}

static bool is_full(int version, int dir_fd)
{
	if (version == 2)
		return cgroup_get(dir_fd, "memory.events", "max");
	/* Not memory.failcnt, which newer kernels no longer count. */
	return cgroup_get(dir_fd, "memory.max_usage_in_bytes", NULL) +
	       FULL_SLACK_BYTES >=
	       cgroup_get(dir_fd, "memory.limit_in_bytes", NULL);
}

bool limits_memory_is_full(const struct plan_limits *l,
			   const struct limits_groups *g)
{
	int version = 0;
	const struct group *group = group_of(l, g, CGROUP_MEMORY, &version);

	return group && is_full(version, group->dir_fd);
}

/* Something was killed, and it was this group that was full. */
static bool memory_ran_out(int version, int dir_fd)
{
	return is_full(version, dir_fd) &&
	       cgroup_get(dir_fd, version == 2 ? "memory.events" :
						 "memory.oom_control",
			  "oom_kill");
}

enum limit_kind limits_reached(const struct plan_limits *l,
			       const struct limits_groups *g)
{
	int version = 0;
	const struct group *group = group_of(l, g, CGROUP_MEMORY, &version);

	if (group && memory_ran_out(version, group->dir_fd))
		return LIMIT_MEMORY;
	group = group_of(l, g, CGROUP_PIDS, &version);
	if (group && cgroup_get(group->dir_fd, "pids.events", "max"))
		return LIMIT_PROCESSES;
	return LIMIT_NONE;
}

int limits_watch_memory(const struct plan_limits *l,
			const struct limits_groups *g, struct err *e)
{
	int version = 0;
	const struct group *group = group_of(l, g, CGROUP_MEMORY, &version);

	e->kind = ERR_NONE;
	/* Version 2 kills the whole group by itself (memory.oom.group). */
	if (!group || version == 2 || !l->by_kind[LIMIT_MEMORY].set)
		return -1;
	return cgroup_watch_memory(group->dir_fd, e);
}
