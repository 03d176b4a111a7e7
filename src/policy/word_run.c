/* SPDX-License-Identifier: Apache-2.0 */
/* env, workspace, terminal, keep, isolation, debug: statements about the run. */
#include "own.h"
#include "text_form.h"
#include "words.h"

static int add_variable(const struct statement *s, const struct word *w,
			enum env_kind kind, struct policy *p, struct err *e)
{
	size_t equals = sv_find(w->text, '=');
	struct env_rule r = {
		.kind = kind, .name = sv_head(w->text, equals),
		.value = sv_from(w->text, equals + 1), .origin = s->origin,
	};
	struct env_rule *kept;

	if (kind == ENV_SET && equals == w->text.n)
		return statement_error(s, w, e,
				       "expected NAME=VALUE, found \"%.*s\"",
				       WORD_FMT(w->text));
	if (kind == ENV_PASS && equals < w->text.n)
		return statement_error(s, w, e,
			"`env pass` takes names; to give a value: env set %.*s",
			WORD_FMT(w->text));
	if (!words_is_variable(r.name))
		return statement_error(s, w, e,
			"expected the name of a variable, found \"%.*s\"",
			WORD_FMT(r.name));
	if (text_form_env(&r, &p->arena) < 0)
		return statement_full(s, e);
	kept = arena_push(&p->arena, &p->env, &p->env_n, &p->env_cap);
	if (!kept)
		return statement_full(s, e);
	*kept = r;
	return 0;
}

int word_env(const struct statement *s, struct policy *p, struct err *e)
{
	const struct word *how = statement_word(s, 1, "`pass` or `set`", e);
	enum env_kind kind;

	if (!how)
		return -1;
	if (sv_eq(how->text, SV("pass")))
		kind = ENV_PASS;
	else if (sv_eq(how->text, SV("set")))
		kind = ENV_SET;
	else
		return statement_error(s, how, e,
			"expected `pass` or `set`, found \"%.*s\"",
			WORD_FMT(how->text));
	if (!statement_word(s, 2, "the variable", e))
		return -1;
	for (size_t i = 2; i < s->words_n; i++)
		if (add_variable(s, &s->words[i], kind, p, e) < 0)
			return -1;
	return 0;
}

/* What every run of this version does: accepted, since it is true. */
static int parse_only(const struct statement *s, struct sv only,
		      struct err *e)
{
	const struct word *w = statement_word(s, 1, "the kind", e);

	if (!w || statement_end(s, 2, e) < 0)
		return -1;
	if (!sv_eq(w->text, only))
		return words_refuse(s, w, e);
	return 0;
}

/* Two statements that cannot both hold: of the second, the argument. */
static int refuse_another(const struct statement *s, const char *what,
			  const struct origin *first, struct err *e)
{
	const struct word *w = statement_word(s, 1, what, e);
	auto_buf struct buf b = buf_new(256);

	if (!w)
		return -1;
	origin_put(&b, first);
	return statement_error(s, w, e, "another %s is set already (%.*s)",
			       what, SV_FMT(buf_sv(&b)));
}

/* A statement that chooses one of two, and counts once. */
struct either {
	const char *name, *both;
	struct sv words[3];	/* by their value; [0]: nothing is said */
};

/* The value that the statement says, which is to be the one `said` before it at
 * *origin, if any was. */
static int read_either(const struct statement *s, const struct either *t,
		       unsigned said, struct origin *origin, struct err *e)
{
	const struct word *w = statement_word(s, 1, t->both, e);
	unsigned now = 1;

	if (!w || statement_end(s, 2, e) < 0)
		return -1;
	while (now < countof(t->words) && !sv_eq(w->text, t->words[now]))
		now++;
	if (now == countof(t->words))
		return statement_error(s, w, e, "expected %s, found \"%.*s\"",
				       t->both, WORD_FMT(w->text));
	if (said && said != now)
		return refuse_another(s, t->name, origin, e);
	if (!said)
		*origin = s->origin;
	return (int)now;
}

int word_workspace(const struct statement *s, struct policy *p, struct err *e)
{
	static const struct either t = {
		.name = "workspace", .both = "`direct` or `overlay`",
		.words = { [WORKSPACE_DIRECT] = SV("direct"),
			   [WORKSPACE_OVERLAY] = SV("overlay") },
	};
	int said = read_either(s, &t, p->workspace, &p->workspace_origin, e);

	if (said < 0)
		return -1;
	p->workspace = (enum workspace)said;
	return 0;
}

int word_terminal(const struct statement *s, struct policy *p, struct err *e)
{
	static const struct either t = {
		.name = "terminal", .both = "`exact` or `filter`",
		.words = { [SCREEN_EXACT] = SV("exact"),
			   [SCREEN_FILTER] = SV("filter") },
	};
	int said = read_either(s, &t, p->screen, &p->screen_origin, e);

	if (said < 0)
		return -1;
	p->screen = (enum screen)said;
	return 0;
}

static bool is_keep_name(struct sv v)
{
	return v.n && v.n <= KEEP_NAME_MAX && is_alpha(v.p[0]) &&
	       sv_is_name(v);
}

int word_keep(const struct statement *s, struct policy *p, struct err *e)
{
	const struct word *w = statement_word(s, 1, "the sandbox's name", e);
	auto_buf struct buf b = buf_new(256);

	if (!w || statement_end(s, 2, e) < 0)
		return -1;
	if (!is_keep_name(w->text))
		return statement_error(s, w, e,
			"expected a letter, then at most %d letters, digits, "
			"dots, dashes and underscores, found \"%.*s\"",
			KEEP_NAME_MAX - 1, WORD_FMT(w->text));
	if (p->keep.n && sv_eq(p->keep, w->text))
		return 0;
	if (p->keep.n)
		return refuse_another(s, "name", &p->keep_origin, e);
	buf_printf(&b, "keep %.*s", SV_FMT(w->text));
	p->keep_text = arena_dup(&p->arena, buf_sv(&b));
	if (b.full || !p->keep_text.p)
		return statement_full(s, e);
	p->keep = sv_from(p->keep_text, strlen("keep "));
	p->keep_origin = s->origin;
	return 0;
}

int word_isolation(const struct statement *s, struct policy *p, struct err *e)
{
	(void)p;
	return parse_only(s, SV("native"), e);
}

int word_debug(const struct statement *s, struct policy *p, struct err *e)
{
	const struct word *w = statement_word(s, 1, "`on`", e);

	if (!w || statement_end(s, 2, e) < 0)
		return -1;
	if (!sv_eq(w->text, SV("on")))
		return statement_error(s, w, e, "expected `on`, found \"%.*s\"",
				       WORD_FMT(w->text));
	if (!p->debug)
		p->debug_origin = s->origin;
	p->debug = true;
	return 0;
}
