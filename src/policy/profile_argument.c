/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of a profile: see profile_argument.h. */
#include "profile_argument.h"

#include "json_source.h"
#include "lexer.h"

enum { PARTS_MAX = 20, PART_MAX = 100 };

static bool is_form(struct sv form)
{
	size_t parts = 0;

	for (struct sv rest = form; rest.n; parts++) {
		struct sv part = sv_cut(&rest, '/');

		if (parts && sv_eq(part, SV("...")))
			continue;
		for (size_t i = 0; i < part.n; i++)
			if (part.p[i] < 'A' || part.p[i] > 'Z')
				return false;
		if (part.n == 0)
			return false;
	}
	return parts > 0 && parts <= PARTS_MAX && !sv_ends(form, SV("/"));
}

int profile_argument_form(const struct policy_source *profile,
			  struct arena *a, struct sv *ret_form,
			  size_t *ret_at, struct err *e)
{
	const struct word *form;
	struct statement s;
	struct lexer l;
	int got;

	*ret_form = (struct sv){ 0 };
	if (json_source_is(profile->text))
		return 0;
	if (lexer_open(&l, profile, profile->text, a, e) < 0)
		return -1;
	got = lexer_next(&l, &s, e);
	if (got <= 0 || !sv_eq(s.words[0].text, SV("takes")))
		return got < 0 ? -1 : 0;
	form = statement_word(&s, 1, "the form", e);
	if (!form || statement_end(&s, 2, e) < 0)
		return -1;
	if (!is_form(form->text))
		return statement_error(&s, form, e,
			"expected names in upper case with slashes between "
			"them, as OWNER/REPO");
	*ret_form = form->text;
	*ret_at = (size_t)(s.words[0].raw.p - profile->text.p);
	return 0;
}

static const char *part_fault(struct sv part)
{
	if (part.n == 0)
		return "it has an empty part";
	if (part.n > PART_MAX)
		return "a part of it is too long";
	if (sv_eq(part, SV(".")) || sv_eq(part, SV("..")) || part.p[0] == '-')
		return "no part is a dot segment or starts with a dash";
	return sv_is_name(part) ? NULL : "a part is letters, digits, dots, "
					 "dashes and underscores";
}

const char *profile_argument_fault(struct sv form, struct sv argument)
{
	size_t wanted = 0, parts = 0;
	bool any = false;

	for (struct sv rest = form; rest.n;) {
		if (sv_eq(sv_cut(&rest, '/'), SV("...")))
			any = true;
		else
			wanted++;
	}
	if (argument.n == 0 || sv_ends(argument, SV("/")))
		return "it has an empty part";
	for (struct sv rest = argument; rest.n; parts++) {
		struct sv part = sv_cut(&rest, '/');
		const char *fault = part_fault(part);

		if (fault)
			return fault;
		/* The profile's rules add it where it may stand. */
		if (rest.n == 0 && part.n > 4 &&
		    sv_eq_nocase(sv_from(part, part.n - 4), SV(".git")))
			return "leave out the .git";
	}
	if (parts > PARTS_MAX || parts < wanted || (parts > wanted && !any))
		return "it has another number of parts";
	return NULL;
}

static void put_encoded(struct buf *b, struct sv argument)
{
	for (size_t i = 0; i < argument.n; i++) {
		if (argument.p[i] == '/')
			buf_puts(b, "%2F");
		else
			buf_putc(b, argument.p[i]);
	}
}

struct sv profile_argument_fill(struct sv text, struct sv argument,
				struct arena *a)
{
	auto_buf struct buf b = buf_new(POLICY_TEXT_MAX);

	while (text.n) {
		size_t at = sv_find(text, '{');

		buf_put(&b, sv_head(text, at));
		text = sv_from(text, at);
		if (sv_starts(text, SV("{}"))) {
			buf_put(&b, argument);
			text = sv_from(text, 2);
		} else if (sv_starts(text, SV("{%2F}"))) {
			put_encoded(&b, argument);
			text = sv_from(text, 5);
		} else {
			buf_put(&b, sv_head(text, 1));
			text = sv_from(text, 1);
		}
	}
	return b.full ? (struct sv){ 0 } : arena_dup(a, buf_sv(&b));
}
