/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the command, and what it is made of.
 *
 * A program installed under the home (~/.local, a version manager) lies in no
 * grant.  What it takes to run it becomes readable: the chain of links to it,
 * its package, and the same for the interpreter that its first line names.
 * The package is a guess from the layouts that package managers use; a guess
 * that would show a home or more is dropped, and only the file is shown.
 */
#include "builder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "area.h"
#include "own.h"

enum { INTERPRETERS_MAX = 4, FIRST_LINE_MAX = 256 };

/* Everything below a directory of such a name belongs to one installation. */
static const char *const version_managers[] = {
	".pyenv", ".rbenv", ".nodenv", ".asdf", ".volta", ".sdkman", ".jenv",
	"mise", ".rustup",
};

struct program {
	struct builder *b;
	struct sv path;		/* as it was asked for, absolute */
	struct area file;	/* where it really is */
};

static struct sv path_variable(const struct builder *b)
{
	for (char *const *at = b->plan->envp; at && *at; at++)
		if (strncmp(*at, "PATH=", 5) == 0)
			return sv_str(*at + 5);
	return SV("/usr/bin:/bin");
}

/* Absolute, without "." and doubled slashes; ".." stays for the kernel. */
static struct sv make_absolute(struct builder *b, struct sv name)
{
	while (sv_starts(name, SV("./")))
		name = sv_from(name, 2);
	if (name.n && name.p[0] == '/')
		return builder_dup(b, name);
	return builder_printf(b, "%s/%.*s",
			      strcmp(b->in->cwd, "/") ? b->in->cwd : "",
			      SV_FMT(name));
}

static bool is_program(struct sv path)
{
	char text[PATH_MAX];
	struct stat st;

	if (path.n >= sizeof text)
		return false;
	memcpy(text, path.p, path.n);
	text[path.n] = '\0';
	return stat(text, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(text, X_OK) == 0;
}

/* As a shell looks for it, with the PATH that the command will have. */
static bool search(struct builder *b, struct sv name, struct sv *ret)
{
	struct sv rest = path_variable(b);

	if (sv_find(name, '/') < name.n) {
		*ret = make_absolute(b, name);
		return true;
	}
	while (rest.n) {
		struct sv dir = sv_head(rest, sv_find(rest, ':'));
		struct sv at;

		rest = sv_from(rest, dir.n + 1);
		if (dir.n == 0 || dir.p[0] != '/')
			continue;	/* not whatever cwd happens to be */
		at = builder_printf(b, "%.*s/%.*s", SV_FMT(dir), SV_FMT(name));
		builder_at(b, at);
		if (is_program(at)) {
			*ret = at;
			return true;
		}
	}
	return false;
}

/* The part of path up to and with the component `name`; empty if none. */
static struct sv up_to(struct sv path, struct sv name)
{
	for (size_t i = 0; i + name.n < path.n; i++)
		if (path.p[i] == '/' &&
		    sv_starts(sv_from(path, i + 1), name) &&
		    i + 1 + name.n < path.n && path.p[i + 1 + name.n] == '/')
			return sv_head(path, i + 1 + name.n);
	return SV("");
}

static bool has_file(struct builder *b, struct sv dir, const char *name)
{
	struct sv path = builder_printf(b, "%.*s/%s", SV_FMT(dir), name);

	return access(path.p, F_OK) == 0;
}

/* Never a directory that holds more than programs. */
static bool too_wide(const struct builder *b, struct sv dir)
{
	return dir.n <= 1 || area_contains(dir, b->home) ||
	       area_contains(dir, sv_str(b->in->cwd)) ||
	       sv_eq(area_parent(dir), SV("/")) ||
	       sv_eq(area_base(dir), SV(".local")) ||
	       sv_eq(area_base(dir), SV(".config")) ||
	       sv_eq(area_base(dir), SV(".cargo"));
}

static struct sv package_root(struct builder *b, struct sv file)
{
	struct sv root, dir = area_parent(file);

	for (size_t i = 0; i < countof(version_managers); i++) {
		root = up_to(file, sv_str(version_managers[i]));
		if (root.n && !too_wide(b, root))
			return root;
	}
	root = up_to(file, SV("node_modules"));
	if (root.n && !too_wide(b, root))
		return root;
	for (root = dir; !too_wide(b, root); root = area_parent(root))
		if (has_file(b, root, "package.json") ||
		    has_file(b, root, "pyvenv.cfg"))
			return root;
	if (sv_eq(area_base(dir), SV("bin")) && !too_wide(b, area_parent(dir)))
		return area_parent(dir);
	return file;
}

/* `pip install --user` puts the script and its modules in sister folders. */
static int plan_user_modules(struct program *program, struct err *e)
{
	struct sv dir = area_parent(program->file.path);
	struct sv local = area_parent(dir);
	struct sv lib = builder_printf(program->b, "%.*s/lib", SV_FMT(local));

	if (!sv_eq(area_base(dir), SV("bin")) ||
	    !sv_eq(area_base(local), SV(".local")) ||
	    access(lib.p, F_OK) != 0)
		return 0;
	return area_add_named(program->b, AREA_CODE, false, lib,
			      SV("modules of the command"), e);
}

static bool in_system(const struct builder *b, struct sv path)
{
	for (size_t i = 0; i < b->areas_n; i++)
		if (b->areas[i].kind == AREA_SYSTEM &&
		    area_contains(b->areas[i].path, path))
			return true;
	return false;
}

static int plan_package(struct program *program, struct err *e)
{
	struct builder *b = program->b;
	struct sv root;

	if (!sv_eq(program->path, program->file.path))
		builder_mount(b, STEP_LINK, program->path,
			      SV("the command"))->source = program->file.path;
	if (in_system(b, program->file.path))
		return 0;
	root = package_root(b, program->file.path);
	if (area_add_named(b, AREA_CODE, false, root, SV("the command"), e) < 0)
		return err_ctx(e, "the command");
	return plan_user_modules(program, e);
}

/* The interpreter in a script's first line; `env NAME` names it itself. */
static struct sv interpreter(struct builder *b, struct sv file)
{
	char line[FIRST_LINE_MAX];
	auto_fd int fd = open(builder_str(b, file),
			      O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line);
	struct sv rest, word;

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return SV("");
	rest = sv_of(line + 2, (size_t)n - 2);
	rest = sv_trim(sv_head(rest, sv_find(rest, '\n')));
	word = sv_head(rest, sv_find(rest, ' '));
	if (sv_eq(area_base(word), SV("env"))) {
		rest = sv_trim(sv_from(rest, word.n));
		if (sv_starts(rest, SV("-S")))
			rest = sv_trim(sv_from(rest, 2));
		word = sv_head(rest, sv_find(rest, ' '));
		if (!search(b, word, &word))
			return SV("");
	}
	return builder_dup(b, word);
}

int command_plan(struct builder *b, struct err *e)
{
	struct program program = { .b = b };
	struct plan *plan = b->plan;

	if (!b->in->argv || !b->in->argv[0] || !b->in->argv[0][0])
		return err_kind(e, ERR_POLICY, "no command given");
	if (!search(b, sv_str(b->in->argv[0]), &program.path)) {
		plan->status = LAUNCH_NOT_FOUND;
		return err_kind(e, ERR_POLICY, "%s: command not found",
				b->in->argv[0]);
	}
	plan->path = program.path.p;
	for (int i = 0; i < INTERPRETERS_MAX && program.path.n; i++) {
		if (area_resolve(b, program.path, &program.file, e) < 0) {
			if (i)		/* the kernel will say it */
				return 0;
			plan->status = e->code == ENOENT || e->code == ENOTDIR ?
				LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE;
			return -1;
		}
		if (program.file.identity.type == S_IFDIR) {
			plan->status = LAUNCH_NOT_EXECUTABLE;
			return err_kind(e, ERR_POLICY, "%.*s: is a directory",
					SV_FMT(program.path));
		}
		if (plan_package(&program, e) < 0)
			return -1;
		program.path = interpreter(b, program.file.path);
	}
	return 0;
}
