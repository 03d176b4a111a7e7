/* SPDX-License-Identifier: Apache-2.0 */
/* What holds which limit, and pid 1's part of it: see limit.h. */
#include "limit.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"
#include "own.h"
#include "scope.h"
#include "tmpfs.h"

/* By which controller each is held, if by any. */
static const struct {
	enum limit_kind kind;
	enum cgroup_controller controller;
} grouped[] = {
	{ LIMIT_MEMORY, CGROUP_MEMORY }, { LIMIT_SWAP, CGROUP_MEMORY },
	{ LIMIT_PROCESSES, CGROUP_PIDS }, { LIMIT_CPU, CGROUP_CPU },
	{ LIMIT_IO, CGROUP_IO },
};

/*
 * With version 2 a group is only divided by who owns it, and only while nobody
 * else is in it.  Where ours is not like that, systemd gives us one.
 */
static int find_place(enum cgroup_controller c, bool may_ask,
		      struct cgroup_place *ret, struct err *e)
{
	struct err why;

	if (cgroup_find(c, ret, e) == 0) {
		if (ret->version == 1 || !may_ask || cgroup_is_ours(ret->dir_fd))
			return 0;
		close_fd(&ret->dir_fd);
		(void)err_kind(e, ERR_UNSUPP, "the control group %s has other "
			       "processes", ret->path);
	} else if (e->kind != ERR_UNSUPP || !may_ask || !cgroup_is_unified()) {
		return -1;
	}
	if (scope_enter(&why) == 0)
		return cgroup_find(c, ret, e);
	return err_kind(e, ERR_UNSUPP, "%.250s, and there is no other: %.250s",
			e->msg, why.msg);
}

/* Adds the controller to the place where it is; co-mounted ones share it. */
static int add_place(struct plan_limits *l, enum cgroup_controller c,
		     bool may_ask, struct err *e)
{
	struct limits_place *p = &l->places[l->places_n];
	struct stat st;

	for (size_t i = 0; i < l->places_n; i++)
		if (l->places[i].controllers & 1u << c)
			return 0;
	*p = (struct limits_place){ .at = { .dir_fd = -1 } };
	if (find_place(c, may_ask, &p->at, e) < 0)
		return -1;
	if (fstat(p->at.dir_fd, &st) < 0) {
		close_fd(&p->at.dir_fd);
		return err_sys(e, "identify %s", p->at.path);
	}
	p->inode = st.st_ino;
	p->controllers = 1u << c;
	for (size_t i = 0; i < l->places_n; i++) {
		struct stat other;

		if (fstat(l->places[i].at.dir_fd, &other) < 0 ||
		    other.st_ino != st.st_ino || other.st_dev != st.st_dev)
			continue;
		l->places[i].controllers |= p->controllers;
		close_fd(&p->at.dir_fd);
		return 0;
	}
	l->places_n++;
	return 0;
}

static int decide_one(struct plan_limits *l, size_t i, struct err *e)
{
	struct limit *limit = &l->by_kind[grouped[i].kind];

	if (!limit->set)
		return 0;
	/* Processes are counted without a group as well. */
	if (add_place(l, grouped[i].controller,
		      grouped[i].kind != LIMIT_PROCESSES, e) == 0 &&
	    (grouped[i].kind != LIMIT_IO || limits_io_place(l, e) == 0))
		return 0;
	if (grouped[i].kind == LIMIT_PROCESSES) {
		l->by_rlimit = true;
		return 0;
	}
	if (limit->optional) {
		limit->set = false;
		return 0;
	}
	return err_ctx(e, "%.*s", SV_FMT(limit->text));
}

/* The layers' tmpfs has to keep what overlayfs notes, and to be full in time. */
static int decide_workspace(struct plan_limits *l, struct err *e)
{
	struct limit *limit = &l->by_kind[LIMIT_WORKSPACE];
	struct limit *files = &l->by_kind[LIMIT_WORKSPACE_FILES];
	uint64_t names = files->set ? files->value : 0;

	if (!limit->set || (tmpfs_check_attributes(e) == 0 &&
			    tmpfs_check_size(limit->value + names * TMPFS_NAME,
					     e) == 0))
		return 0;
	/* They are counted there, or not at all. */
	if (files->set && !files->optional && e->kind == ERR_UNSUPP)
		return err_ctx(e, "%.*s", SV_FMT(files->text));
	if (!limit->optional || e->kind != ERR_UNSUPP)
		return err_ctx(e, "%.*s", SV_FMT(limit->text));
	limit->set = false;
	files->set = false;
	return 0;
}

int limits_decide(const struct policy *p, struct plan_limits *ret,
		  struct err *e)
{
	struct plan_limits l = { 0 };

	for (int i = 0; i < LIMIT_KINDS; i++)
		l.by_kind[i] = p->limits[i];
	for (size_t i = 0; i < countof(grouped); i++)
		if (decide_one(&l, i, e) < 0) {
			limits_forget(&l);
			return -1;
		}
	if (decide_workspace(&l, e) < 0) {
		limits_forget(&l);
		return -1;
	}
	if (l.by_kind[LIMIT_SWAP].set && !l.by_kind[LIMIT_MEMORY].set) {
		limits_forget(&l);
		return err_kind(e, ERR_POLICY, "%.*s: needs `limit memory`",
				SV_FMT(l.by_kind[LIMIT_SWAP].text));
	}
	*ret = l;
	return 0;
}

void limits_forget(struct plan_limits *l)
{
	for (size_t i = 0; i < l->places_n; i++)
		close_fd(&l->places[i].at.dir_fd);
	l->places_n = 0;
}

static void put_limit(struct buf *b, const struct limit *limit)
{
	if (b->n)
		buf_puts(b, ", ");
	buf_put(b, limit->shown);
}

void limits_put_groups(const struct plan_limits *l, struct buf *b)
{
	for (size_t i = 0; i < countof(grouped); i++)
		if (l->by_kind[grouped[i].kind].set &&
		    !(grouped[i].kind == LIMIT_PROCESSES && l->by_rlimit))
			put_limit(b, &l->by_kind[grouped[i].kind]);
	for (size_t i = 0; l->by_kind[LIMIT_IO].set && i < l->disks_n; i++)
		buf_printf(b, "%s %u:%u", i ? "," : " of disk",
			   l->disks[i].major, l->disks[i].minor);
	for (size_t i = 0; i < l->places_n; i++)
		buf_printf(b, "%s %s", i ? "," : " below",
			   l->places[i].at.path);
}

void limits_put_rlimits(const struct plan_limits *l, struct buf *b)
{
	if (l->by_kind[LIMIT_FILES].set)
		put_limit(b, &l->by_kind[LIMIT_FILES]);
	if (l->by_kind[LIMIT_FILE_SIZE].set)
		put_limit(b, &l->by_kind[LIMIT_FILE_SIZE]);
	if (l->by_kind[LIMIT_PROCESSES].set && l->by_rlimit)
		put_limit(b, &l->by_kind[LIMIT_PROCESSES]);
}

/* pid 1 itself: it writes to what the parent has opened, and so the parent's
 * rights count. */
int limits_enter(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	if (in->groups->n != in->plan->limits.places_n)
		return err_kind(e, ERR_BUG, "there is no group");
	for (size_t i = 0; i < in->groups->n; i++)
		if (write(in->groups->v[i].procs_fd, "0", 1) != 1)
			return err_sys(e, "enter the control group below %s",
				       in->plan->limits.places[i].at.path);
	return 0;
}

/* Never more than there was. */
static int lower(__rlimit_resource_t which, uint64_t value, struct err *e)
{
	struct rlimit limit;

	if (getrlimit(which, &limit) < 0)
		return err_sys(e, "read a limit");
	if (limit.rlim_max > value)
		limit.rlim_max = value;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	/* What was asked for is meant to be usable. */
	if (which == RLIMIT_NOFILE)
		limit.rlim_cur = limit.rlim_max;
	if (setrlimit(which, &limit) < 0)
		return err_sys(e, "set a limit");
	return 0;
}

/* Not pid 1's own: it has descriptors open for calls that wait, whose number is
 * no matter of the command's. */
int limits_note(struct init *in, const struct step *s, struct err *e)
{
	(void)s;
	(void)e;
	in->lowers = true;
	return 0;
}

int limits_lower(const struct plan_limits *l, unsigned joins, struct err *e)
{
	if (l->by_kind[LIMIT_FILES].set &&
	    lower(RLIMIT_NOFILE, l->by_kind[LIMIT_FILES].value, e) < 0)
		return -1;
	if (l->by_kind[LIMIT_FILE_SIZE].set &&
	    lower(RLIMIT_FSIZE, l->by_kind[LIMIT_FILE_SIZE].value, e) < 0)
		return -1;
	/* pid 1 is not the agent's, and counts; so does an ordinary user's sentry,
	 * until whose coming there is room for one more. */
	if (l->by_kind[LIMIT_PROCESSES].set && l->by_rlimit)
		return lower(RLIMIT_NPROC, l->by_kind[LIMIT_PROCESSES].value +
			     1 + joins, e);
	return 0;
}
