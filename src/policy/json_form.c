/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the canonical JSON form: see json_form.h. */
#include "json_form.h"

#include "amount.h"
#include "filepath.h"
#include "json.h"
#include "match_relay.h"
#include "statement.h"
#include "text_form.h"

/* What every statement ends with. */
static void close_statement(struct json *j, const struct origin *o)
{
	auto_buf struct buf b = buf_new(256);

	origin_put(&b, o);
	json_put_sv(j, "origin", buf_sv(&b));
	json_close(j, '}');
}

static void put_port(struct json *j, uint16_t port)
{
	if (port)
		json_put_u64(j, "port", port);
}

static void put_optional(struct json *j, bool optional)
{
	if (optional)
		json_put_bool(j, "optional", true);
}

/* Written as in a statement: a plain path may hold wildcard characters. */
static void put_path(struct json *j, const char *key, struct sv path,
		     bool is_glob)
{
	struct filepath f = { .path = path, .is_glob = is_glob };
	auto_arena struct arena a = arena_new(4 * FILEPATH_MAX);
	struct sv written = filepath_written(&f, &a);

	if (!written.p)
		j->out->full = true;
	json_put_sv(j, key, written);
}

static void put_grant(struct json *j, const struct grant *g)
{
	json_open(j, '{');
	json_put_sv(j, "word", text_form_grant_word(g->kind));
	put_path(j, "path", g->path, g->is_glob);
	put_optional(j, g->optional);
	close_statement(j, &g->origin);
}

static void put_env(struct json *j, const struct env_rule *r)
{
	json_open(j, '{');
	json_put_str(j, "word", r->kind == ENV_SET ? "set" : "pass");
	json_put_sv(j, "name", r->name);
	if (r->kind == ENV_SET)
		json_put_sv(j, "value", r->value);
	close_statement(j, &r->origin);
}

static void put_rule(struct json *j, const struct rule *r)
{
	json_open(j, '{');
	json_put_sv(j, "word", text_form_effect_word(r->effect));
	if (r->methods_n) {
		json_key(j, "methods");
		json_open(j, '[');
		for (size_t i = 0; i < r->methods_n; i++)
			json_sv(j, r->methods[i]);
		json_close(j, ']');
	}
	json_put_sv(j, "host", r->host);
	put_port(j, r->port);
	json_put_sv(j, "path", r->path);
	if (r->has_query)
		json_put_sv(j, "query", r->query);
	close_statement(j, &r->origin);
}

static void put_relay(struct json *j, const struct relay_rule *r)
{
	json_open(j, '{');
	json_put_sv(j, "word", text_form_effect_word(r->effect));
	json_put_sv(j, "protocol", relay_kind_word(r->kind));
	json_put_sv(j, "host", r->host);
	put_port(j, r->port);
	close_statement(j, &r->origin);
}

static void put_reach(struct json *j, const struct reach *r)
{
	json_open(j, '{');
	json_put_sv(j, "host", r->host);
	put_port(j, r->port);
	json_put_sv(j, "via", r->via);
	close_statement(j, &r->origin);
}

static void put_roots(struct json *j, const struct roots_rule *r)
{
	json_open(j, '{');
	put_path(j, "path", r->path, false);
	put_optional(j, r->optional);
	close_statement(j, &r->origin);
}

static void put_device(struct json *j, const struct device_rule *r)
{
	json_open(j, '{');
	if (r->name.p[0] == '/')
		put_path(j, "name", r->name, false);
	else
		json_put_sv(j, "name", r->name);
	put_optional(j, r->optional);
	close_statement(j, &r->origin);
}

static void put_publish(struct json *j, const struct publish_rule *r)
{
	json_open(j, '{');
	put_port(j, r->port);
	close_statement(j, &r->origin);
}

static void put_source(struct json *j, enum secret_source source,
		       struct sv arg)
{
	switch (source) {
	case SECRET_ENV:
		json_put_str(j, "from", "env");
		break;
	case SECRET_FILE:
		json_put_str(j, "from", "file");
		put_path(j, "source", arg, false);
		break;
	case SECRET_COMMAND:
		json_put_str(j, "from", "command");
		json_put_sv(j, "source", arg);
		break;
	case SECRET_STORE:
		json_put_str(j, "from", "store");
		break;
	}
}

static void put_proxy(struct json *j, const struct proxy_rule *r)
{
	bool six = sv_find(r->host, ':') < r->host.n;
	auto_buf struct buf url = buf_new(512);

	if (r->text.n == 0)
		return;
	json_open(j, '{');
	buf_printf(&url, six ? "http://[%.*s]:%u" : "http://%.*s:%u",
		   SV_FMT(r->host), r->port);
	if (r->host.n)
		json_put_sv(j, "url", buf_sv(&url));
	if (r->by_name)
		json_put_bool(j, "by_name", true);
	if (r->user.n) {
		json_put_sv(j, "user", r->user);
		put_source(j, r->source, r->source_arg);
		if (r->source == SECRET_ENV)
			json_put_sv(j, "source", r->source_arg);
	}
	close_statement(j, &r->origin);
}

static void put_bounds(struct json *j, const struct secret_rule *r)
{
	auto_buf struct buf until = buf_new(64), renew = buf_new(64);

	if (r->renew_ms) {
		amount_put(&renew, UNIT_TIME, r->renew_ms);
		json_put_sv(j, "renew", buf_sv(&renew));
	}
	if (r->times)
		json_put_u64(j, "times", r->times);
	if (!r->until)
		return;
	text_form_until(&until, r);
	json_put_sv(j, "until", buf_sv(&until));
}

static void put_secret(struct json *j, const struct secret_rule *r)
{
	json_open(j, '{');
	json_put_sv(j, "name", r->name);
	put_optional(j, r->optional);
	put_source(j, r->source, r->source_arg);
	if (r->entry.n)
		json_put_sv(j, "key", r->entry);
	if (r->source == SECRET_STORE && !sv_eq(r->source_arg, r->name))
		json_put_sv(j, "key", r->source_arg);
	json_key(j, "for");
	json_open(j, '[');
	for (size_t i = 0; i < r->scopes_n; i++) {
		json_open(j, '{');
		json_put_sv(j, "host", r->scopes[i].host);
		put_port(j, r->scopes[i].port);
		json_put_sv(j, "path", r->scopes[i].path);
		json_close(j, '}');
	}
	json_close(j, ']');
	switch (r->form) {
	case SECRET_BEARER:
		json_put_str(j, "as", "bearer");
		break;
	case SECRET_BASIC:
		json_put_str(j, "as", "basic");
		json_put_sv(j, "user", r->user);
		break;
	case SECRET_HEADER:
		json_put_str(j, "as", "header");
		json_put_sv(j, "header", r->header);
		if (r->prefix.n)
			json_put_sv(j, "prefix", r->prefix);
		break;
	case SECRET_QUERY:
		json_put_str(j, "as", "query");
		json_put_sv(j, "query", r->key);
		break;
	case SECRET_COOKIE:
		json_put_str(j, "as", "cookie");
		json_put_sv(j, "cookie", r->key);
		break;
	}
	if (r->add)
		json_put_bool(j, "add", true);
	if (r->like.n)
		json_put_sv(j, "like", r->like);
	if (r->place.n) {
		put_path(j, "in", r->place, false);
		json_put_sv(j, "in_key", r->place_key);
	}
	if (r->place_base64)
		json_put_bool(j, "base64", true);
	put_bounds(j, r);
	close_statement(j, &r->origin);
}

static void put_syscalls(struct json *j, const struct policy *p)
{
	for (size_t i = 0; i < p->syscalls_n; i++) {
		const struct syscalls_rule *r = &p->syscalls[i];

		json_open(j, '{');
		json_put_str(j, "word", r->strict ? "strict" : "file");
		if (!r->strict)
			put_path(j, "path", r->path, false);
		put_optional(j, r->optional);
		close_statement(j, &r->origin);
	}
	if (!p->debug)
		return;
	json_open(j, '{');
	json_put_str(j, "word", "debug");
	close_statement(j, &p->debug_origin);
}

static void put_limit(struct json *j, const struct limit *l)
{
	struct sv word = sv_head(l->shown, l->shown.n - l->amount.n - 1);

	json_open(j, '{');
	json_put_sv(j, "word", word);
	json_put_sv(j, "value", l->amount);
	put_optional(j, l->optional);
	close_statement(j, &l->origin);
}

static void put_budget(struct json *j, const struct budget_rule *r)
{
	json_open(j, '{');
	json_put_sv(j, "word", r->word);
	json_put_sv(j, "value", r->amount);
	if (r->host.n)
		json_put_sv(j, "for", r->host);
	close_statement(j, &r->origin);
}

/* A list of at most one, of a statement that counts once in a policy; word .n is
 * 0 where nothing says it. */
static void put_single(struct json *j, const char *key, const char *member,
		       struct sv word, const struct origin *origin)
{
	json_key(j, key);
	json_open(j, '[');
	if (word.n) {
		json_open(j, '{');
		json_put_sv(j, member, word);
		close_statement(j, origin);
	}
	json_close(j, ']');
}

#define PUT_ARRAY(j, key, items, n, put)                                 \
	do {                                                             \
		json_key((j), (key));                                    \
		json_open((j), '[');                                     \
		for (size_t i_ = 0; i_ < (n); i_++)                      \
			put((j), &(items)[i_]);                          \
		json_close((j), ']');                                    \
	} while (0)

void policy_json(const struct policy *p, struct buf *out)
{
	struct json j = json_pretty(out);

	json_open(&j, '{');
	json_put_u64(&j, "version", 1);
	PUT_ARRAY(&j, "grants", p->grants, p->grants_n, put_grant);
	PUT_ARRAY(&j, "env", p->env, p->env_n, put_env);
	PUT_ARRAY(&j, "rules", p->rules, p->rules_n, put_rule);
	PUT_ARRAY(&j, "relays", p->relays, p->relays_n, put_relay);
	PUT_ARRAY(&j, "reach", p->reaches, p->reaches_n, put_reach);
	json_key(&j, "proxy");
	json_open(&j, '[');
	put_proxy(&j, &p->proxy);
	json_close(&j, ']');
	PUT_ARRAY(&j, "roots", p->roots, p->roots_n, put_roots);
	PUT_ARRAY(&j, "secrets", p->secrets, p->secrets_n, put_secret);
	PUT_ARRAY(&j, "devices", p->devices, p->devices_n, put_device);
	PUT_ARRAY(&j, "publish", p->publishes, p->publishes_n, put_publish);
	json_key(&j, "syscalls");
	json_open(&j, '[');
	put_syscalls(&j, p);
	json_close(&j, ']');
	json_key(&j, "limits");
	json_open(&j, '[');
	for (int i = 0; i < LIMIT_KINDS; i++)
		if (p->limits[i].set)
			put_limit(&j, &p->limits[i]);
	for (size_t i = 0; i < p->budgets_n; i++)
		put_budget(&j, &p->budgets[i]);
	json_close(&j, ']');
	put_single(&j, "workspace", "word",
		   text_form_workspace_word(p->workspace),
		   &p->workspace_origin);
	put_single(&j, "terminal", "word", text_form_screen_word(p->screen),
		   &p->screen_origin);
	put_single(&j, "keep", "name", p->keep, &p->keep_origin);
	json_close(&j, '}');
	buf_putc(out, '\n');
}
