/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `read`, `write` and the working directory become areas; and what no policy
 * may open is refused.
 */
#include "builder.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "area.h"
#include "dir.h"
#include "glob.h"
#include "own.h"

enum { GLOB_MATCHES_MAX = 1024, GLOB_ENTRIES_MAX = 20000 };

static const char *grant_word(const struct grant *g)
{
	return g->kind == GRANT_WRITE ? "write" : "read";
}

/* These are the sandbox's own; to bind the host's over them undoes it. */
int grants_check_place(const struct grant *g, struct sv path, struct err *e)
{
	static const char *const own[] = { "/proc", "/dev", "/etc" };

	for (size_t i = 0; i < countof(own); i++) {
		struct sv place = sv_str(own[i]);

		if (area_contains(path, place) ||
		    (i < 2 && area_contains(place, path)) ||
		    (g->kind != GRANT_READ && g->kind != GRANT_SOCKET &&
		     area_contains(place, path)))
			return err_kind(e, ERR_POLICY,
					"%.*s: %s is the sandbox's own; name "
					"directories that do not touch it",
					SV_FMT(g->text), own[i]);
	}
	if (g->kind != GRANT_READ && g->kind != GRANT_SOCKET &&
	    (area_contains(path, SV("/sys")) ||
	     area_contains(SV("/sys"), path)))
		return err_kind(e, ERR_POLICY, "%.*s: /sys is never writable",
				SV_FMT(g->text));
	return 0;
}

/* A read-only mount stops neither connect() nor what a device does. */
static int check_type(const struct grant *g, const struct area *area,
		      struct err *e)
{
	switch (area->identity.type) {
	case S_IFSOCK:
		return err_kind(e, ERR_POLICY, "%.*s: it is a socket, and who "
				"listens there acts with your rights; what opens "
				"one is `reach unix:PATH`", SV_FMT(g->text));
	case S_IFCHR:
	case S_IFBLK:
		return err_kind(e, ERR_POLICY, "%.*s: it is a device, and no "
				"grant of files opens one", SV_FMT(g->text));
	default:
		return 0;
	}
}

static int check_added(const struct builder *b, const struct grant *g,
		       struct err *e)
{
	const struct area *area = &b->areas[b->areas_n - 1];

	if (check_type(g, area, e) < 0)
		return -1;
	return grants_check_place(g, area->path, e);
}

static int add_grant(struct builder *b, const struct grant *g, struct sv path,
		     struct err *e)
{
	if (area_add_named(b, AREA_NAMED, g->kind == GRANT_WRITE, path,
			   g->text, e) < 0) {
		bool missing = e->code == ENOENT || e->code == ENOTDIR;

		if (missing && g->optional)
			return 0;
		if (missing)
			return err_kind(e, ERR_POLICY, "%.*s: %.*s does not "
					"exist; `%s? PATH` makes it optional",
					SV_FMT(g->text), SV_FMT(path),
					grant_word(g));
		return err_ctx(e, "%.*s", SV_FMT(g->text));
	}
	return check_added(b, g, e);
}

struct expansion {
	struct builder *b;
	const struct grant *grant;
	unsigned matches, entries;
	bool deep;		/* has a `**` */
};

/* What a pattern finds besides files and directories is not meant: sockets,
 * devices, links that lead nowhere. */
static bool is_usable(struct builder *b, struct sv path)
{
	struct stat st;

	builder_at(b, path);
	return stat(builder_str(b, path), &st) == 0 &&
	       (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode) ||
		S_ISFIFO(st.st_mode));
}

/* As a shell does, a link to a directory is looked into; not where a `**` could
 * go round in circles. */
static bool may_descend(const struct expansion *x, unsigned char type)
{
	return type == DT_DIR || type == DT_UNKNOWN ||
	       (type == DT_LNK && !x->deep);
}

static int expand(struct expansion *x, struct sv dir_path, struct err *e);

static int expand_entry(struct expansion *x, struct sv dir_path,
			const struct dirent *entry, struct err *e)
{
	struct sv path = builder_printf(x->b, "%.*s/%s",
		dir_path.n > 1 ? (int)dir_path.n : 0, dir_path.p,
		entry->d_name);

	if (++x->entries > GLOB_ENTRIES_MAX)
		return err_kind(e, ERR_LIMIT, "%.*s: more than %d entries to "
				"look at; name the directories",
				SV_FMT(x->grant->text), GLOB_ENTRIES_MAX);
	if (glob_match_shown(x->grant->path, path)) {
		if (!is_usable(x->b, path))
			return 0;
		if (++x->matches > GLOB_MATCHES_MAX)
			return err_kind(e, ERR_LIMIT, "%.*s: more than %d "
					"matches", SV_FMT(x->grant->text),
					GLOB_MATCHES_MAX);
		return add_grant(x->b, x->grant, path, e);
	}
	if (may_descend(x, entry->d_type) &&
	    glob_may_show_below(x->grant->path, path))
		return expand(x, path, e);
	return 0;
}

static int expand(struct expansion *x, struct sv dir_path, struct err *e)
{
	auto_dir DIR *dir = NULL;
	const struct dirent *entry;

	builder_at(x->b, dir_path);
	dir = opendir(builder_str(x->b, dir_path));
	while (dir && (entry = dir_next(dir)) != NULL)
		if (expand_entry(x, dir_path, entry, e) < 0)
			return -1;
	return 0;
}

/* What matches now; what appears later is not part of the grant. */
static int add_glob(struct builder *b, const struct grant *g, struct err *e)
{
	struct expansion x = {
		.b = b, .grant = g,
		.deep = sv_find_sv(g->path, SV("**")) < g->path.n,
	};
	struct sv start = g->path;

	while (glob_is_pattern(start))
		start = area_parent(start);
	if (expand(&x, start, e) < 0)
		return -1;
	if (x.matches == 0 && !g->optional)
		return err_kind(e, ERR_POLICY, "%.*s: nothing matches; `%s? "
				"PATH` makes it optional", SV_FMT(g->text),
				grant_word(g));
	return 0;
}

int grants_plan(struct builder *b, struct err *e)
{
	struct sv cwd = sv_str(b->in->cwd);

	if (!b->in->cwd || b->in->cwd[0] != '/')
		return err_kind(e, ERR_POLICY, "the working directory has no "
				"absolute name");
	/* In these there is nothing of the user's to see; in a directory that
	 * holds the sandbox's own, only what is granted by name. */
	if (!area_contains(cwd, SV("/etc")) && !area_contains(SV("/proc"), cwd) &&
	    !area_contains(SV("/dev"), cwd) && !area_contains(SV("/etc"), cwd) &&
	    area_add_named(b, AREA_NAMED, overlay_is_asked(b) &&
			   !area_contains(SV("/sys"), cwd),
			   builder_dup(b, cwd),
			   SV("the working directory"), e) < 0)
		return err_ctx(e, "the working directory");
	for (size_t i = 0; i < b->policy->grants_n; i++) {
		const struct grant *g = &b->policy->grants[i];

		if (g->kind == GRANT_SOCKET && sockets_add(b, g, e) < 0)
			return -1;
		if (g->kind != GRANT_READ && g->kind != GRANT_WRITE)
			continue;
		if ((g->is_glob ? add_glob(b, g, e) :
				  add_grant(b, g, g->path, e)) < 0)
			return -1;
	}
	if (caches_plan(b, e) < 0)
		return -1;
	areas_settle(b);
	return sockets_check_reach(b, e);
}

/* Canonical as far as it exists; what does not may be made later, there. */
static struct sv true_name(struct builder *b, const char *path)
{
	struct sv at = sv_str(path);
	char real[PATH_MAX];

	while (!realpath(builder_str(b, at), real)) {
		if (at.n <= 1)
			return sv_str(path);
		at = area_parent(at);
	}
	return builder_printf(b, "%s%s", real[1] ? real : "",
			      path + (at.n > 1 ? at.n : 0));
}

static int check_sealed(const struct area *area, struct sv sealed,
			struct err *e)
{
	if (area_contains(area->path, sealed) ||
	    area_contains(sealed, area->path))
		return err_kind(e, ERR_POLICY, "%.*s: %.*s belongs to stockade "
				"itself and is never writable inside; grant a "
				"smaller directory", SV_FMT(area->why),
				SV_FMT(sealed));
	return 0;
}

static bool any_writable(const struct builder *b)
{
	for (size_t i = 0; i < b->areas_n; i++)
		if (b->areas[i].write)
			return true;
	return false;
}

int refusals_check(struct builder *b, struct err *e)
{
	if (!any_writable(b))
		return 0;
	for (size_t i = 0; i < b->in->sealed_n; i++) {
		struct sv sealed = true_name(b, b->in->sealed[i]);

		for (size_t j = 0; j < b->areas_n; j++)
			/* A cache is not what has its name out here. */
			if (b->areas[j].write && !b->areas[j].source.n &&
			    check_sealed(&b->areas[j], sealed, e) < 0)
				return -1;
	}
	return 0;
}
