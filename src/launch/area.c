/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Areas: see area.h.
 *
 * A path is compared component by component, never as a string: /data is not
 * around /database.  Names of areas are canonical, so that two statements that
 * mean the same tree by different links meet, and so that pid 1 can refuse
 * every symbolic link when it opens them again.
 */
#include "area.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "own.h"

bool area_contains(struct sv dir, struct sv path)
{
	if (dir.n == 1)		/* "/" */
		return true;
	return sv_starts(path, dir) &&
	       (path.n == dir.n || path.p[dir.n] == '/');
}

bool area_strictly_contains(struct sv dir, struct sv path)
{
	return path.n != dir.n && area_contains(dir, path);
}

struct sv area_parent(struct sv path)
{
	size_t n = path.n;

	while (n > 0 && path.p[n - 1] != '/')
		n--;
	return sv_head(path, n > 1 ? n - 1 : 1);
}

struct sv area_base(struct sv path)
{
	size_t n = path.n;

	while (n > 0 && path.p[n - 1] != '/')
		n--;
	return sv_from(path, n);
}

struct area *area_add(struct builder *b, enum area_kind kind, struct sv path,
		      struct sv why)
{
	static struct area spare;
	struct area *area = arena_push(b->arena, &b->areas, &b->areas_n,
				       &b->areas_cap);

	if (!area) {
		b->full = true;
		area = &spare;
	}
	*area = (struct area){ .kind = kind, .path = path, .why = why };
	return area;
}

static int canonical_name(struct builder *b, int fd, struct sv *ret,
			  struct err *e)
{
	char link[64], name[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof name);
	if (n < 0)
		return err_sys(e, "read %s", link);
	if ((size_t)n >= sizeof name || name[0] != '/')
		return err_kind(e, ERR_LIMIT, "its name is too long");
	*ret = builder_dup(b, sv_of(name, (size_t)n));
	return 0;
}

int area_resolve(struct builder *b, struct sv path, struct area *ret,
		 struct err *e)
{
	struct stat st;
	auto_fd int fd = -1;

	builder_at(b, path);
	fd = path_open_exact(AT_FDCWD, path, O_PATH, e);
	*ret = (struct area){ .path = path };
	if (fd < 0 && e->code == ELOOP) {
		fd = open(builder_str(b, path), O_PATH | O_CLOEXEC);
		if (fd < 0)
			return err_sys(e, "open %.*s", SV_FMT(path));
		if (canonical_name(b, fd, &ret->path, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(path));
	}
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat %.*s", SV_FMT(path));
	ret->identity = path_identity_of(&st);
	ret->owner = st.st_uid;
	ret->group = st.st_gid;
	return 0;
}

int area_check(const struct area *area, int fd, struct err *e)
{
	struct path_identity now;

	if (path_identify(fd, &now, e) < 0)
		return -1;
	if (!path_same(&now, &area->identity))
		return err_kind(e, ERR_DENIED, "%.*s was replaced meanwhile",
				SV_FMT(area->path));
	return 0;
}

int area_add_named(struct builder *b, enum area_kind kind, bool write,
		   struct sv path, struct sv why, struct err *e)
{
	struct area found, *area;

	if (area_resolve(b, path, &found, e) < 0)
		return -1;
	area = area_add(b, kind, found.path, why);
	area->write = write;
	area->identity = found.identity;
	area->owner = found.owner;
	area->group = found.group;
	/* The name that was given leads to it; where its directory is itself
	 * visible, the link is there already (areas_mount() drops this one). */
	if (!sv_eq(path, found.path))
		builder_mount(b, STEP_LINK, path, why)->source = found.path;
	return 0;
}

static int compare_areas(const void *left, const void *right)
{
	const struct area *a = left, *b = right;
	int order = sv_compare_paths(a->path, b->path);

	/* Of one path the policy's word comes last, and write after read. */
	if (order == 0)
		order = (int)a->kind - (int)b->kind;
	return order ? order : (int)a->write - (int)b->write;
}

void areas_settle(struct builder *b)
{
	size_t n = 0;

	if (b->areas_n == 0)
		return;
	qsort(b->areas, b->areas_n, sizeof *b->areas, compare_areas);
	for (size_t i = 0; i < b->areas_n; i++) {
		if (n && sv_eq(b->areas[n - 1].path, b->areas[i].path))
			n--;
		b->areas[n++] = b->areas[i];
	}
	b->areas_n = n;
	for (size_t i = 0; i < n; i++) {
		struct area *area = &b->areas[i];
		const struct area *around = areas_around(b, area->path);

		if (!around || around->kind == AREA_PRIVATE ||
		    area->kind == AREA_PRIVATE)
			continue;
		/* Root's own files in a system directory: only the mapped copy
		 * shows them as the agent's. */
		if (b->plan->as_root && around->kind == AREA_SYSTEM &&
		    area->kind != AREA_SYSTEM)
			continue;
		/* A program in a writable tree is part of it. */
		area->redundant = !area->source.n &&
			(area->write == around->write ||
				  area->kind == AREA_CODE);
	}
}

static const struct area *find(const struct builder *b, struct sv path,
			       bool strictly)
{
	for (size_t i = b->areas_n; i > 0; i--) {
		const struct area *area = &b->areas[i - 1];

		/* What is redundant is no mount: it holds nothing in place,
		 * and is writable as the area around it is. */
		if (!area->redundant && area_contains(area->path, path) &&
		    !(strictly && area->path.n == path.n))
			return area;
	}
	return NULL;
}

const struct area *areas_find(const struct builder *b, struct sv path)
{
	return find(b, path, false);
}

const struct area *areas_around(const struct builder *b, struct sv path)
{
	return find(b, path, true);
}

static int compare_mounts(const void *left, const void *right)
{
	const struct step *a = left, *b = right;
	int order = sv_compare_paths(a->target, b->target);

	return order ? order : (int)a->kind - (int)b->kind;
}

/* Is there a link of that name already, in what is bound from the host? */
static bool comes_with_its_directory(const struct builder *b, struct sv path)
{
	const struct area *around = areas_around(b, path);
	const struct plan *plan = b->plan;

	for (size_t i = 0; i < plan->steps_n; i++)	/* /bin, /lib */
		if (plan->steps[i].kind == STEP_LINK &&
		    area_contains(plan->steps[i].target, path))
			return true;
	return around && around->kind != AREA_PRIVATE;
}

static void mount_area(struct builder *b, const struct area *area)
{
	const struct area *around = areas_around(b, area->path);
	struct step *s;

	if (area->kind == AREA_PRIVATE) {
		s = builder_mount(b, STEP_PRIVATE, area->path, area->why);
		s->mode = area->mode;
		/* Inside a tree of the host nothing can be made: it is there,
		 * or the sandbox does without. */
		if (around && around->kind != AREA_PRIVATE)
			s->flags = STEP_OPTIONAL;
		return;
	}
	/* What a cache keeps is not held. */
	s = builder_mount(b, area->write && !area->source.n &&
			  overlay_is_asked(b) ? STEP_OVERLAY : STEP_BIND,
			  area->path, area->why);
	s->source = area->source.n ? area->source : area->path;
	s->identity = area->identity;
	s->flags = area->write ? STEP_WRITE : 0;
	if (area->kind == AREA_SYSTEM)
		s->flags |= STEP_SYSTEM;
	/* No stub is made for it in a tree of the host. */
	if (area->source.n && around && around->kind != AREA_PRIVATE)
		s->flags |= STEP_THERE;
}

enum { NOTHING_AROUND = UINT32_MAX };

/* The nearest mount around the i-th.  They are in order, so it is the one in front
 * or around that. */
static uint32_t find_around(const struct builder *b, const uint32_t *around,
			    size_t i)
{
	uint32_t at = i ? (uint32_t)i - 1 : NOTHING_AROUND;

	while (at != NOTHING_AROUND &&
	       (sv_eq(b->mounts[at].target, b->mounts[i].target) ||
		!area_contains(b->mounts[at].target, b->mounts[i].target)))
		at = around[at];
	return at;
}

/* Below a cover there is nothing that could be covered, held in place or kept
 * read-only, nor be seen whether it still is (hold.c). */
static bool needs_what_is_there(const struct step *s)
{
	return s->kind == STEP_COVER || s->kind == STEP_GUARD ||
	       s->kind == STEP_PIN;
}

static bool is_covered(const struct builder *b, const uint32_t *around,
		       size_t i)
{
	uint32_t at = around[i];

	while (at != NOTHING_AROUND && b->mounts[at].kind != STEP_COVER &&
	       needs_what_is_there(&b->mounts[at]))
		at = around[at];
	return at != NOTHING_AROUND && b->mounts[at].kind == STEP_COVER;
}

/* What stands before a file covers it as well.  It is not mounted on a cover,
 * whose name goes before the root is sealed, and with it what is on that. */
static bool is_stood_before(const struct builder *b, size_t i)
{
	struct sv target = b->mounts[i].target;

	for (size_t k = i + 1; k < b->mounts_n &&
			       sv_eq(b->mounts[k].target, target); k++)
		if (b->mounts[k].kind == STEP_KEY_FILE)
			return b->mounts[i].kind == STEP_COVER;
	return false;
}

int areas_mount(struct builder *b, struct err *e)
{
	uint32_t *around;

	for (size_t i = 0; i < b->areas_n; i++)
		if (!b->areas[i].redundant)
			mount_area(b, &b->areas[i]);
	if (b->full)
		return err_kind(e, ERR_LIMIT, "the plan is too large");
	around = arena_alloc(b->arena, b->mounts_n * sizeof *around);
	if (!around)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (b->mounts_n)
		qsort(b->mounts, b->mounts_n, sizeof *b->mounts,
		      compare_mounts);
	for (size_t i = 0; i < b->mounts_n; i++) {
		const struct step *s = &b->mounts[i];
		const struct step *last = i ? &b->mounts[i - 1] : NULL;

		around[i] = find_around(b, around, i);
		if (last && last->kind == s->kind &&
		    sv_eq(last->target, s->target))
			continue;
		if (s->kind == STEP_LINK &&
		    comes_with_its_directory(b, s->target))
			continue;
		if (needs_what_is_there(s) &&
		    (is_covered(b, around, i) || is_stood_before(b, i)))
			continue;
		*builder_step(b, s->kind, s->target, s->why) = *s;
	}
	return 0;
}
