/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the walk guards: what a `guard` names, what is guarded by default, and
 * git's configuration and hooks, wherever a repository lies.
 */
#include "walk.h"

#include <unistd.h>

#include "area.h"
#include "dotfiles.h"
#include "guards.h"
#include "marks.h"

static bool is_one_of(struct sv name, const char *const *list)
{
	for (; *list; list++)
		if (sv_eq(name, sv_str(*list)))
			return true;
	return false;
}

/*
 * A submodule's repository lies in the one around it, at any depth below
 * .git/modules, and `git status` out here reads its configuration; a linked
 * worktree's says where its configuration is.
 */
static bool is_module_guarded(const struct walk_entry *entry)
{
	static const char *const files[] = {
		"config", "config.worktree", "commondir", "attributes", NULL,
	};

	if (entry->type == DT_DIR)
		return sv_eq(entry->name, SV("hooks"));
	return is_one_of(entry->name, files);
}

static struct sv dir_of(struct walk *w, const struct walk_entry *entry)
{
	return builder_dup(w->b, area_parent(entry->path));
}

static bool is_directory(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/*
 * A directory that looks like a bare repository is one to every git command
 * that is started in it, whatever it is called.
 */
static int guard_bare(struct walk *w, int dir_fd, const struct walk_entry *head,
		      struct err *e)
{
	struct sv dir = dir_of(w, head);
	const struct sv git = SV(".git/");

	if (!is_directory(dir_fd, "objects") || !is_directory(dir_fd, "refs"))
		return 0;
	for (const char *const *at = dotfile_guards; *at; at++) {
		struct sv name = sv_str(*at);

		if (!sv_starts(name, git))
			continue;
		name = sv_from(name, git.n);
		if (faccessat(dir_fd, name.p, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
		    guards_add_found(w->b, builder_printf(w->b, "%.*s/%s",
							  SV_FMT(dir), name.p),
				     e) < 0)
			return -1;
	}
	return guards_add_git_dir(w->b, dir, e);
}

/* An entry below .git/modules; 1 when it is one that counts there. */
static int guard_module(struct walk *w, const struct walk_entry *entry,
			struct err *e)
{
	int rc;

	if (sv_eq(entry->name, SV("HEAD")))
		rc = guards_add_git_dir(w->b, dir_of(w, entry), e);
	else if (is_module_guarded(entry))
		rc = guards_add_found(w->b, builder_dup(w->b, entry->path), e);
	else
		return 0;
	return rc < 0 ? -1 : 1;
}

int walk_guard(struct walk *w, int dir_fd, const struct walk_entry *entry,
	       unsigned look, struct err *e)
{
	const struct grant *g = marks_named_by(w->b, GRANT_GUARD, entry->path);
	int done = 0;

	if (g)
		return guards_add(w->b, builder_dup(w->b, entry->path),
				  g->text, e);
	if (look & LOOK_MODULES)
		done = guard_module(w, entry, e);
	if (done)
		return done < 0 ? -1 : 0;
	if (sv_eq(entry->name, SV("HEAD")))
		return guard_bare(w, dir_fd, entry, e);
	if (!dotfile_begins_guard(entry->name))
		return 0;
	return guards_add_default(w->b, dir_of(w, entry), entry->name, e);
}

void walk_guard_sieve(struct walk *w)
{
	sieve_add_name(&w->sieve, SV("HEAD"));
	for (const char *const *at = dotfile_guards; *at; at++) {
		struct sv guard = sv_str(*at);

		sieve_add_pattern(&w->sieve,
				  sv_head(guard, sv_find(guard, '/')));
	}
}

bool walk_leads_to_modules(struct sv name)
{
	return sv_eq(name, SV("modules")) || sv_eq(name, SV("worktrees"));
}

int walk_guard_unsearched(struct walk *w, const struct walk_entry *entry,
			  unsigned look, struct err *e)
{
	static const char *const large[] = {
		"objects", "refs", "logs", "lfs", NULL,
	};
	int done;

	if (entry->type == DT_SOCK)
		return walk_cover(w, entry->path, SOCKET_OF_HOST, e);
	if (!(look & LOOK_WRITE))
		return 0;
	if (!(look & LOOK_MODULES))
		return (look & LOOK_GIT) && entry->type == DT_DIR &&
		       walk_leads_to_modules(entry->name);
	done = guard_module(w, entry, e);
	if (done)
		return done < 0 ? -1 : 0;
	return entry->type == DT_DIR && !is_one_of(entry->name, large);
}

/* What git executes is guarded there as it is inside a tree. */
int walk_guard_git_grant(struct walk *w, const struct area *area,
			 unsigned *look, struct err *e)
{
	struct sv path = area->path;
	bool whole = marks_named_below(w->b, GRANT_HIDE, path) ||
		     marks_named_below(w->b, GRANT_GUARD, path);
	unsigned more = sv_ends(path, SV("/.git")) ? LOOK_GIT :
			sv_find_sv(path, SV("/.git/modules/")) < path.n ||
			sv_find_sv(path, SV("/.git/worktrees/")) < path.n ?
			LOOK_MODULES : 0;

	if (!area->write || !more)
		return 0;
	*look = LOOK_WRITE | more | (whole ? 0u : LOOK_SOCKETS);
	return more != LOOK_GIT ? 0 :
	       guards_add_default(w->b, area_parent(path), SV(".git"), e);
}
