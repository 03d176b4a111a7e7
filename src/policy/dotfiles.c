/* SPDX-License-Identifier: Apache-2.0 */
/* The dot mask's exceptions, and the default guards: see dotfiles.h. */
#include "dotfiles.h"

#include "glob.h"

/* No place among these for a token or a password: names like .npmrc, .netrc,
 * .yarnrc.yml and .mcp.json may hold one. */
static const char *const shown[] = {
	/* version control and its hosts */
	".git", ".gitignore", ".gitattributes", ".gitmodules", ".gitkeep",
	".git-blame-ignore-revs", ".mailmap", ".github", ".gitlab-ci.yml",
	".travis.yml", ".circleci", ".ci", ".reuse", ".keep",
	/* editors */
	".editorconfig", ".vscode", ".idea", ".vimrc", ".dir-locals.el",
	/* languages and their tools */
	".babelrc*", ".browserslistrc", ".eslintrc*", ".eslintignore",
	".mocharc.*", ".nycrc*", ".postcssrc*", ".prettierrc*",
	".prettierignore", ".stylelintrc*", ".swcrc", ".npmignore", ".nvmrc",
	".node-version", ".yarn", ".husky", ".lintstagedrc*",
	".commitlintrc*", ".changeset", ".storybook",
	".python-version", ".flake8", ".pylintrc", ".isort.cfg",
	".coveragerc", ".style.yapf", ".pre-commit-config.yaml",
	".readthedocs.y*ml", ".venv",
	".ruby-version", ".rspec", ".rubocop*.yml", ".tool-versions",
	".clang-format", ".clang-format-ignore", ".clang-tidy", ".clangd",
	".cmake-format*", ".indent.pro", ".rustfmt.toml", ".golangci.y*ml",
	".goreleaser.y*ml", ".luacheckrc", ".shellcheckrc", ".yamllint*",
	".markdownlint*", ".hadolint.y*ml", ".codespellrc", ".typos.toml",
	".php-cs-fixer*.php", ".scalafmt.conf", ".swiftlint.yml",
	".dockerignore", ".devcontainer", ".helmignore", ".terraform-version",
	/* what builds leave behind */
	".deps", ".libs", ".next", ".nuxt", ".turbo", ".parcel-cache",
	".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox",
	".mvn", ".dart_tool", ".eggs", ".package-lock.json",
	".bin",
};

static const char *const open_below[] = { ".git", ".venv", "node_modules" };

const char *const dotfile_guards[] = {
	".git/hooks", ".git/config", ".git/config.worktree",
	".git/info/attributes", ".git/commondir",
	".envrc", ".vscode", ".idea", ".husky", ".devcontainer",
	".pre-commit-config.yaml", ".mcp.json", ".dir-locals.el", ".vimrc",
	".claude/settings.json", ".claude/settings.local.json",
	".claude/hooks", ".codex/config.toml", ".gemini/settings.json",
	NULL,
};

bool dotfile_is_shown(struct sv name)
{
	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
		if (glob_match_segment(sv_str(shown[i]), name))
			return true;
	return false;
}

bool dotfile_is_open(struct sv name)
{
	for (size_t i = 0; i < sizeof open_below / sizeof open_below[0]; i++)
		if (sv_eq(sv_str(open_below[i]), name))
			return true;
	return false;
}
