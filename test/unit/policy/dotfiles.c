/* SPDX-License-Identifier: Apache-2.0 */
/* Names that run something later, as the least careful file system sees them. */
#include "dotfiles.h"
#include "own.h"
#include "tap.h"

static const struct {
	const char *path;
	bool is_dir;
} guarded[] = {
	{ "/p/.git/hooks", true }, { "/p/.git/hooks/pre-push", false },
	{ ".git/config", false }, { "/p/a/b/c/.git/config", false },
	{ "/p/.GIT/Hooks/x", false }, { "/p/.git./config", false },
	{ "/p/.git /config ", false }, { "/p/GIT~1/config", false },
	{ "/p/.g\xe2\x80\x8cit/config", false },
	{ "/p/.git\xef\xbb\xbf/config", false },
	{ "/p/.git::$INDEX_ALLOCATION/config", false },
	{ "/p/.hus\xe2\x84\xaay/pre-commit", false },
	{ "/p/.v\xc5\xbf" "code/tasks.json", false },
	{ "/p/.git", false }, { "/p/.Git", false },
	{ "/p/.git/modules/a/b/config", false },
	{ "/p/.git/modules/a/hooks/x", false },
	{ "/p/.git/worktrees/w/commondir", false },
	{ "/p/.envrc", false }, { "/p/.ENVRC", false },
	{ "/p/X.Code-Workspace", false }, { "/p/jenkinsfile", false },
	{ "/p/.vscode", true }, { "/p/.github/workflows/ci.yml", false },
};

static const struct {
	const char *path;
	bool is_dir;
} plain[] = {
	{ "/p/.git", true }, { "/p/.git/HEAD", false }, { "/p/git/hooks", true },
	{ "/p/.git/objects/ab/cd", false }, { "/p/.git/refs/heads/config", false },
	{ "/p/config", false }, { "/p/hooks", true }, { "/p/src/envrc", false },
	{ "/p/.gitignore", false }, { "/p/.github/CODEOWNERS", false },
	{ "/p/.envrc.sample", false }, { "", true }, { "/", true },
	{ "/p/.git/modules/a/HEAD", false },
};

static void test_guarded_names_are_found_however_they_are_spelled(void)
{
	for (size_t i = 0; i < countof(guarded); i++) {
		bool found = dotfile_is_guarded(sv_str(guarded[i].path),
						guarded[i].is_dir);

		if (!found)
			printf("# %s\n", guarded[i].path);
		CHECK(found);
	}
}

static void test_others_are_not(void)
{
	for (size_t i = 0; i < countof(plain); i++) {
		bool found = dotfile_is_guarded(sv_str(plain[i].path),
						plain[i].is_dir);

		if (found)
			printf("# %s\n", plain[i].path);
		CHECK(!found);
	}
}

int main(void)
{
	RUN(test_guarded_names_are_found_however_they_are_spelled);
	RUN(test_others_are_not);
	return tap_done();
}
