/* SPDX-License-Identifier: Apache-2.0 */
/* Names that run something later, as the least careful file system sees them. */
#include "dotfiles.h"
#include "own.h"
#include "tap.h"

static const struct {
	const char *path;
	mode_t mode;
} guarded[] = {
	{ "/p/.git/hooks", S_IFDIR }, { "/p/.git/hooks/pre-push", S_IFREG },
	{ ".git/config", S_IFREG }, { "/p/a/b/c/.git/config", S_IFREG },
	{ "/p/.GIT/Hooks/x", S_IFREG }, { "/p/.git./config", S_IFREG },
	{ "/p/.git /config ", S_IFREG }, { "/p/GIT~1/config", S_IFREG },
	{ "/p/.g\xe2\x80\x8cit/config", S_IFREG },
	{ "/p/.git\xef\xbb\xbf/config", S_IFREG },
	{ "/p/.git::$INDEX_ALLOCATION/config", S_IFREG },
	{ "/p/.hus\xe2\x84\xaay/pre-commit", S_IFREG },
	{ "/p/.v\xc5\xbf" "code/tasks.json", S_IFREG },
	{ "/p/.git", S_IFREG }, { "/p/.Git", S_IFREG },
	{ "/p/.git/modules/a/b/config", S_IFREG },
	{ "/p/.git/modules/a/hooks/x", S_IFREG },
	{ "/p/.git/worktrees/w/commondir", S_IFREG },
	{ "/p/.envrc", S_IFREG }, { "/p/.ENVRC", S_IFREG },
	{ "/p/X.Code-Workspace", S_IFREG }, { "/p/jenkinsfile", S_IFREG },
	{ "/p/.vscode", S_IFDIR }, { "/p/.github/workflows/ci.yml", S_IFREG },
	/* Whatever they lead to. */
	{ "/p/.claude", S_IFLNK }, { "/p/.GITHUB", S_IFLNK },
	{ "/p/.git/info", S_IFLNK }, { "/p/.git/modules/a", S_IFLNK },
	{ "/p/.git/worktrees", S_IFLNK }, { "/p/.config", S_IFLNK },
	/* A bare repository. */
	{ "/p/any/HEAD", S_IFREG }, { "/p/any/Head", S_IFLNK },
};

static const struct {
	const char *path;
	mode_t mode;
} plain[] = {
	{ "/p/.git", S_IFDIR }, { "/p/.git/HEAD", S_IFREG }, { "/p/git/hooks", S_IFDIR },
	{ "/p/.git/objects/ab/cd", S_IFREG }, { "/p/.git/refs/heads/config", S_IFREG },
	{ "/p/config", S_IFREG }, { "/p/hooks", S_IFDIR }, { "/p/src/envrc", S_IFREG },
	{ "/p/.gitignore", S_IFREG }, { "/p/.github/CODEOWNERS", S_IFREG },
	{ "/p/.envrc.sample", S_IFREG }, { "", S_IFDIR }, { "/", S_IFDIR },
	{ "/p/.git/modules/a/HEAD", S_IFREG },
	{ "/p/.claude", S_IFREG }, { "/p/.github", S_IFDIR },
	{ "/p/claude", S_IFLNK }, { "/p/.git/objects", S_IFLNK },
	{ "/p/HEAD", S_IFDIR }, { "/p/HEAD/x", S_IFREG },
	{ "/p/HEAD.md", S_IFREG }, { "/p/any/objects", S_IFDIR },
};

static void test_guarded_names_are_found_however_they_are_spelled(void)
{
	for (size_t i = 0; i < countof(guarded); i++) {
		bool found = dotfile_is_guarded(sv_str(guarded[i].path),
						guarded[i].mode);

		if (!found)
			printf("# %s\n", guarded[i].path);
		CHECK(found);
	}
}

static void test_others_are_not(void)
{
	for (size_t i = 0; i < countof(plain); i++) {
		bool found = dotfile_is_guarded(sv_str(plain[i].path),
						plain[i].mode);

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
