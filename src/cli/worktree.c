/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worktree without its repository: see worktree.h.
 *
 * The repository is not granted unasked, and is not even named to the person
 * because a file in the worktree says so: it has to know the worktree as its
 * own.  Otherwise whoever wrote that file could have any directory proposed.
 */
#include "worktree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "match_file.h"

/* dir/name, links resolved; false when it does not exist. */
static bool resolve(const char *dir, const char *name, char ret[PATH_MAX])
{
	char path[2 * PATH_MAX];

	(void)snprintf(path, sizeof path, "%s%s%s", *name == '/' ? "" : dir,
		       *name == '/' ? "" : "/", name);
	return realpath(path, ret) != NULL;
}

/* The path that the one line of dir/name is, behind `prefix`. */
static bool follow(const char *dir, const char *name, struct sv prefix,
		   char ret[PATH_MAX])
{
	auto_buf struct buf b = buf_new(PATH_MAX);
	char path[PATH_MAX];
	struct err ignored;

	if (!resolve(dir, name, path) ||
	    io_read_file(AT_FDCWD, path, &b, &ignored) < 0 ||
	    !sv_starts(buf_sv(&b), prefix))
		return false;
	while (b.n && b.p[b.n - 1] == '\n')
		b.n--;
	return buf_cstr(&b) && resolve(dir, b.p + prefix.n, ret);
}

/* The nearest .git at or above the working directory, if it is a file. */
static bool find(const char *cwd, char dir[PATH_MAX], char file[PATH_MAX])
{
	size_t n = (size_t)snprintf(dir, PATH_MAX, "%s", cwd);
	struct stat st;

	while (n > 1 && n < PATH_MAX) {
		if (resolve(dir, ".git", file))
			return stat(file, &st) == 0 && S_ISREG(st.st_mode);
		while (n > 0 && dir[--n] != '/')
			;
		dir[n] = '\0';
	}
	return false;
}

static bool is_allowed(const struct policy *p, const char *cwd,
		       const char *path, bool write)
{
	struct file_question q = {
		.path = sv_str(path), .cwd = sv_str(cwd), .write = write,
	};
	struct file_answer answer = { 0 };
	struct arena a = arena_new(1 << 16);
	struct err ignored;
	bool allowed = match_file(p, &q, &a, &answer, &ignored) == 0 &&
		       answer.allowed;

	arena_free(&a);
	return allowed;
}

void worktree_look(const struct policy *p, const char *cwd, struct buf *ret)
{
	char dir[PATH_MAX], file[PATH_MAX], own[PATH_MAX], back[PATH_MAX];
	char common[PATH_MAX];

	if (!isatty(STDERR_FILENO) || !find(cwd, dir, file) ||
	    !follow(dir, ".git", SV("gitdir: "), own) ||
	    !follow(own, "gitdir", SV(""), back) ||
	    !sv_eq(sv_str(file), sv_str(back)) ||
	    !follow(own, "commondir", SV(""), common) ||
	    is_allowed(p, cwd, common, false))
		return;
	buf_printf(ret, "git has no repository inside: %s is a worktree of the "
		   "one in %s, which `--%s %s` grants", dir, common,
		   is_allowed(p, cwd, cwd, true) ? "write" : "read", common);
}
