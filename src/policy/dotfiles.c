/* SPDX-License-Identifier: Apache-2.0 */
/* The dot mask's exceptions, and the default guards: see dotfiles.h. */
#include "dotfiles.h"

#include "fold.h"
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
	".git/info/attributes", ".git/commondir", ".gitconfig", ".config/git",
	".githooks", ".husky", ".lefthook", "lefthook.y*ml", ".lefthook.y*ml",
	"lefthook-local.y*ml", ".pre-commit-config.yaml", ".overcommit.yml",
	/* any hg command */
	".hg/hgrc",
	/* opening the folder in an editor */
	".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".nvim.lua",
	".nvimrc", ".lazy.lua", ".exrc", ".vimrc", ".lvimrc", ".gvimrc", ".vim",
	".config/nvim", ".helix", ".emacs", ".emacs.d", ".dir-locals.el",
	".dir-locals-2.el", "*.code-workspace", "*.sublime-project",
	".gitpod.yml",
	/* ... or with an agent */
	".mcp.json", ".claude/settings.json", ".claude/settings.local.json",
	".claude/hooks", ".claude/commands", ".claude/agents",
	".claude/skills", ".codex", ".gemini/settings.json",
	".gemini/extensions", ".opencode", "opencode.json", ".cursor",
	".windsurf", ".continue", ".roo", ".kiro", ".aider.conf.yml",
	".github/hooks", ".clinerules", ".amazonq", ".qwen/settings.json",
	"crush.json", ".crush.json", ".factory",
	/* entering it, or starting a shell */
	".envrc", ".mise.toml", "mise.toml", ".mise.local.toml",
	"mise.local.toml", ".mise", ".config/mise", ".config/mise.toml",
	".autoenv", ".autoenv.zsh", ".bashrc", ".bashrc.d", ".bash_profile",
	".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
	".zshenv", ".zprofile", ".zlogin", ".zlogout", ".inputrc",
	".config/fish", ".config/nushell", ".cshrc", ".tcshrc", ".login",
	".logout", ".kshrc", ".mkshrc", ".local/share/bash-completion",
	".tmux.conf", ".config/tmux", ".screenrc", ".ssh",
	/* a desktop's session */
	".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
	".config/autostart", ".config/systemd", ".config/environment.d",
	".local/share/applications", ".local/share/dbus-1",
	".local/share/systemd", ".local/bin", ".pam_environment",
	/* programs that read the current directory or the home */
	".curlrc", ".wgetrc", ".gdbinit", ".lldbinit", ".pdbrc", ".perldb",
	".Rprofile", ".Renviron", ".irbrc", ".pryrc", ".ghci", ".iex.exs",
	".ocamlinit", ".octaverc",
	/* continuous integration */
	".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci",
	".travis.yml", ".buildkite", ".drone.yml", ".woodpecker",
	".woodpecker.yml", "Jenkinsfile", "azure-pipelines.yml",
	"bitbucket-pipelines.yml", ".azure-pipelines", ".forgejo/workflows",
	".gitea/workflows", ".woodpecker.yaml", ".cirrus.yml", "appveyor.yml",
	".appveyor.yml", ".builds", ".build.yml", "buildspec.yml",
	"cloudbuild.yaml",
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

void dotfiles_sieve(struct sieve *s)
{
	sieve_add_pattern(s, SV(".*"));
	for (size_t i = 0; i < sizeof open_below / sizeof open_below[0]; i++)
		sieve_add_name(s, sv_str(open_below[i]));
}

bool dotfile_begins_guard(struct sv name)
{
	for (const char *const *at = dotfile_guards; *at; at++) {
		struct sv guard;

		/* Of every file in every tree that can be written. */
		if (name.n && **at != '*' && **at != name.p[0])
			continue;
		guard = sv_str(*at);
		if (glob_match_segment(sv_head(guard, sv_find(guard, '/')),
				       name))
			return true;
	}
	return false;
}

/* ... and as NTFS also knows it: what follows a colon is a stream of the same
 * file, and the short name of .git is usually this. */
static struct sv fold(struct sv name, char ret[FOLD_MAX])
{
	struct sv folded = fold_name(sv_head(name, sv_find(name, ':')), ret);

	return sv_eq(folded, SV("git~1")) ? SV(".git") : folded;
}

static struct sv next_name(struct sv *rest)
{
	struct sv name;

	while (rest->n && rest->p[0] == '/')
		*rest = sv_from(*rest, 1);
	name = sv_head(*rest, sv_find(*rest, '/'));
	*rest = sv_from(*rest, name.n);
	return name;
}

/* Does path begin with all the names (or patterns) of guard?  A link has below
 * it whatever it leads to. */
static bool starts_with(struct sv path, struct sv guard, bool is_link)
{
	char folded[FOLD_MAX], pattern[FOLD_MAX];

	for (struct sv name = next_name(&guard); name.n;
	     name = next_name(&guard)) {
		struct sv its = next_name(&path);

		if (!its.n)
			return is_link;
		if (!glob_match_segment(fold(name, pattern), fold(its, folded)))
			return false;
	}
	return true;
}

/* The repositories of submodules, the places of linked worktrees. */
static bool is_in_modules(struct sv below_git, bool is_link)
{
	static const char *const files[] = {
		"hooks", "config", "config.worktree", "commondir", "gitdir",
		"attributes", NULL,
	};
	char folded[FOLD_MAX];
	struct sv name = fold(next_name(&below_git), folded);

	if (!sv_eq(name, SV("modules")) && !sv_eq(name, SV("worktrees")))
		return false;
	for (name = next_name(&below_git); name.n;
	     name = next_name(&below_git))
		for (const char *const *at = files; *at; at++)
			if (sv_eq(fold(name, folded), sv_str(*at)))
				return true;
	return is_link;
}

bool dotfile_is_guarded(struct sv path, mode_t mode)
{
	const bool is_dir = S_ISDIR(mode), is_link = S_ISLNK(mode);
	char folded[FOLD_MAX];
	struct sv rest = path;
	bool in_git = false;

	for (;;) {
		struct sv from = rest;
		struct sv name = next_name(&rest);

		if (name.n == 0)
			return false;
		for (const char *const *at = dotfile_guards; *at; at++)
			if (starts_with(from, sv_str(*at), is_link))
				return true;
		name = fold(name, folded);
		/* That makes a directory a repository, whatever its name is. */
		if (sv_eq(name, SV("head")) && rest.n == 0 && !is_dir && !in_git)
			return true;
		if (!sv_eq(name, SV(".git")))
			continue;
		in_git = true;
		/* A file of that name says where the repository is. */
		if ((rest.n == 0 && !is_dir) || is_in_modules(rest, is_link))
			return true;
	}
}
