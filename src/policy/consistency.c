/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can only be said of all statements together.
 *
 * Sorting comes first: it makes the order of the sources irrelevant, and puts
 * duplicates and contradictions next to each other.
 */
#include <stdio.h>

#include "filepath.h"
#include "keyfile_text.h"
#include "match.h"
#include "match_relay.h"
#include "own.h"
#include "parse.h"
#include "statement.h"
#include "text_form.h"
#include "words.h"

enum { PAIRS_MAX = 1024 };

static int origin_order(const struct origin *a, const struct origin *b)
{
	int order = text_form_order(a->file, b->file);

	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int bool_order(bool a, bool b)
{
	return (a > b) - (a < b);
}

/* The statement without its word: equal for `read x` and `read? x`. */
static struct sv body(struct sv text)
{
	return sv_from(text, sv_find(text, ' '));
}

/*
 * One comparison for each kind: what makes two entries the same thing, then
 * required before optional, then the origin, so that the one that is kept does
 * not depend on the order of reading.
 */
#define SAME_THEN_ORIGIN(order)                                          \
	((order) ? (order) : origin_order(&a->origin, &b->origin))

static int grant_same(const struct grant *a, const struct grant *b)
{
	int order = (a->kind > b->kind) - (a->kind < b->kind);

	return order ? order : text_form_order(body(a->text), body(b->text));
}

static int grant_order(const void *x, const void *y)
{
	const struct grant *a = x, *b = y;
	int order = grant_same(a, b);

	if (order == 0)
		order = bool_order(a->optional, b->optional);
	return SAME_THEN_ORIGIN(order);
}

static int env_order(const void *x, const void *y)
{
	const struct env_rule *a = x, *b = y;
	int order = text_form_order(a->text, b->text);

	return SAME_THEN_ORIGIN(order);
}

static int rule_same(const struct rule *a, const struct rule *b)
{
	int order = (a->effect > b->effect) - (a->effect < b->effect);

	return order ? order : text_form_order(a->text, b->text);
}

static int rule_order(const void *x, const void *y)
{
	const struct rule *a = x, *b = y;
	int order = rule_same(a, b);

	return SAME_THEN_ORIGIN(order);
}

static int relay_order(const void *x, const void *y)
{
	const struct relay_rule *a = x, *b = y;
	int order = (a->effect > b->effect) - (a->effect < b->effect);

	if (order == 0)
		order = text_form_order(a->text, b->text);
	return SAME_THEN_ORIGIN(order);
}

static int reach_order(const void *x, const void *y)
{
	const struct reach *a = x, *b = y;
	int order = text_form_order(a->text, b->text);

	return SAME_THEN_ORIGIN(order);
}

static int secret_order(const void *x, const void *y)
{
	const struct secret_rule *a = x, *b = y;
	int order = text_form_order(body(a->text), body(b->text));

	if (order == 0)
		order = bool_order(a->optional, b->optional);
	return SAME_THEN_ORIGIN(order);
}

static int roots_order(const void *x, const void *y)
{
	const struct roots_rule *a = x, *b = y;
	int order = text_form_order(a->path, b->path);

	if (order == 0)
		order = bool_order(a->optional, b->optional);
	return SAME_THEN_ORIGIN(order);
}

static int syscalls_order(const void *x, const void *y)
{
	const struct syscalls_rule *a = x, *b = y;
	int order = text_form_order(body(a->text), body(b->text));

	if (order == 0)
		order = bool_order(a->optional, b->optional);
	return SAME_THEN_ORIGIN(order);
}

static int device_order(const void *x, const void *y)
{
	const struct device_rule *a = x, *b = y;
	int order = text_form_order(a->name, b->name);

	if (order == 0)
		order = bool_order(a->optional, b->optional);
	return SAME_THEN_ORIGIN(order);
}

static int publish_order(const void *x, const void *y)
{
	const struct publish_rule *a = x, *b = y;

	return SAME_THEN_ORIGIN((int)a->port - (int)b->port);
}

static int budget_same(const struct budget_rule *a,
		       const struct budget_rule *b)
{
	int order = (a->kind > b->kind) - (a->kind < b->kind);

	return order ? order : text_form_order(a->host, b->host);
}

static int budget_order(const void *x, const void *y)
{
	const struct budget_rule *a = x, *b = y;
	int order = budget_same(a, b);

	if (order == 0)
		order = text_form_order(a->text, b->text);
	return SAME_THEN_ORIGIN(order);
}

/* Sorts, and keeps the first of those for which `same` is true. */
#define SORT_AND_MERGE(items, n, order, same)                            \
	do {                                                             \
		size_t kept_ = 0;                                        \
		if ((n) > 1)                                             \
			qsort((items), (n), sizeof *(items), (order));   \
		for (size_t i_ = 0; i_ < (n); i_++) {                    \
			__typeof__((items)) a = &(items)[kept_ ? kept_ - 1 : 0]; \
			__typeof__((items)) b = &(items)[i_];            \
			if (kept_ == 0 || !(same))                       \
				(items)[kept_++] = *b;                   \
		}                                                        \
		(n) = kept_;                                             \
	} while (0)

static void sort_and_merge(struct policy *p)
{
	SORT_AND_MERGE(p->grants, p->grants_n, grant_order,
		       grant_same(a, b) == 0);
	SORT_AND_MERGE(p->env, p->env_n, env_order, sv_eq(a->text, b->text));
	SORT_AND_MERGE(p->rules, p->rules_n, rule_order, rule_same(a, b) == 0);
	SORT_AND_MERGE(p->relays, p->relays_n, relay_order,
		       sv_eq(a->text, b->text));
	SORT_AND_MERGE(p->reaches, p->reaches_n, reach_order,
		       sv_eq(a->text, b->text));
	SORT_AND_MERGE(p->secrets, p->secrets_n, secret_order,
		       sv_eq(body(a->text), body(b->text)));
	SORT_AND_MERGE(p->roots, p->roots_n, roots_order,
		       sv_eq(a->path, b->path));
	SORT_AND_MERGE(p->syscalls, p->syscalls_n, syscalls_order,
		       sv_eq(body(a->text), body(b->text)));
	SORT_AND_MERGE(p->devices, p->devices_n, device_order,
		       sv_eq(a->name, b->name));
	SORT_AND_MERGE(p->publishes, p->publishes_n, publish_order,
		       a->port == b->port);
	SORT_AND_MERGE(p->budgets, p->budgets_n, budget_order,
		       sv_eq(a->text, b->text));
}

/* One statement of a message: its text, and where it stands. */
struct quoted {
	struct sv text;
	const struct origin *origin;
};

static int contradiction(struct quoted a, struct quoted b, struct err *e)
{
	auto_buf struct buf first = buf_new(128);
	auto_buf struct buf second = buf_new(128);

	origin_put(&first, b.origin);
	origin_put(&second, a.origin);
	return err_kind(e, ERR_POLICY,
		"%.*s: this contradicts an earlier statement\n  %.*s\n  ^\n"
		"  %.*s: %.*s",
		SV_FMT(buf_sv(&first)), WORD_FMT(b.text),
		SV_FMT(buf_sv(&second)), WORD_FMT(a.text));
}

#define QUOTED(item) ((struct quoted){ (item).text, &(item).origin })

static int check_env(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->env_n; i++) {
		for (size_t j = i + 1; j < p->env_n; j++)
			if (sv_eq(p->env[i].name, p->env[j].name))
				return contradiction(QUOTED(p->env[i]),
						     QUOTED(p->env[j]), e);
		/* The variable holds the placeholder, and nothing else. */
		for (size_t j = 0; j < p->secrets_n; j++)
			if (sv_eq(p->env[i].name, p->secrets[j].name))
				return contradiction(QUOTED(p->secrets[j]),
						     QUOTED(p->env[i]), e);
	}
	return 0;
}

static int check_reaches(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->reaches_n; i++)
		for (size_t j = i + 1; j < p->reaches_n; j++)
			if (sv_eq(p->reaches[i].host, p->reaches[j].host) &&
			    p->reaches[i].port == p->reaches[j].port)
				return contradiction(QUOTED(p->reaches[i]),
						     QUOTED(p->reaches[j]), e);
	return 0;
}

/* What is published leads to whoever listens at the port inside: here, in a
 * circle. */
static int check_publishes(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->publishes_n; i++)
		for (size_t j = 0; j < p->reaches_n; j++)
			if (sv_eq(p->reaches[j].host, SV("localhost")) &&
			    p->reaches[j].port == p->publishes[i].port)
				return contradiction(QUOTED(p->reaches[j]),
						     QUOTED(p->publishes[i]), e);
	return 0;
}

static bool is_at_or_below(struct sv path, struct sv dir)
{
	return sv_starts(path, dir) && (path.n == dir.n || dir.n == 1 ||
					path.p[dir.n] == '/');
}

/*
 * A cache is an empty directory, and then what the agent made of it: nothing of
 * the host's can be in it, and it cannot be in what is hidden or guarded.  What
 * only the links of the host reveal, launch/ refuses.
 */
static bool spoils_cache(const struct grant *cache, const struct grant *g)
{
	struct filepath f = { .path = g->path, .is_glob = g->is_glob };
	size_t n;

	if (g == cache)
		return false;
	if (!g->is_glob && is_at_or_below(g->path, cache->path))
		return true;
	return (g->kind == GRANT_HIDE || g->kind == GRANT_GUARD) &&
	       filepath_covers(&f, cache->path, &n);
}

static int check_caches(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->grants_n; i++) {
		const struct grant *cache = &p->grants[i];

		if (cache->kind != GRANT_CACHE)
			continue;
		for (size_t j = 0; j < p->grants_n; j++)
			if (spoils_cache(cache, &p->grants[j]))
				return contradiction(QUOTED(*cache),
						     QUOTED(p->grants[j]), e);
	}
	return 0;
}

/* Could a request over TLS to that host and port get past the rules? */
static bool is_reachable(const struct policy *p, const struct secret_scope *s)
{
	uint16_t port = s->port ? s->port : 443;

	for (size_t i = 0; i < p->rules_n; i++) {
		const struct rule *r = &p->rules[i];

		if (r->effect != VERDICT_DENY && match_host(r->host, s->host) &&
		    (r->port == port ||
		     (r->port == 0 &&
		      (r->effect == VERDICT_ASK || port == 443))))
			return true;
	}
	return false;
}

static int check_secrets(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->secrets_n; i++) {
		const struct secret_rule *r = &p->secrets[i];

		for (size_t j = i + 1; j < p->secrets_n; j++)
			if (sv_eq(r->name, p->secrets[j].name))
				return contradiction(QUOTED(*r),
						     QUOTED(p->secrets[j]), e);
		for (size_t j = 0; j < r->scopes_n; j++) {
			auto_buf struct buf where = buf_new(128);
			auto_buf struct buf line = buf_new(512);

			if (is_reachable(p, &r->scopes[j]))
				continue;
			origin_put(&where, &r->origin);
			text_form_target(&line, r->scopes[j].host,
					 r->scopes[j].port, r->scopes[j].path);
			return err_kind(e, ERR_POLICY,
				"%.*s: no rule allows a request that could carry this secret\n"
				"  %.*s\n  ^\n  needed: allow METHODS %.*s",
				SV_FMT(buf_sv(&where)), WORD_FMT(r->text),
				SV_FMT(sv_head(buf_sv(&line), 200)));
		}
	}
	return 0;
}

/* The file is the run's own: what is hidden below a directory cannot be in it, and
 * no statement shows the host's, which it stands before. */
static bool spoils_place(const struct secret_rule *r, const struct grant *g)
{
	struct filepath f = { .path = g->path, .is_glob = g->is_glob };
	size_t n;

	if (g->kind == GRANT_HIDE)
		return filepath_covers(&f, r->place, &n) && n < r->place.n;
	return (!g->is_glob && is_at_or_below(g->path, r->place)) ||
	       (g->kind == GRANT_CACHE && is_at_or_below(r->place, g->path));
}

static int check_place(const struct policy *p, size_t i, struct err *e)
{
	const struct secret_rule *r = &p->secrets[i];
	enum keyfile_format f = keyfile_format_of(r->place);

	for (size_t j = 0; j < p->grants_n; j++)
		if (spoils_place(r, &p->grants[j]))
			return contradiction(QUOTED(p->grants[j]), QUOTED(*r),
					     e);
	for (size_t j = i + 1; j < p->secrets_n; j++)
		if (sv_eq(r->place, p->secrets[j].place) &&
		    keyfile_text_clash(f, r->place_key,
				       p->secrets[j].place_key))
			return contradiction(QUOTED(*r), QUOTED(p->secrets[j]),
					     e);
	return 0;
}

static int check_places(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->secrets_n; i++)
		if (p->secrets[i].place.n && check_place(p, i, e) < 0)
			return -1;
	return 0;
}

/* What is written at once could not be continued from. */
static int check_keep(const struct policy *p, struct err *e)
{
	auto_buf struct buf where = buf_new(128);

	if (p->keep.n == 0 || p->workspace == WORKSPACE_OVERLAY)
		return 0;
	origin_put(&where, &p->keep_origin);
	return err_kind(e, ERR_POLICY, "%.*s: only held changes can be kept\n"
			"  %.*s\n  ^\n  needed: workspace overlay",
			SV_FMT(buf_sv(&where)), WORD_FMT(p->keep_text));
}

static int limit_needs(const struct limit *l, const char *why,
		       const char *needed, struct err *e)
{
	auto_buf struct buf where = buf_new(128);

	origin_put(&where, &l->origin);
	return err_kind(e, ERR_POLICY, "%.*s: %s\n  %.*s\n  ^\n  needed: %s",
			SV_FMT(buf_sv(&where)), why, WORD_FMT(l->text), needed);
}

static int check_limits(const struct policy *p, struct err *e)
{
	static const enum limit_kind held[] = { LIMIT_WORKSPACE,
						LIMIT_WORKSPACE_FILES };
	const struct limit *files = &p->limits[LIMIT_WORKSPACE_FILES];

	/* What is written at once is the host's file system's to bound. */
	for (size_t i = 0; i < countof(held); i++)
		if (p->limits[held[i]].set && p->workspace != WORKSPACE_OVERLAY)
			return limit_needs(&p->limits[held[i]], "only what is "
					   "held has a limit of its own",
					   "workspace overlay", e);
	/* They are counted by the file system in memory, which has a size. */
	if (files->set && !p->limits[LIMIT_WORKSPACE].set)
		return limit_needs(files, "files are counted where the size of "
				   "what is held is bounded, too",
				   "limit workspace SIZE", e);
	return 0;
}

static int check_budgets(const struct policy *p, struct err *e)
{
	for (size_t i = 1; i < p->budgets_n; i++)
		if (budget_same(&p->budgets[i - 1], &p->budgets[i]) == 0)
			return contradiction(QUOTED(p->budgets[i - 1]),
					     QUOTED(p->budgets[i]), e);
	return 0;
}

int policy_check(struct policy *p, struct err *e)
{
	sort_and_merge(p);
	/* These are compared each with each. */
	if (p->env_n > PAIRS_MAX || p->reaches_n > PAIRS_MAX ||
	    p->secrets_n > PAIRS_MAX || p->budgets_n > PAIRS_MAX ||
	    p->relays_n > PAIRS_MAX)
		return err_kind(e, ERR_LIMIT,
			"the policy has more than %d statements of one kind",
			PAIRS_MAX);
	if (p->syscalls_n > POLICY_SYSCALLS_MAX)
		return err_kind(e, ERR_LIMIT,
			"the policy has more than %d statements `syscalls`",
			POLICY_SYSCALLS_MAX);
	if (check_env(p, e) < 0 || check_reaches(p, e) < 0 ||
	    check_publishes(p, e) < 0 ||
	    check_caches(p, e) < 0 || check_keep(p, e) < 0 ||
	    check_limits(p, e) < 0 || check_budgets(p, e) < 0 ||
	    relays_check(p, e) < 0 || via_check(p, e) < 0)
		return -1;
	return check_secrets(p, e) < 0 ? -1 : check_places(p, e);
}
