/* SPDX-License-Identifier: Apache-2.0 */
/* read, write, show, hide, guard, cache, roots and syscalls: about files. */
#include "filepath.h"
#include "text_form.h"
#include "words.h"

/* `$HOME/x`: nothing expands it here, and it would name another file. */
static bool has_variable(const struct word *w)
{
	size_t at = sv_find(w->text, '$');

	if (w->quoted || at + 1 >= w->text.n)
		return false;
	return is_alpha(w->text.p[at + 1]) || w->text.p[at + 1] == '_' ||
	       w->text.p[at + 1] == '{';
}

/* `{a,b}`: a shell makes two words of it, and here it would be a name that no
 * file has, so that nothing is hidden. */
static bool has_braces(const struct word *w)
{
	struct sv rest = sv_from(w->text, sv_find(w->text, '{'));
	struct sv inside = sv_head(rest, sv_find(rest, '}'));

	return !w->quoted && inside.n < rest.n &&
	       sv_find(inside, ',') < inside.n;
}

static int parse_path(const struct statement *s, const struct word *w,
		      struct arena *a, struct filepath *ret, struct err *e)
{
	const char *fault;

	if (has_variable(w))
		return statement_error(s, w, e,
			"variables are not expanded; write the path, or quote it");
	if (has_braces(w))
		return statement_error(s, w, e,
			"braces are not expanded; write each path, or quote it");
	if (!w->quoted && w->text.n && w->text.p[0] == '!')
		return statement_error(s, w, e,
			"a `!` takes nothing back, `show` does; or quote the name");
	fault = filepath_clean(w->text, s->source->base, s->source->home, a,
			       ret);
	return fault ? statement_error(s, w, e, "%s", fault) : 0;
}

/* Everything below the root, whichever way it is written. */
static bool is_root(const struct filepath *f)
{
	return f->path.n == 1 ||
	       (f->is_glob && filepath_stem(f->path).n == 1);
}

static int parse_grants(const struct statement *s, enum grant_kind kind,
			struct policy *p, struct err *e)
{
	if (!statement_word(s, 1, "the path", e))
		return -1;
	for (size_t i = 1; i < s->words_n; i++) {
		const struct word *w = &s->words[i];
		struct filepath f;
		struct grant *g;

		if (parse_path(s, w, &p->arena, &f, e) < 0)
			return -1;
		if (kind == GRANT_WRITE && is_root(&f))
			return statement_error(s, w, e,
				"the root directory is never writable; name what is to be written");
		if (kind == GRANT_CACHE && (f.is_glob || is_root(&f)))
			return statement_error(s, w, e,
				"name the one directory that is kept, without wildcards");
		g = arena_push(&p->arena, &p->grants, &p->grants_n,
			       &p->grants_cap);
		if (!g)
			return statement_full(s, e);
		*g = (struct grant){
			.kind = kind, .optional = s->optional,
			.is_glob = f.is_glob, .path = f.path,
			.origin = s->origin,
		};
		if (text_form_grant(g, &p->arena) < 0)
			return statement_full(s, e);
	}
	return 0;
}

int word_read(const struct statement *s, struct policy *p, struct err *e)
{
	return parse_grants(s, GRANT_READ, p, e);
}

int word_write(const struct statement *s, struct policy *p, struct err *e)
{
	return parse_grants(s, GRANT_WRITE, p, e);
}

int word_show(const struct statement *s, struct policy *p, struct err *e)
{
	return parse_grants(s, GRANT_SHOW, p, e);
}

int word_hide(const struct statement *s, struct policy *p, struct err *e)
{
	return parse_grants(s, GRANT_HIDE, p, e);
}

int word_guard(const struct statement *s, struct policy *p, struct err *e)
{
	return parse_grants(s, GRANT_GUARD, p, e);
}

int word_cache(const struct statement *s, struct policy *p, struct err *e)
{
	return parse_grants(s, GRANT_CACHE, p, e);
}

int word_roots(const struct statement *s, struct policy *p, struct err *e)
{
	if (!statement_word(s, 1, "the path", e))
		return -1;
	for (size_t i = 1; i < s->words_n; i++) {
		const struct word *w = &s->words[i];
		struct filepath f;
		struct roots_rule *r;

		if (parse_path(s, w, &p->arena, &f, e) < 0)
			return -1;
		if (f.is_glob)
			return statement_error(s, w, e,
				"name each file of certificates, without wildcards");
		r = arena_push(&p->arena, &p->roots, &p->roots_n,
			       &p->roots_cap);
		if (!r)
			return statement_full(s, e);
		*r = (struct roots_rule){
			.path = f.path, .optional = s->optional,
			.origin = s->origin,
		};
		if (text_form_roots(r, &p->arena) < 0)
			return statement_full(s, e);
	}
	return 0;
}

int word_syscalls(const struct statement *s, struct policy *p, struct err *e)
{
	const struct word *w = statement_word(s, 1, "`strict` or the file", e);
	struct syscalls_rule r = { .origin = s->origin }, *kept;
	struct filepath f = { 0 };

	if (!w || statement_end(s, 2, e) < 0)
		return -1;
	r.strict = sv_eq(w->text, SV("strict"));
	r.optional = s->optional;
	if (r.strict && r.optional)
		return statement_error(s, w, e, "`strict` is always there");
	if (!r.strict && parse_path(s, w, &p->arena, &f, e) < 0)
		return -1;
	if (f.is_glob)
		return statement_error(s, w, e,
				       "name one file, without wildcards");
	r.path = f.path;
	kept = arena_push(&p->arena, &p->syscalls, &p->syscalls_n,
			  &p->syscalls_cap);
	if (!kept || text_form_syscalls(&r, &p->arena) < 0)
		return statement_full(s, e);
	*kept = r;
	return 0;
}
