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

/* What a tool outside runs, or lets decide what it runs, without being asked for
 * that file.  Not what a person runs by name (a Makefile, a package's scripts):
 * to write these is an agent's work. */
const char *const dotfile_guards[] = {
	/* any git command */
	".git/hooks", ".git/config", ".git/config.worktree",
	".git/info/attributes", ".git/commondir", ".gitconfig", ".husky",
	".lefthook", "lefthook.yml", ".pre-commit-config.yaml",
	/* opening the folder in an editor */
	".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".nvim.lua",
	".nvimrc", ".exrc", ".vimrc", ".gvimrc", ".dir-locals.el",
	".dir-locals-2.el", "*.code-workspace", "*.sublime-project",
	/* ... or with an agent */
	".mcp.json", ".claude/settings.json", ".claude/settings.local.json",
	".claude/hooks", ".claude/commands", ".claude/agents",
	".claude/skills", ".codex", ".gemini/settings.json",
	".gemini/extensions", ".opencode", "opencode.json", ".cursor",
	".windsurf", ".continue", ".roo", ".kiro", ".aider.conf.yml",
	/* entering it, or starting a shell */
	".envrc", ".mise.toml", ".mise", ".bashrc", ".bash_profile",
	".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
	".zshenv", ".zprofile", ".zlogin", ".zlogout", ".inputrc",
	".config/fish", ".tmux.conf", ".screenrc", ".ssh",
	/* a desktop's session */
	".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
	".config/autostart", ".config/systemd", ".config/environment.d",
	".local/share/applications", ".local/bin",
	/* programs that read the current directory or the home */
	".curlrc", ".wgetrc", ".gdbinit", ".lldbinit", ".pdbrc", ".perldb",
	/* continuous integration */
	".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci",
	".travis.yml", ".buildkite", ".drone.yml", ".woodpecker",
	".woodpecker.yml", "Jenkinsfile", "azure-pipelines.yml",
	"bitbucket-pipelines.yml",
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

bool dotfile_begins_guard(struct sv name)
{
	for (const char *const *at = dotfile_guards; *at; at++) {
		struct sv guard = sv_str(*at);

		if (glob_match_segment(sv_head(guard, sv_find(guard, '/')),
				       name))
			return true;
	}
	return false;
}
