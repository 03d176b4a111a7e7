/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical text of a policy: see text_form.h. */
#include "text_form.h"

#include <inttypes.h>

#include "amount.h"
#include "filepath.h"
#include "moment.h"
#include "own.h"
#include "statement.h"

enum { TEXT_MAX = POLICY_TEXT_MAX };

/* Bytes that end a word, start a quote, or mean something at its start. */
static bool needs_quotes(struct sv v)
{
	if (v.n == 0 || v.p[0] == '#' || v.p[0] == '!')
		return true;
	for (size_t i = 0; i < v.n; i++)
		if (strchr(" \t\"'\\", v.p[i]) || v.p[i] == '$' ||
		    v.p[i] == '{')
			return true;
	return false;
}

void text_form_word(struct buf *b, struct sv v)
{
	if (!needs_quotes(v)) {
		buf_put(b, v);
		return;
	}
	buf_putc(b, '"');
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] == '"' || v.p[i] == '\\')
			buf_putc(b, '\\');
		buf_putc(b, v.p[i]);
	}
	buf_putc(b, '"');
}

void text_form_target(struct buf *b, struct sv host, uint16_t port,
		      struct sv path)
{
	buf_put(b, host);
	if (port)
		buf_printf(b, ":%u", port);
	buf_put(b, path);
}

struct sv text_form_grant_word(enum grant_kind kind)
{
	static const struct sv words[] = {
		[GRANT_READ] = SV("read"), [GRANT_WRITE] = SV("write"),
		[GRANT_SHOW] = SV("show"), [GRANT_HIDE] = SV("hide"),
		[GRANT_GUARD] = SV("guard"), [GRANT_CACHE] = SV("cache"),
		[GRANT_SOCKET] = SV("socket"),
	};

	return words[kind];
}

struct sv text_form_effect_word(enum verdict effect)
{
	static const struct sv words[] = {
		[VERDICT_DENY] = SV("deny"), [VERDICT_ASK] = SV("ask"),
		[VERDICT_ALLOW] = SV("allow"),
	};

	return words[effect];
}

struct sv text_form_workspace_word(enum workspace said)
{
	static const struct sv words[] = {
		[WORKSPACE_DIRECT] = SV("direct"),
		[WORKSPACE_OVERLAY] = SV("overlay"),
	};

	return words[said];
}

struct sv text_form_screen_word(enum screen said)
{
	static const struct sv words[] = {
		[SCREEN_EXACT] = SV("exact"), [SCREEN_FILTER] = SV("filter"),
	};

	return words[said];
}

int text_form_order(struct sv a, struct sv b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n ? memcmp(a.p, b.p, n) : 0;

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

int text_form_scope_order(const struct secret_scope *a,
			  const struct secret_scope *b)
{
	int order = text_form_order(a->host, b->host);

	if (order == 0)
		order = (a->port > b->port) - (a->port < b->port);
	return order ? order : text_form_order(a->path, b->path);
}

bool text_form_is_ascii(struct sv v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] < ' ' || v.p[i] >= 0x7f)
			return false;
	return true;
}

static int keep(const struct buf *b, struct arena *a, struct sv *ret)
{
	if (b->full)
		return -1;
	*ret = arena_dup(a, buf_sv(b));
	return ret->p ? 0 : -1;
}

static void put_path(struct buf *b, struct sv path, bool is_glob,
		     struct arena *a)
{
	struct filepath f = { .path = path, .is_glob = is_glob };
	struct sv written = filepath_written(&f, a);

	if (!written.p)
		b->full = true;
	text_form_word(b, written);
}

/* One word, with the path in it. */
static int socket_word(struct sv path, struct arena *a, struct sv *ret)
{
	struct filepath f = { .path = path };
	struct sv written = filepath_written(&f, a);
	auto_buf struct buf word = buf_new(TEXT_MAX);

	buf_puts(&word, "unix:");
	buf_put(&word, written);
	word.full |= !written.p;
	return keep(&word, a, ret);
}

static int socket_text(struct grant *g, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);
	struct sv word;

	if (socket_word(g->path, a, &word) < 0)
		return -1;
	buf_puts(&b, "reach ");
	text_form_word(&b, word);
	return keep(&b, a, &g->text);
}

int text_form_grant(struct grant *g, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);

	if (g->kind == GRANT_SOCKET)
		return socket_text(g, a);
	buf_put(&b, text_form_grant_word(g->kind));
	buf_puts(&b, g->optional ? "? " : " ");
	put_path(&b, g->path, g->is_glob, a);
	return keep(&b, a, &g->text);
}

int text_form_env(struct env_rule *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);

	if (r->kind == ENV_PASS) {
		buf_printf(&b, "env pass %.*s", SV_FMT(r->name));
	} else {
		auto_buf struct buf pair = buf_new(TEXT_MAX);

		buf_printf(&pair, "%.*s=", SV_FMT(r->name));
		buf_put(&pair, r->value);
		buf_puts(&b, "env set ");
		text_form_word(&b, buf_sv(&pair));
		b.full |= pair.full;
	}
	return keep(&b, a, &r->text);
}

int text_form_rule(struct rule *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);
	auto_buf struct buf where = buf_new(TEXT_MAX);

	buf_put(&b, text_form_effect_word(r->effect));
	buf_putc(&b, ' ');
	for (size_t i = 0; i < r->methods_n; i++) {
		buf_puts(&where, i ? "," : "");
		buf_put(&where, r->methods[i]);
	}
	if (r->methods_n == 0)
		buf_putc(&where, '*');
	text_form_word(&b, buf_sv(&where));
	buf_putc(&b, ' ');
	buf_reset(&where);
	text_form_target(&where, r->host, r->port, r->path);
	if (r->has_query) {
		buf_putc(&where, '?');
		buf_put(&where, r->query);
	}
	text_form_word(&b, buf_sv(&where));
	b.full |= where.full;
	return keep(&b, a, &r->text);
}

int text_form_relay(struct relay_rule *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);

	buf_put(&b, text_form_effect_word(r->effect));
	buf_puts(&b, r->kind == RELAY_TLS ? " tls " : " tcp ");
	text_form_target(&b, r->host, r->port, SV(""));
	return keep(&b, a, &r->text);
}

int text_form_reach(struct reach *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);

	if (r->socket.p && socket_word(r->socket, a, &r->via) < 0)
		return -1;
	buf_puts(&b, "reach ");
	text_form_target(&b, r->host, r->port, SV(""));
	buf_puts(&b, " via ");
	if (r->socket.p)
		text_form_word(&b, r->via);
	else
		buf_put(&b, r->via);
	return keep(&b, a, &r->text);
}

static void put_source(struct buf *b, const struct secret_rule *r,
		       struct arena *a)
{
	switch (r->source) {
	case SECRET_ENV:
		buf_puts(b, "env");
		break;
	case SECRET_FILE:
		buf_puts(b, "file ");
		put_path(b, r->source_arg, false, a);
		if (r->entry.n) {
			buf_puts(b, " key ");
			text_form_word(b, r->entry);
		}
		break;
	case SECRET_COMMAND:
		buf_puts(b, "command ");
		text_form_word(b, r->source_arg);
		break;
	case SECRET_STORE:
		buf_puts(b, "store");
		if (!sv_eq(r->source_arg, r->name)) {
			buf_puts(b, " key ");
			text_form_word(b, r->source_arg);
		}
		break;
	}
}

static void put_form(struct buf *b, const struct secret_rule *r)
{
	switch (r->form) {
	case SECRET_BEARER:
		buf_puts(b, "bearer");
		break;
	case SECRET_BASIC:
		buf_puts(b, "basic ");
		text_form_word(b, r->user);
		break;
	case SECRET_HEADER:
		buf_printf(b, "header %.*s", SV_FMT(r->header));
		if (r->prefix.n) {
			buf_puts(b, " prefix ");
			text_form_word(b, r->prefix);
		}
		break;
	case SECRET_QUERY:
		buf_printf(b, "query %.*s", SV_FMT(r->key));
		break;
	case SECRET_COOKIE:
		buf_printf(b, "cookie %.*s", SV_FMT(r->key));
		break;
	}
}

void text_form_until(struct buf *b, const struct secret_rule *r)
{
	if (r->until == UNTIL_MOMENT)
		moment_put(b, r->end);
	else
		amount_put(b, UNIT_TIME, r->end);
}

void text_form_bounds(struct buf *b, const struct secret_rule *r)
{
	if (r->renew_ms) {
		buf_puts(b, "renew ");
		amount_put(b, UNIT_TIME, r->renew_ms);
	}
	if (r->times)
		buf_printf(b, "%stimes %" PRIu64, r->renew_ms ? " " : "",
			   r->times);
	if (r->until) {
		buf_puts(b, r->renew_ms || r->times ? " until " : "until ");
		text_form_until(b, r);
	}
}

static void put_place(struct buf *b, const struct secret_rule *r,
		      struct arena *a)
{
	buf_puts(b, " in ");
	put_path(b, r->place, false, a);
	buf_puts(b, " key ");
	text_form_word(b, r->place_key);
	buf_puts(b, r->place_base64 ? " base64" : "");
}

int text_form_secret(struct secret_rule *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);
	auto_buf struct buf scopes = buf_new(TEXT_MAX);

	buf_printf(&b, "secret%s %.*s from ", r->optional ? "?" : "",
		   SV_FMT(r->name));
	put_source(&b, r, a);
	for (size_t i = 0; i < r->scopes_n; i++) {
		const struct secret_scope *s = &r->scopes[i];
		bool whole = sv_eq(s->path, SV("/**"));

		buf_puts(&scopes, i ? "," : "");
		text_form_target(&scopes, s->host, s->port,
				 whole ? SV("") : s->path);
	}
	buf_puts(&b, " for ");
	text_form_word(&b, buf_sv(&scopes));
	buf_puts(&b, " as ");
	put_form(&b, r);
	buf_puts(&b, r->add ? " add" : "");
	if (r->like.n)
		buf_printf(&b, " like %.*s", SV_FMT(r->like));
	if (r->place.n)
		put_place(&b, r, a);
	buf_puts(&b, text_form_has_bounds(r) ? " " : "");
	text_form_bounds(&b, r);
	b.full |= scopes.full;
	return keep(&b, a, &r->text);
}

int text_form_roots(struct roots_rule *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);

	buf_puts(&b, r->optional ? "roots? " : "roots ");
	put_path(&b, r->path, false, a);
	return keep(&b, a, &r->text);
}

int text_form_syscalls(struct syscalls_rule *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);

	buf_puts(&b, r->optional ? "syscalls? " : "syscalls ");
	if (r->strict)
		buf_puts(&b, "strict");
	else
		put_path(&b, r->path, false, a);
	return keep(&b, a, &r->text);
}

int text_form_device(struct device_rule *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(TEXT_MAX);

	buf_puts(&b, r->optional ? "device? " : "device ");
	if (r->name.p[0] == '/')
		put_path(&b, r->name, false, a);
	else
		buf_put(&b, r->name);
	return keep(&b, a, &r->text);
}

int text_form_publish(struct publish_rule *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(64);

	buf_printf(&b, "publish %u", r->port);
	return keep(&b, a, &r->text);
}

/* Comments stand in one column where the statements leave room. */
static void put_line(struct buf *out, struct sv text,
		     const struct origin *origin, bool origins)
{
	enum { COMMENT_COLUMN = 56 };

	buf_put(out, text);
	if (origins) {
		for (size_t i = text.n; i < COMMENT_COLUMN; i++)
			buf_putc(out, ' ');
		buf_puts(out, " # ");
		origin_put(out, origin);
	}
	buf_putc(out, '\n');
}

#define PUT_LINES(items, n)                                              \
	for (size_t i = 0; i < (n); i++)                                 \
		put_line(out, (items)[i].text, &(items)[i].origin, origins)

void policy_print(const struct policy *p, struct buf *out, bool origins)
{
	PUT_LINES(p->grants, p->grants_n);
	PUT_LINES(p->env, p->env_n);
	PUT_LINES(p->rules, p->rules_n);
	PUT_LINES(p->relays, p->relays_n);
	PUT_LINES(p->reaches, p->reaches_n);
	if (p->proxy.text.n)
		put_line(out, p->proxy.text, &p->proxy.origin, origins);
	PUT_LINES(p->roots, p->roots_n);
	PUT_LINES(p->secrets, p->secrets_n);
	PUT_LINES(p->devices, p->devices_n);
	PUT_LINES(p->publishes, p->publishes_n);
	PUT_LINES(p->syscalls, p->syscalls_n);
	if (p->debug)
		put_line(out, SV("debug on"), &p->debug_origin, origins);
	for (int i = 0; i < LIMIT_KINDS; i++)
		if (p->limits[i].set)
			put_line(out, p->limits[i].text, &p->limits[i].origin,
				 origins);
	PUT_LINES(p->budgets, p->budgets_n);
	if (p->workspace)
		put_line(out, p->workspace == WORKSPACE_OVERLAY ?
			 SV("workspace overlay") : SV("workspace direct"),
			 &p->workspace_origin, origins);
	if (p->screen)
		put_line(out, p->screen == SCREEN_FILTER ?
			 SV("terminal filter") : SV("terminal exact"),
			 &p->screen_origin, origins);
	if (p->keep.n)
		put_line(out, p->keep_text, &p->keep_origin, origins);
}
