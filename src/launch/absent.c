/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not to be made: see absent.h.
 *
 * A rule is a pattern.  A path is written as one, with the characters escaped
 * that would mean something: a directory may be called "[id]".
 */
#include "absent.h"

#include "area.h"
#include "dotfiles.h"
#include "filepath.h"
#include "guards.h"
#include "plain.h"

static struct sv literal(struct builder *b, struct sv path)
{
	const struct filepath f = { .path = path };
	struct sv written = filepath_written(&f, b->arena);

	if (!written.p)
		b->full = true;
	return written;
}

static void forbid(struct builder *b, struct creation_rule rule)
{
	struct plan *plan = b->plan;
	struct creation_rule *r = arena_push(b->arena, &plan->creation,
					     &plan->creation_n,
					     &plan->creation_cap);

	if (r)
		*r = rule;
	else
		b->full = true;
}

void absent_forbid(struct builder *b, struct sv path, struct sv why,
		   bool is_default)
{
	forbid(b, (struct creation_rule){
		.tail = literal(b, path), .why = why,
		.is_default = is_default });
}

/* Everywhere below a tree that can be written. */
static void forbid_default(struct builder *b, const struct area *area)
{
	const struct sv base = literal(b, area->path);

	for (const char *const *at = dotfile_guards; *at; at++)
		forbid(b, (struct creation_rule){
			.base = base, .tail = sv_str(*at),
			.why = SV(GUARDED_BY_DEFAULT), .is_default = true });
	forbid(b, (struct creation_rule){
		.base = base, .tail = SV(PLAIN_NAME "*"),
		.why = SV("stockade's own") });
}

/* Behind two stars comes the end of a path, at any depth; with several pairs the
 * last one counts, which forbids more.  At the end they are nothing as well. */
static void forbid_pattern(struct builder *b, const struct grant *g)
{
	struct creation_rule rule = { .tail = g->path, .why = g->text };
	size_t at;

	while (sv_ends(rule.tail, SV("/**")) && rule.tail.n > strlen("/**"))
		rule.tail.n -= strlen("/**");
	at = sv_find_sv(rule.tail, SV("/**"));
	if (at < rule.tail.n)
		rule.base = sv_head(rule.tail, at ? at : 1);
	for (; at < rule.tail.n; at = sv_find_sv(rule.tail, SV("/**")))
		rule.tail = sv_from(rule.tail, at + strlen("/**"));
	if (!rule.tail.n)
		rule.tail = SV("*");
	forbid(b, rule);
}

static void plan_lifted(struct builder *b, const struct grant *g)
{
	struct plan *plan = b->plan;
	struct sv *path = arena_push(b->arena, &plan->lifted, &plan->lifted_n,
				     &plan->lifted_cap);
	struct area found;
	struct err ignored;

	if (!path)
		b->full = true;
	else if (area_resolve(b, g->path, &found, &ignored) == 0)
		*path = found.path;
	else
		*path = g->path;
}

/* Without a tree to write in nothing can be made. */
void absent_plan(struct builder *b)
{
	const struct policy *p = b->policy;
	bool writes = false;

	for (size_t i = 0; i < b->areas_n; i++) {
		const struct area *area = &b->areas[i];

		if (!area->write || area->kind != AREA_NAMED ||
		    area->source.n || area->redundant ||
		    area->identity.type != S_IFDIR)
			continue;
		forbid_default(b, area);
		writes = true;
	}
	for (size_t i = 0; writes && i < p->grants_n; i++) {
		const struct grant *g = &p->grants[i];

		if (g->kind == GRANT_WRITE && !g->is_glob)
			plan_lifted(b, g);
	}
	for (size_t i = 0; writes && i < b->marks_n; i++) {
		const struct grant *g = &b->marks[i];

		if (g->kind == GRANT_GUARD && g->is_glob)
			forbid_pattern(b, g);
	}
}
