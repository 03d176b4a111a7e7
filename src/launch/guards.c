/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards: see guards.h.
 *
 * A read-only mount on a file protects the file, not its name: whoever may
 * write its parent's parent renames the parent, makes a new one, and has
 * another file under the old name.  So every directory from the guarded path
 * up to the grant is mounted on itself: the name of a mount point cannot be
 * renamed or removed (EBUSY).  The grant's own root is one already.
 *
 * A symbolic link cannot carry a mount, so a guarded name that is one is
 * refused.
 */
#include "guards.h"

#include <errno.h>

#include "absent.h"
#include "area.h"
#include "dotfiles.h"
#include "glob.h"

#define DEFAULT SV(GUARDED_BY_DEFAULT)

static bool is_of_git(struct sv guard)
{
	return sv_starts(guard, SV(".git/"));
}

/* 1 and *ret when it exists, 0 when not. */
static int look(struct builder *b, struct sv path, struct path_identity *ret,
		struct err *e)
{
	builder_at(b, path);
	if (path_identify_at(AT_FDCWD, builder_str(b, path), ret) == 0)
		return 1;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	return err_sys(e, "stat %.*s", SV_FMT(path));
}

static int pin_ancestors(struct builder *b, struct sv path,
			 const struct area *around, struct sv why,
			 struct err *e)
{
	for (struct sv at = area_parent(path);
	     area_strictly_contains(around->path, at); at = area_parent(at)) {
		struct path_identity identity;
		int found = look(b, at, &identity, e);

		if (found < 0)
			return -1;
		if (!found || identity.type != S_IFDIR)
			return err_kind(e, ERR_DENIED, "%.*s was replaced "
					"meanwhile", SV_FMT(at));
		builder_mount(b, STEP_PIN, at, why)->identity = identity;
	}
	return 0;
}

int guards_add(struct builder *b, struct sv path, struct sv why,
	       struct err *e)
{
	const struct area *around = areas_find(b, path);
	struct path_identity identity;
	int found;

	if (!around || !around->write || around->source.n)
		return 0;
	found = look(b, path, &identity, e);
	if (found < 0)
		return -1;
	if (!found)
		return err_kind(e, ERR_POLICY, "%.*s: %.*s does not exist; "
				"`guard? PATH` makes it optional",
				SV_FMT(why), SV_FMT(path));
	if (identity.type == S_IFLNK)
		return err_kind(e, ERR_POLICY, "%.*s: %.*s is a symbolic link, "
				"which cannot be kept from being replaced; "
				"`write %.*s` gives it up", SV_FMT(why),
				SV_FMT(path), SV_FMT(path));
	builder_mount(b, STEP_GUARD, path, why)->identity = identity;
	return pin_ancestors(b, path, around, why, e);
}

/* path does not exist, and is not to be made: its name is held by the keeper,
 * and those of the directories that do exist by pins. */
static int keep_absent(struct builder *b, struct sv path, struct sv why,
		       bool is_default, struct err *e)
{
	const struct area *around = areas_find(b, path);
	struct path_identity identity;
	struct sv at = path;
	int found = 0;

	if (!around || !around->write)
		return 0;
	absent_forbid(b, path, why, is_default);
	while (!found && area_strictly_contains(around->path, at)) {
		found = look(b, area_parent(at), &identity, e);
		if (found < 0)
			return -1;
		if (!found)
			at = area_parent(at);
	}
	return found && identity.type == S_IFDIR ?
		       pin_ancestors(b, at, around, why, e) : 0;
}

/* A `write` that names the guarded path itself lifts a default guard. */
static bool is_lifted(const struct builder *b, struct sv path)
{
	for (size_t i = 0; i < b->areas_n; i++)
		if (b->areas[i].write && sv_eq(b->areas[i].path, path))
			return true;
	return false;
}

int guards_add_found(struct builder *b, struct sv path, struct err *e)
{
	if (is_lifted(b, path))
		return 0;
	return guards_add(b, path, DEFAULT, e);
}

int guards_add_git_dir(struct builder *b, struct sv dir, struct err *e)
{
	for (const char *const *at = dotfile_guards; *at; at++) {
		struct path_identity identity;
		struct sv path;
		int found;

		if (!is_of_git(sv_str(*at)))
			continue;
		path = builder_printf(b, "%.*s/%s", SV_FMT(dir),
				      *at + strlen(".git/"));
		found = look(b, path, &identity, e);
		if (found < 0 || (!found && keep_absent(b, path, DEFAULT, true,
							e) < 0))
			return -1;
	}
	return 0;
}

int guards_add_default(struct builder *b, struct sv dir, struct sv name,
		       struct err *e)
{
	for (const char *const *at = dotfile_guards; *at; at++) {
		struct sv guard = sv_str(*at), path;
		size_t first = sv_find(guard, '/');
		struct path_identity identity;
		int found;

		if (!glob_match_segment(sv_head(guard, first), name))
			continue;
		path = builder_printf(b, "%.*s/%.*s%.*s", SV_FMT(dir),
				      SV_FMT(name),
				      SV_FMT(sv_from(guard, first)));
		if (is_lifted(b, path))
			continue;
		found = look(b, path, &identity, e);
		if (found < 0 || (found && guards_add(b, path, DEFAULT, e) < 0))
			return -1;
		/* Others may be made nowhere (forbid_default()); in .git only
		 * of a repository that is not the agent's. */
		if (!found && is_of_git(guard) &&
		    keep_absent(b, path, DEFAULT, true, e) < 0)
			return -1;
	}
	if (sv_eq(name, SV(".git"))) {
		/* A linked worktree's .git is a file that says where the
		 * repository is: as good as its hooks. */
		struct sv path = builder_printf(b, "%.*s/.git", SV_FMT(dir));
		struct path_identity identity;
		int found = look(b, path, &identity, e);

		if (found < 0)
			return -1;
		if (found && identity.type != S_IFDIR && !is_lifted(b, path))
			return guards_add(b, path, DEFAULT, e);
	}
	return 0;
}

static int guard_policy_file(struct builder *b, struct sv path, struct err *e)
{
	const struct area *around = areas_find(b, path);

	if (around && around->write && sv_eq(around->path, path))
		return err_kind(e, ERR_POLICY, "%.*s: a policy file in use is "
				"never writable inside", SV_FMT(around->why));
	return guards_add(b, path, SV("the policy itself"), e);
}

/* The name that was given, and the file that it leads to. */
static int guard_policy(struct builder *b, struct sv path, struct err *e)
{
	struct area found, parent;
	struct sv name;

	if (area_resolve(b, path, &found, e) < 0 ||
	    area_resolve(b, area_parent(path), &parent, e) < 0)
		return err_ctx(e, "the policy");
	name = builder_printf(b, "%.*s/%.*s",
			      parent.path.n > 1 ? (int)parent.path.n : 0,
			      parent.path.p, SV_FMT(area_base(path)));
	if (guard_policy_file(b, found.path, e) < 0)
		return -1;
	return sv_eq(name, found.path) ? 0 : guard_policy_file(b, name, e);
}

/* As the grants are called, whatever links lead to what is missing. */
static struct sv true_name(struct builder *b, struct sv path)
{
	struct area found;
	struct err ignored;

	for (struct sv at = area_parent(path); at.n > 1; at = area_parent(at))
		if (area_resolve(b, at, &found, &ignored) == 0)
			return builder_printf(b, "%.*s%.*s",
					      SV_FMT(found.path),
					      SV_FMT(sv_from(path, at.n)));
	return path;
}

int guards_plan(struct builder *b, struct err *e)
{
	const struct policy *p = b->policy;

	absent_plan(b);
	for (size_t i = 0; i < b->in->pinned_n; i++)
		if (guard_policy(b, builder_dup(b, sv_str(b->in->pinned[i])),
				 e) < 0)
			return -1;
	for (size_t i = 0; i < p->files_n; i++)
		if (guard_policy(b, p->files[i], e) < 0)
			return -1;
	for (size_t i = 0; i < p->grants_n; i++) {
		const struct grant *g = &p->grants[i];
		struct area found;

		if (g->kind != GRANT_GUARD || g->is_glob)
			continue;
		if (area_resolve(b, g->path, &found, e) < 0) {
			if (e->code == ENOENT && g->optional) {
				if (keep_absent(b, true_name(b, g->path),
						g->text, false, e) < 0)
					return -1;
				continue;
			}
			return err_ctx(e, "%.*s (`guard? PATH` makes it "
				       "optional)", SV_FMT(g->text));
		}
		if (guards_add(b, found.path, g->text, e) < 0)
			return -1;
	}
	/* A read grant inside a write grant keeps its place as well. */
	for (size_t i = 0; i < b->areas_n; i++) {
		const struct area *area = &b->areas[i];
		const struct area *around = areas_around(b, area->path);

		if (area->kind == AREA_NAMED && !area->write && around &&
		    around->write &&
		    pin_ancestors(b, area->path, around, area->why, e) < 0)
			return -1;
	}
	return 0;
}
