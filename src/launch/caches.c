/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cache PATH`: a directory that later runs of the same policy find again.
 *
 * It is kept in the state directory (cli/cache_store.c) and mounted at PATH;
 * what the host has there is never looked into.  The agent writes there, and
 * so nothing else may have its place in it: a mount point would be made in what
 * the agent arranges, and later runs would find it.
 */
#include "builder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "area.h"
#include "own.h"

static const char *kept_at(const struct builder *b, const struct grant *g)
{
	for (size_t i = 0; i < b->in->caches_n; i++)
		if (sv_eq(b->in->caches[i].path, g->path))
			return b->in->caches[i].dir;
	return NULL;
}

/* Inside what is granted by name the true name is the one that is visible;
 * elsewhere no link of the host's is. */
static struct sv place_of(struct builder *b, struct sv path)
{
	char real[PATH_MAX];
	struct sv there;

	if (!realpath(builder_str(b, path), real))
		return path;
	there = sv_str(real);
	for (size_t i = 0; i < b->areas_n; i++)
		if (b->areas[i].kind == AREA_NAMED &&
		    area_contains(b->areas[i].path, there))
			return builder_dup(b, there);
	return path;
}

static int refuse(const struct grant *g, struct sv other, struct err *e)
{
	return err_kind(e, ERR_POLICY, "%.*s: %.*s is there already, and "
			"nothing of the host's can be in a cache",
			SV_FMT(g->text), SV_FMT(other));
}

/* All other areas and links are known by now. */
static int check_empty(const struct builder *b, const struct grant *g,
		       struct sv path, struct err *e)
{
	for (size_t i = 0; i < b->areas_n; i++) {
		const struct area *area = &b->areas[i];

		/* A private directory that is kept: a home, for one. */
		if (area->kind == AREA_PRIVATE ?
			    area_strictly_contains(path, area->path) :
			    area_contains(path, area->path))
			return refuse(g, area->path, e);
	}
	for (size_t i = 0; i < b->mounts_n; i++)
		if (area_contains(path, b->mounts[i].target))
			return refuse(g, b->mounts[i].target, e);
	return 0;
}

static int add_cache(struct builder *b, const struct grant *g, struct err *e)
{
	struct sv path = place_of(b, g->path);
	const char *dir = kept_at(b, g);
	struct area found = { 0 }, *area;

	if (!dir)
		return err_kind(e, ERR_BUG, "%.*s: it has no place",
				SV_FMT(g->text));
	if (grants_check_place(g, path, e) < 0 ||
	    check_empty(b, g, path, e) < 0)
		return -1;
	/* Directories of /run are made before anything is mounted. */
	if (area_contains(SV("/run"), path))
		return err_kind(e, ERR_POLICY, "%.*s: /run is the sandbox's own",
				SV_FMT(g->text));
	if (area_resolve(b, builder_dup(b, sv_str(dir)), &found, e) < 0) {
		/* A plan that is only to be printed makes no directory. */
		if (b->in->store || e->code != ENOENT)
			return err_ctx(e, "%.*s", SV_FMT(g->text));
		found = (struct area){ .path = builder_dup(b, sv_str(dir)) };
		found.identity.type = S_IFDIR;
	}
	if (found.identity.type != S_IFDIR)
		return err_kind(e, ERR_DENIED, "%s is no directory", dir);
	area = area_add(b, AREA_NAMED, path, g->text);
	area->write = true;
	area->source = found.path;
	area->identity = found.identity;
	area->owner = found.owner;
	area->group = found.group;
	return 0;
}

int caches_plan(struct builder *b, struct err *e)
{
	for (size_t i = 0; i < b->policy->grants_n; i++)
		if (b->policy->grants[i].kind == GRANT_CACHE &&
		    add_cache(b, &b->policy->grants[i], e) < 0)
			return -1;
	return 0;
}

/* In a tree of the host's the directory must be there: none is made. */
int caches_check(const struct builder *b, struct err *e)
{
	for (size_t i = 0; i < b->areas_n; i++) {
		const struct area *area = &b->areas[i], *around;
		auto_fd int fd = -1;

		if (!area->source.n)
			continue;
		around = areas_around(b, area->path);
		if (!around || around->kind == AREA_PRIVATE)
			continue;
		fd = path_open_exact(AT_FDCWD, area->path, O_PATH | O_DIRECTORY,
				     e);
		if (fd < 0)
			return err_ctx(e, "%.*s: it lies in %.*s (%.*s), where "
				       "no place for it can be made; make the "
				       "directory, or name another",
				       SV_FMT(area->why), SV_FMT(around->path),
				       SV_FMT(around->why));
	}
	return 0;
}
