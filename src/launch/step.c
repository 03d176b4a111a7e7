/* SPDX-License-Identifier: Apache-2.0 */
/* Steps in words, for errors and for `stockade run --explain`. */
#include "step.h"

#include "json.h"
#include "launch.h"

#define STEP_WORD(NAME, word) [STEP_##NAME] = word,
static const char *const words[STEP_KINDS] = { PLAN_STEPS(STEP_WORD) };
#undef STEP_WORD

/* The word that --explain prints. */
static const char *word_of(enum step_kind kind)
{
	return kind < STEP_KINDS && words[kind] ? words[kind] : "?";
}

static bool is_policys(const struct step *s)
{
	return !(s->flags & STEP_SYSTEM) && s->why.n;
}

void step_context(const struct step *s, struct err *e)
{
	if (s->target.n && is_policys(s))
		(void)err_ctx(e, "%s %.*s (%.*s)", word_of(s->kind),
			      SV_FMT(s->target), SV_FMT(s->why));
	else if (s->target.n)
		(void)err_ctx(e, "%s %.*s", word_of(s->kind),
			      SV_FMT(s->target));
	else
		(void)err_ctx(e, "%s", word_of(s->kind));
}

/* What a file has in it is not part of its line. */
static struct sv shown_source(const struct step *s)
{
	if (s->kind == STEP_FILE || s->kind == STEP_COPY ||
	    s->kind == STEP_SYSCALLS || s->kind == STEP_KEY_FILE ||
	    sv_eq(s->source, s->target))
		return SV("");
	return s->source;
}

static void print_line(const struct step *s, size_t index, struct buf *b)
{
	struct sv source = shown_source(s);

	buf_printf(b, "%3zu  %-12s", index, word_of(s->kind));
	if (s->kind == STEP_BIND)
		buf_puts(b, s->flags & STEP_WRITE ? "write " : "read  ");
	buf_put_visible(b, s->target);
	if (source.n) {
		buf_puts(b, s->kind == STEP_LINK ? " -> " : " = ");
		buf_put_visible(b, source);
	}
	if ((s->kind == STEP_BIND || s->kind == STEP_OVERLAY) &&
	    (s->flags & STEP_TREE))
		buf_puts(b, " (owner mapped)");
	if (s->why.n && (is_policys(s) || s->target.n == 0)) {
		buf_puts(b, "  # ");
		buf_put_visible(b, s->why);
	}
	buf_putc(b, '\n');
}

static void print_object(const struct step *s, struct json *j)
{
	struct sv source = shown_source(s);

	json_open(j, '{');
	json_put_str(j, "step", word_of(s->kind));
	if (s->target.n)
		json_put_sv(j, "target", s->target);
	if (source.n)
		json_put_sv(j, "source", source);
	if (s->kind == STEP_BIND)
		json_put_bool(j, "write", s->flags & STEP_WRITE);
	if ((s->kind == STEP_BIND || s->kind == STEP_OVERLAY) &&
	    (s->flags & STEP_TREE))
		json_put_bool(j, "owner_mapped", true);
	if (s->why.n)
		json_put_sv(j, "why", s->why);
	json_close(j, '}');
}

/* Names only: a value may be what a person would not show. */
static struct sv variable_name(const char *variable)
{
	struct sv v = sv_str(variable);

	return sv_head(v, sv_find(v, '='));
}

static void print_json(const struct plan *plan, struct buf *b)
{
	struct json j = json_pretty(b);

	json_open(&j, '{');
	json_key(&j, "steps");
	json_open(&j, '[');
	for (size_t i = 0; i < plan->steps_n; i++)
		print_object(&plan->steps[i], &j);
	json_close(&j, ']');
	json_put_str(&j, "path", plan->path);
	json_put_u64(&j, "uid", plan->uid);
	json_put_u64(&j, "host_uid", plan->host_uid);
	json_key(&j, "environment");
	json_open(&j, '[');
	for (char *const *at = plan->envp; at && *at; at++)
		json_sv(&j, variable_name(*at));
	json_close(&j, ']');
	json_close(&j, '}');
	buf_putc(b, '\n');
}

void plan_print(const struct plan *plan, struct buf *b, bool json)
{
	if (json) {
		print_json(plan, b);
		return;
	}
	for (size_t i = 0; i < plan->steps_n; i++)
		print_line(&plan->steps[i], i + 1, b);
	buf_puts(b, "     environment ");
	for (char *const *at = plan->envp; at && *at; at++) {
		buf_put_visible(b, variable_name(*at));
		buf_putc(b, at[1] ? ' ' : '\n');
	}
}
