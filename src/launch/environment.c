/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's environment: an allow-list, never what is left of the host's.
 *
 * Where a name comes twice, the later source wins: passed from the caller, set
 * by the sandbox, `env` statements, the authority's variables, placeholders.
 * A name that a `secret` statement uses is never taken from the caller, also
 * where no placeholder was made for it.
 */
#include "builder.h"

#include "glob.h"

enum { VARIABLES_MAX = 4096 };

static const char *const passed[] = {
	"PATH", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "TZ",
	"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS", "LINES",
};

/* The certificate alone, for what adds to its own roots; the whole bundle for
 * what replaces them. */
#define CA_ALONE "/etc/stockade/ca.pem"
#define CA_BUNDLE "/etc/stockade/bundle.pem"
static const struct { const char *name, *value; } authority[] = {
	{ "NODE_EXTRA_CA_CERTS", CA_ALONE },
	{ "DENO_CERT", CA_ALONE },
	{ "SSL_CERT_FILE", CA_BUNDLE },
	{ "REQUESTS_CA_BUNDLE", CA_BUNDLE },
	{ "CURL_CA_BUNDLE", CA_BUNDLE },
	{ "GIT_SSL_CAINFO", CA_BUNDLE },
	{ "PIP_CERT", CA_BUNDLE },
	{ "CARGO_HTTP_CAINFO", CA_BUNDLE },
	{ "AWS_CA_BUNDLE", CA_BUNDLE },
	{ "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", CA_BUNDLE },
	{ "NIX_SSL_CERT_FILE", CA_BUNDLE },
	{ "HEX_CACERTS_PATH", CA_BUNDLE },
	{ "PERL_LWP_SSL_CA_FILE", CA_BUNDLE },
	{ "JULIA_SSL_CA_ROOTS_PATH", CA_BUNDLE },
	{ "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", CA_BUNDLE },
};

struct variables {
	struct builder *b;
	size_t n, cap;
	char **list;
};

static struct sv name_of(const char *variable)
{
	struct sv v = sv_str(variable);

	return sv_head(v, sv_find(v, '='));
}

static void set(struct variables *vars, struct sv name, struct sv value)
{
	struct sv line = builder_printf(vars->b, "%.*s=%.*s", SV_FMT(name),
					SV_FMT(value));
	char **slot;

	for (size_t i = 0; i < vars->n; i++) {
		if (sv_eq(name_of(vars->list[i]), name)) {
			memcpy(&vars->list[i], &line.p, sizeof line.p);
			return;
		}
	}
	slot = arena_push(vars->b->arena, &vars->list, &vars->n, &vars->cap);
	if (slot)
		memcpy(slot, &line.p, sizeof line.p);
	else
		vars->b->full = true;
}

static bool is_secret(const struct builder *b, struct sv name)
{
	const struct policy *p = b->policy;

	for (size_t i = 0; i < p->secrets_n; i++)
		if (sv_eq(p->secrets[i].name, name) ||
		    (p->secrets[i].source == SECRET_ENV &&
		     sv_eq(p->secrets[i].source_arg, name)))
			return true;
	return false;
}

static void pass(struct variables *vars, struct sv pattern)
{
	for (char *const *at = vars->b->in->environ; at && *at; at++) {
		struct sv name = name_of(*at);

		if (name.n && name.n < strlen(*at) &&
		    glob_match_segment(pattern, name) &&
		    !is_secret(vars->b, name))
			set(vars, name, sv_str(*at + name.n + 1));
	}
}

static void set_own(struct variables *vars)
{
	struct builder *b = vars->b;

	set(vars, SV("HOME"), b->home);
	set(vars, SV("USER"), b->user);
	set(vars, SV("LOGNAME"), b->user);
	set(vars, SV("PWD"), sv_str(b->in->cwd));
	set(vars, SV("TMPDIR"), SV("/tmp"));
	set(vars, SV("XDG_RUNTIME_DIR"),
	    builder_printf(b, "/run/user/%u", b->plan->uid));
	set(vars, SV("STOCKADE"), SV("1"));
}

int environment_plan(struct builder *b, struct err *e)
{
	struct variables vars = { .b = b };
	const struct policy *p = b->policy;
	char **end;

	set(&vars, SV("PATH"),
	    SV("/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"));
	set(&vars, SV("SHELL"), SV("/bin/sh"));
	for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
		pass(&vars, sv_str(passed[i]));
	set_own(&vars);
	for (size_t i = 0; b->in->wants_ca &&
			   i < sizeof authority / sizeof authority[0]; i++)
		set(&vars, sv_str(authority[i].name),
		    sv_str(authority[i].value));
	for (size_t i = 0; i < p->env_n; i++) {
		if (p->env[i].kind == ENV_SET)
			set(&vars, p->env[i].name, p->env[i].value);
		else
			pass(&vars, p->env[i].name);
	}
	for (size_t i = 0; i < b->in->variables_n; i++)
		set(&vars, b->in->variables[i].name,
		    b->in->variables[i].value);
	if (vars.n > VARIABLES_MAX)
		return err_kind(e, ERR_LIMIT, "more than %d variables",
				VARIABLES_MAX);
	end = arena_push(b->arena, &vars.list, &vars.n, &vars.cap);
	if (!end || b->full)
		return err_kind(e, ERR_LIMIT, "the environment is too large");
	b->plan->envp = vars.list;
	return 0;
}
