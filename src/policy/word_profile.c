/* SPDX-License-Identifier: Apache-2.0 */
/* profile, takes and client: statements that stand for others. */
#include "own.h"
#include "profile_argument.h"
#include "words.h"

enum { PROFILES_MAX = 64, ARGUMENT_MAX = 2048 };

static bool is_profile_name(struct sv v)
{
	return v.n && v.n <= 64 && v.p[0] != '.' && v.p[0] != '-' &&
	       sv_is_name(v);
}

/* The argument takes its place in the profile's text. */
static int fill(const struct statement *s, struct policy_source *profile,
		struct arena *a, struct err *e)
{
	const struct word *w = s->words_n > 2 ? &s->words[2] : NULL;
	struct sv name = s->words[1].text, form;
	const char *fault;

	if (profile_argument_form(profile, a, &form, &profile->takes_at, e) < 0)
		return -1;
	if (!form.p && w)
		return statement_error(s, w, e,
				       "the profile %.*s takes no argument",
				       WORD_FMT(name));
	if (!form.p)
		return 0;
	if (!w)
		return statement_error(s, NULL, e,
			"the profile %.*s takes an argument: profile %.*s %.*s",
			WORD_FMT(name), WORD_FMT(name), WORD_FMT(form));
	fault = profile_argument_fault(form, w->text);
	if (fault)
		return statement_error(s, w, e, "\"%.*s\" is no %.*s: %s",
				       WORD_FMT(w->text), WORD_FMT(form), fault);
	profile->takes = true;
	profile->text = profile_argument_fill(profile->text, w->text, a);
	return profile->text.p ? 0 : statement_full(s, e);
}

/* Each profile once, so that profiles may name each other in a circle; and once
 * for each argument.  1: it was read before. */
static int note_profile(const struct statement *s, struct policy *p,
			struct sv called, struct err *e)
{
	struct sv *kept;

	for (size_t i = 0; i < p->profiles_n; i++)
		if (sv_eq(p->profiles[i], called))
			return 1;
	if (p->profiles_n == PROFILES_MAX)
		return statement_error(s, &s->words[1], e,
				       "too many profiles");
	kept = arena_push(&p->arena, &p->profiles, &p->profiles_n,
			  &p->profiles_cap);
	if (kept)
		*kept = arena_dup(&p->arena, called);
	return kept && kept->p ? 0 : statement_full(s, e);
}

int word_profile(const struct statement *s, struct policy *p, struct err *e)
{
	const struct word *w = statement_word(s, 1, "the profile's name", e);
	const struct policy_source *from = s->source;
	auto_buf struct buf name = buf_new(ARGUMENT_MAX);
	struct policy_source profile = *from;
	int noted;

	if (!w || statement_end(s, 3, e) < 0)
		return -1;
	if (!is_profile_name(w->text))
		return statement_error(s, w, e,
			"expected a profile's name, found \"%.*s\"",
			WORD_FMT(w->text));
	buf_printf(&name, "profile %.*s", SV_FMT(w->text));
	if (s->words_n > 2)
		buf_printf(&name, " %.*s", SV_FMT(s->words[2].text));
	if (name.full)
		return statement_error(s, &s->words[2], e,
				       "the argument is too long");
	profile.name = buf_sv(&name);
	profile.takes = false;
	noted = note_profile(s, p, profile.name, e);
	if (noted)
		return noted < 0 ? -1 : 0;
	if (!from->load)
		return statement_error(s, w, e, "there are no profiles here");
	if (from->load(from->load_ctx, w->text, &profile.text, e) < 0) {
		struct err why = *e;

		return statement_error(s, w, e, "%.150s", why.msg);
	}
	if (fill(s, &profile, &p->arena, e) < 0)
		return -1;
	return policy_parse(p, &profile, e);
}

/* What it says was taken by fill() above; here it is only in its place. */
int word_takes(const struct statement *s, struct policy *p, struct err *e)
{
	(void)p;
	if (!s->source->takes ||
	    s->words[0].raw.p != s->source->text.p + s->source->takes_at)
		return statement_error(s, &s->words[0], e,
			"`takes` is a profile's first statement, and only there");
	return 0;
}

/* Its configuration, asked for now, as rules. */
int word_client(const struct statement *s, struct policy *p, struct err *e)
{
	static const struct sv clients[] = { SV("npm"), SV("apt") };
	const struct word *w = statement_word(s, 1, "the client", e);
	struct policy_source said = *s->source;
	size_t i = 0;

	if (!w || statement_end(s, 2, e) < 0)
		return -1;
	while (i < countof(clients) && !sv_eq(clients[i], w->text))
		i++;
	if (i == countof(clients))
		return statement_error(s, w, e, "expected npm or apt, found "
				       "\"%.*s\"", WORD_FMT(w->text));
	if (!said.ask)
		return statement_error(s, w, e, "no client can be asked here");
	if (said.ask(said.load_ctx, w->text, &said.text, e) < 0) {
		struct err why = *e;

		return statement_error(s, w, e, "%.170s", why.msg);
	}
	said.takes = false;
	return policy_expand(p, &said, &s->origin, e);
}
