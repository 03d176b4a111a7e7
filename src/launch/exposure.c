/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent will be able to read: see exposure.h.
 *
 * No tree is walked for it, since that would take as long as the tree is large.
 * The tables are the places that other programs write credentials to, and those
 * in which people leave them.
 */
#include "exposure.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "area.h"
#include "own.h"

/* Below the home directory. */
static const char *const at_home[] = {
	".netrc", "_netrc", ".authinfo", ".git-credentials",
	".config/git/credentials", ".gitconfig", ".config/git/config",
	".config/gh/hosts.yml", ".config/glab-cli/config.yml", ".config/hub",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pip/pip.conf",
	".config/pip/pip.conf", ".config/pypoetry/auth.toml",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
	".bundle/config", ".composer/auth.json", ".config/composer/auth.json",
	".m2/settings.xml", ".gradle/gradle.properties", ".nuget/NuGet.Config",
	".docker/config.json", ".config/containers/auth.json", ".kube/config",
	".aws/credentials", ".aws/config", ".azure/accessTokens.json",
	".config/gcloud/application_default_credentials.json",
	".config/gcloud/credentials.db", ".boto", ".s3cfg", ".oci/config",
	".terraformrc", ".terraform.d/credentials.tfrc.json",
	".config/doctl/config.yaml", ".config/hcloud/cli.toml", ".vault-token",
	".claude.json", ".claude/settings.json", ".claude/.credentials.json",
	".codex/auth.json", ".codex/config.toml", ".gemini/.env",
	".gemini/oauth_creds.json", ".local/share/opencode/auth.json",
	".config/openai/config.json", ".aider.conf.yml",
	".pgpass", ".my.cnf", ".rediscli_auth", ".msmtprc", ".env", ".envrc",
	".profile", ".bash_profile", ".bashrc", ".zshrc", ".zshenv", ".zprofile",
	".config/fish/config.fish", ".bash_history", ".zsh_history",
	".histfile", ".local/share/fish/fish_history", ".python_history",
	".node_repl_history", ".psql_history", ".mysql_history",
	".rediscli_history", ".sqlite_history", ".lesshst", ".viminfo",
};

/* In whatever directory is granted, and in the working directory. */
static const char *const in_any[] = {
	".env", ".env.local", ".env.development", ".env.test", ".env.production",
	".envrc", ".dev.vars", ".secrets", ".netrc", ".npmrc", ".yarnrc.yml",
	".pypirc", ".git/config", ".mcp.json", ".vscode/mcp.json",
	".vscode/settings.json", ".cursor/mcp.json",
	".claude/settings.local.json", "config.json", "config.yml",
	"config.yaml", "config.toml", "secrets.json", "secrets.yml",
	"secrets.yaml", "secrets.toml", "credentials", "credentials.json",
	"auth.json", "settings.py", "local.settings.json",
	"appsettings.Development.json", "application.properties",
	"application.yml", "gradle.properties", "local.properties",
	"docker-compose.yml", "compose.yml", "compose.yaml",
	"terraform.tfvars", "terraform.tfstate", "values.yaml",
};

static struct exposure *exposure_of(struct builder *b)
{
	struct plan *plan = b->plan;

	if (plan->exposure || b->policy->secrets_n == 0)
		return plan->exposure;
	plan->exposure = calloc(1, sizeof *plan->exposure);
	if (plan->exposure)
		plan->exposure->text = buf_new(EXPOSED_MAX);
	else
		b->full = true;
	return plan->exposure;
}

/* What was put into the text since the last one, called name. */
static void take(struct builder *b, struct exposure *x, struct sv name)
{
	const size_t room = x->cap ? 2 * x->cap : 128;
	struct exposed *grown = x->v;

	buf_putc(&x->text, '\0');
	if (x->n == x->cap) {
		grown = realloc(x->v, room * sizeof *grown);
		x->cap = grown ? room : x->cap;
	}
	b->full |= !grown || x->text.full;
	if (!grown)
		return;
	x->v = grown;
	x->v[x->n++] = (struct exposed){ .name = name, .end = x->text.n };
}

static bool is_covered(const struct builder *b, struct sv path)
{
	for (size_t i = 0; i < b->mounts_n; i++)
		if ((b->mounts[i].kind == STEP_COVER ||
		     b->mounts[i].kind == STEP_KEY_FILE) &&
		    area_contains(b->mounts[i].target, path))
			return true;
	return false;
}

/* What is the system's everybody can read, and is not looked at. */
static bool is_visible(const struct builder *b, struct sv path)
{
	const struct area *area = areas_find(b, path);

	return area && (area->kind == AREA_NAMED || area->kind == AREA_CODE) &&
	       !area->source.n && !is_covered(b, path);
}

static int read_file(struct exposure *x, int fd, struct err *e)
{
	size_t left = EXPOSED_FILE_MAX;
	char bytes[16384];
	ssize_t n;

	do {
		n = read(fd, bytes, left < sizeof bytes ? left : sizeof bytes);
		if (n < 0)
			return err_sys(e, "read");
		buf_put(&x->text, sv_of(bytes, (size_t)n));
		left -= (size_t)n;
	} while (n > 0 && left);
	return 0;
}

/* By its own name, or by where a link of that name leads to.  What is not there, or
 * not for the user, is not for the agent either. */
static int look_at(struct builder *b, struct exposure *x, struct sv path,
		   struct err *e)
{
	struct err why;
	struct area found;
	auto_fd int fd = -1;

	if (area_resolve(b, path, &found, &why) < 0) {
		if (!path_is_exhausted(why.code))
			return 0;
		*e = why;
		return -1;
	}
	if (found.identity.type != S_IFREG || !is_visible(b, found.path))
		return 0;
	found.path = builder_dup(b, found.path);
	fd = open(found.path.p, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW |
				O_NONBLOCK);
	if (fd < 0)
		return path_is_exhausted(errno) ?
			       err_sys(e, "open %.*s", SV_FMT(path)) : 0;
	if (area_check(&found, fd, e) < 0)
		return -1;
	if (read_file(x, fd, e) < 0)
		return err_ctx(e, "%.*s", SV_FMT(path));
	take(b, x, found.path);
	return 0;
}

static int look_in(struct builder *b, struct exposure *x, struct sv dir,
		   const char *const *names, size_t n, struct err *e)
{
	/* Who waits for us names what does not answer. */
	static char path[PATH_MAX];

	for (size_t i = 0; i < n; i++) {
		const int length = snprintf(path, sizeof path, "%.*s/%s",
					    SV_FMT(dir), names[i]);

		if (length > 0 && (size_t)length < sizeof path &&
		    look_at(b, x, sv_of(path, (size_t)length), e) < 0)
			return -1;
	}
	return 0;
}

int exposure_look(struct builder *b, struct err *e)
{
	struct exposure *x = exposure_of(b);

	if (!x)
		return 0;
	if (look_in(b, x, b->home, at_home, countof(at_home), e) < 0)
		return -1;
	for (size_t i = 0; i < b->areas_n; i++) {
		const struct area *area = &b->areas[i];

		if (area->kind == AREA_NAMED && !area->source.n &&
		    area->identity.type == S_IFDIR &&
		    look_in(b, x, area->path, in_any, countof(in_any), e) < 0)
			return -1;
	}
	return x->text.full ? err_kind(e, ERR_LIMIT, "more than %d bytes lie "
				       "where credentials are kept",
				       EXPOSED_MAX) : 0;
}

void exposure_add_words(struct builder *b)
{
	struct exposure *x = exposure_of(b);

	if (!x)
		return;
	for (char **at = b->plan->envp; *at; at++) {
		struct sv line = sv_str(*at);

		buf_put(&x->text, line);
		take(b, x, builder_printf(b, "the variable %.*s", SV_FMT(
				sv_head(line, sv_find(line, '=')))));
	}
	for (char **at = b->plan->argv; *at; at++) {
		buf_puts(&x->text, *at);
		take(b, x, SV("the command's arguments"));
	}
}

void exposure_free(struct exposure *x)
{
	if (!x)
		return;
	buf_free(&x->text);
	free(x->v);
	free(x);
}

struct sv exposure_at(const struct exposure *x, size_t at)
{
	for (size_t i = 0; i < x->n; i++)
		if (at < x->v[i].end)
			return x->v[i].name;
	return SV("");
}
