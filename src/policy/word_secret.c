/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret NAME from SOURCE for HOST[,HOST...] as FORM [add] [like SHAPE]
 *	[in FILE key KEY [base64]] [renew TIME] [times N] [until TIME]
 *
 * The clauses come in this order only, so that every such line reads the same.
 */
#include "amount.h"
#include "filepath.h"
#include "keyfile_format.h"
#include "keyfile_text.h"
#include "moment.h"
#include "own.h"
#include "secret_text.h"
#include "text_form.h"
#include "urlpattern.h"
#include "words.h"

enum { SCOPES_MAX = 32, VALUE_MAX = 256, LIKE_MAX = 32 };

/* The rest of the statement, word by word. */
struct clause {
	const struct statement *s;
	struct policy *p;
	size_t at;		/* the next word */
};

static const struct word *next(struct clause *c, const char *what,
			       struct err *e)
{
	const struct word *w = statement_word(c->s, c->at, what, e);

	if (w)
		c->at++;
	return w;
}

static const struct word *keyword(struct clause *c, const char *which,
				  struct err *e)
{
	const struct word *w = NULL;

	if (c->at == c->s->words_n)
		(void)statement_error(c->s, NULL, e, "`%s` is missing", which);
	else
		w = &c->s->words[c->at++];
	if (w && !sv_eq(w->text, sv_str(which))) {
		(void)statement_error(c->s, w, e,
				      "expected `%s`, found \"%.*s\"", which,
				      WORD_FMT(w->text));
		return NULL;
	}
	return w;
}

/* The next word is the given one, which is then taken. */
static bool accept(struct clause *c, struct sv word)
{
	if (c->at >= c->s->words_n || !sv_eq(c->s->words[c->at].text, word))
		return false;
	c->at++;
	return true;
}

static int take_path(struct clause *c, struct sv *ret, struct err *e)
{
	const struct word *w = next(c, "the file", e);
	struct filepath f;
	const char *fault;

	if (!w)
		return -1;
	fault = filepath_clean(w->text, c->s->source->base,
			       c->s->source->home, &c->p->arena, &f);
	if (!fault && f.is_glob)
		fault = "name one file, without wildcards";
	if (fault)
		return statement_error(c->s, w, e, "%s", fault);
	*ret = f.path;
	return 0;
}

static int parse_file(struct clause *c, struct secret_rule *r, struct err *e)
{
	const struct word *w;
	const char *fault;

	if (take_path(c, &r->source_arg, e) < 0)
		return -1;
	if (!accept(c, SV("key")))
		return 0;
	w = next(c, "the key", e);
	if (!w)
		return -1;
	r->entry = w->text;
	fault = keyfile_format_fault(keyfile_format_of(r->source_arg), w->text);
	return fault ? statement_error(c->s, w, e, "%s", fault) : 0;
}

/* The entry has the secret's own name, unless a key says another. */
static int parse_store(struct clause *c, struct secret_rule *r, struct err *e)
{
	const struct word *w = &c->s->words[c->at - 1];

	r->source_arg = r->name;
	if (accept(c, SV("key"))) {
		w = next(c, "the key", e);
		if (!w)
			return -1;
		r->source_arg = w->text;
	}
	return store_name_is(r->source_arg) ? 0 : statement_error(c->s, w, e,
		"the name of an entry is of " STORE_NAME_WORDS
		", %d at most, found \"%.*s\"", STORE_NAME_MAX,
		WORD_FMT(r->source_arg));
}

static int parse_source(struct clause *c, struct secret_rule *r,
			struct err *e)
{
	const struct word *w = next(c, "the source (env, file, command or "
				    "store)", e);

	if (!w)
		return -1;
	if (sv_eq(w->text, SV("env"))) {
		r->source = SECRET_ENV;
		r->source_arg = r->name;
		return 0;
	}
	if (sv_eq(w->text, SV("file"))) {
		r->source = SECRET_FILE;
		return parse_file(c, r, e);
	}
	if (sv_eq(w->text, SV("command"))) {
		r->source = SECRET_COMMAND;
		w = next(c, "the command", e);
		if (!w)
			return -1;
		if (w->text.n == 0)
			return statement_error(c->s, w, e,
					       "the command is empty");
		r->source_arg = w->text;
		return 0;
	}
	if (sv_eq(w->text, SV("store"))) {
		r->source = SECRET_STORE;
		return parse_store(c, r, e);
	}
	return statement_error(c->s, w, e,
		"expected env, file PATH, command \"CMD\" or store, found \"%.*s\"",
		WORD_FMT(w->text));
}

static int add_scope(struct clause *c, const struct word *w, struct sv text,
		     struct secret_rule *r, struct err *e)
{
	struct secret_scope scope;
	struct target t;
	size_t i = 0;

	if (word_target(c->s, w, text, &c->p->arena, &t, e) < 0)
		return -1;
	if (t.host.p[0] == '*')
		return statement_error(c->s, w, e,
			"a secret is for hosts that are named one by one, never for a wildcard");
	if (t.has_query)
		return statement_error(c->s, w, e,
				       "a secret is for a host and a path, not for a query");
	if (r->scopes_n == SCOPES_MAX)
		return statement_error(c->s, w, e, "too many hosts");
	scope = (struct secret_scope){
		.host = t.host, .port = t.port, .path = t.path,
		.path_other = t.path_other,
	};
	/* Sorted, so that the order of writing makes no difference. */
	while (i < r->scopes_n &&
	       text_form_scope_order(&r->scopes[i], &scope) < 0)
		i++;
	if (i < r->scopes_n &&
	    text_form_scope_order(&r->scopes[i], &scope) == 0)
		return 0;
	memmove(&r->scopes[i + 1], &r->scopes[i],
		(r->scopes_n - i) * sizeof *r->scopes);
	r->scopes[i] = scope;
	r->scopes_n++;
	return 0;
}

static int parse_scopes(struct clause *c, struct secret_rule *r,
			struct err *e)
{
	const struct word *w = keyword(c, "for", e) ? next(c, "the host", e) :
						      NULL;
	struct sv rest;

	if (!w)
		return -1;
	r->scopes = arena_alloc(&c->p->arena,
				(SCOPES_MAX + 1) * sizeof *r->scopes);
	if (!r->scopes)
		return statement_full(c->s, e);
	for (rest = w->text;;) {
		struct sv one = sv_head(rest, sv_find(rest, ','));

		if (add_scope(c, w, one, r, e) < 0)
			return -1;
		if (one.n == rest.n)
			return 0;
		rest = sv_from(rest, one.n + 1);
	}
}

/* A field that says where a message ends or goes, never a credential. */
static bool is_framing(struct sv name)
{
	static const struct sv framing[] = {
		SV("connection"), SV("content-length"), SV("expect"),
		SV("host"), SV("keep-alive"), SV("te"), SV("trailer"),
		SV("transfer-encoding"), SV("upgrade"), SV("content-type"),
		SV("proxy-connection"), SV("proxy-authorization"),
		SV("date"), SV("cookie"),
	};

	for (size_t i = 0; i < countof(framing); i++)
		if (sv_eq(name, framing[i]))
			return true;
	return false;
}

static int parse_header(struct clause *c, struct secret_rule *r,
			struct err *e)
{
	const struct word *w = next(c, "the header's name", e);
	char *lower;

	if (!w)
		return -1;
	lower = arena_alloc(&c->p->arena, w->text.n + 1);
	if (!lower)
		return statement_full(c->s, e);
	if (w->text.n == 0 || w->text.n > 64)
		return statement_error(c->s, w, e, "expected a header's name");
	for (size_t i = 0; i < w->text.n; i++) {
		char ch = w->text.p[i];

		if (!is_alpha(ch) && !is_digit(ch) && ch != '-' && ch != '_')
			return statement_error(c->s, w, e,
				"expected a header's name, found \"%.*s\"",
				WORD_FMT(w->text));
		lower[i] = ascii_lower(ch);
	}
	r->header = sv_of(lower, w->text.n);
	if (is_framing(r->header))
		return statement_error(c->s, w, e,
			"the field %.*s cannot carry a secret",
			WORD_FMT(r->header));
	if (!accept(c, SV("prefix")))
		return 0;
	w = next(c, "the prefix", e);
	if (!w)
		return -1;
	r->prefix = w->text;
	if (w->text.n > VALUE_MAX || !text_form_is_ascii(w->text) ||
	    (w->text.n && w->text.p[0] == ' '))
		return statement_error(c->s, w, e,
			"a prefix is plain ASCII and starts with no blank");
	return 0;
}

static int put_cookie(struct clause *c, struct secret_rule *r, struct err *e)
{
	char *front = arena_alloc(&c->p->arena, r->key.n + 1);

	if (!front)
		return statement_full(c->s, e);
	memcpy(front, r->key.p, r->key.n);
	front[r->key.n] = '=';
	r->prefix = sv_of(front, r->key.n + 1);
	return 0;
}

/* The name of a query's pair or of a cookie, of bytes that have one spelling. */
static int parse_key(struct clause *c, enum secret_form form,
		     struct secret_rule *r, struct err *e)
{
	const struct word *w = next(c, form == SECRET_QUERY ? "the query's key" :
						  "the cookie's name", e);

	if (!w)
		return -1;
	r->form = form;
	r->key = w->text;
	for (size_t i = 0; i < w->text.n; i++) {
		char ch = w->text.p[i];

		if (!is_alpha(ch) && !is_digit(ch) && ch != '-' && ch != '_' &&
		    ch != '.')
			r->key.n = 0;
	}
	if (r->key.n == 0 || r->key.n > 64)
		return statement_error(c->s, w, e,
			"expected letters, digits, `-`, `_` and `.`, found \"%.*s\"",
			WORD_FMT(w->text));
	return form == SECRET_COOKIE ? put_cookie(c, r, e) : 0;
}

static int parse_form(struct clause *c, struct secret_rule *r, struct err *e)
{
	const struct word *w = keyword(c, "as", e) ?
		next(c, "the form (bearer, basic USER, header NAME, query KEY or "
		     "cookie NAME)", e) : NULL;

	if (!w)
		return -1;
	if (sv_eq(w->text, SV("bearer"))) {
		r->form = SECRET_BEARER;
		return 0;
	}
	if (sv_eq(w->text, SV("header"))) {
		r->form = SECRET_HEADER;
		return parse_header(c, r, e);
	}
	if (sv_eq(w->text, SV("query")))
		return parse_key(c, SECRET_QUERY, r, e);
	if (sv_eq(w->text, SV("cookie")))
		return parse_key(c, SECRET_COOKIE, r, e);
	if (!sv_eq(w->text, SV("basic")))
		return statement_error(c->s, w, e,
			"expected bearer, basic USER, header NAME, query KEY or "
			"cookie NAME, found \"%.*s\"", WORD_FMT(w->text));
	r->form = SECRET_BASIC;
	w = next(c, "the user's name", e);
	if (!w)
		return -1;
	r->user = w->text;
	if (w->text.n == 0 || w->text.n > VALUE_MAX ||
	    sv_find(w->text, ':') < w->text.n)
		return statement_error(c->s, w, e,
			"a user's name is not empty and has no colon");
	return 0;
}

/* `jwt`, or the characters that tokens begin with.  By the mark placeholders are
 * found, so there is one. */
static int parse_like(struct clause *c, struct secret_rule *r, struct err *e)
{
	const struct word *w = next(c, "what the placeholder looks like (jwt, or "
				    "how it begins)", e);

	if (!w)
		return -1;
	r->like = w->text;
	if (w->text.n == 0 || w->text.n > LIKE_MAX ||
	    !sv_is_name(w->text) ||
	    sv_find_sv(w->text, SV("STOCKADE")) < w->text.n)
		return statement_error(c->s, w, e,
			"expected `jwt`, or at most %d letters, digits, `-`, `_` "
			"and `.` without STOCKADE, found \"%.*s\"", LIKE_MAX,
			WORD_FMT(w->text));
	return 0;
}

/* A file that clients of theirs look for, with the placeholder in it. */
static int parse_place(struct clause *c, struct secret_rule *r, struct err *e)
{
	struct keyfile_entry entry = { .user = r->user };
	const struct word *w;
	const char *fault;

	if (take_path(c, &r->place, e) < 0 || !keyword(c, "key", e))
		return -1;
	w = next(c, "the key", e);
	if (!w)
		return -1;
	r->place_key = entry.key = w->text;
	r->place_base64 = entry.base64 = accept(c, SV("base64"));
	fault = keyfile_text_fault(keyfile_format_of(r->place), &entry);
	return fault ? statement_error(c->s, w, e, "%s", fault) : 0;
}

static int parse_renew(struct clause *c, struct secret_rule *r, struct err *e)
{
	const struct word *w = next(c, "the time", e);

	if (!w)
		return -1;
	if (r->source != SECRET_COMMAND)
		return statement_error(c->s, w, e,
			"only what comes from a command can be renewed");
	if (!amount_parse(w->text, UNIT_TIME, &r->renew_ms) ||
	    r->renew_ms < 1000 || r->renew_ms > 366 * DAY_MS)
		return statement_error(c->s, w, e,
			"expected a duration from 1s to 366d as 50m, found "
			"\"%.*s\"", WORD_FMT(w->text));
	return 0;
}

static int parse_times(struct clause *c, struct secret_rule *r, struct err *e)
{
	const struct word *w = next(c, "the number of requests", e);

	if (!w)
		return -1;
	if (!amount_parse(w->text, UNIT_COUNT, &r->times) || r->times < 1 ||
	    r->times > SECRET_TIMES_MOST)
		return statement_error(c->s, w, e,
			"expected a number of requests from 1 to 1000000000, "
			"found \"%.*s\"", WORD_FMT(w->text));
	return 0;
}

/* No text is both: a moment has `-` behind the year, a duration a letter. */
static int parse_until(struct clause *c, struct secret_rule *r, struct err *e)
{
	const struct word *w = next(c, "the time", e);

	if (!w)
		return -1;
	if (moment_parse(w->text, &r->end)) {
		r->until = UNTIL_MOMENT;
		return 0;
	}
	r->until = UNTIL_AFTER;
	if (!amount_parse(w->text, UNIT_TIME, &r->end) || r->end < 1 ||
	    r->end > 366 * DAY_MS)
		return statement_error(c->s, w, e,
			"expected a duration as 30m, or a date and time with "
			"its zone as 2026-12-31T18:00:00Z or "
			"2026-12-31T18:00:00+01:00, found \"%.*s\"",
			WORD_FMT(w->text));
	return 0;
}

static int parse_bounds(struct clause *c, struct secret_rule *r,
			struct err *e)
{
	if (accept(c, SV("renew")) && parse_renew(c, r, e) < 0)
		return -1;
	if (accept(c, SV("times")) && parse_times(c, r, e) < 0)
		return -1;
	return accept(c, SV("until")) ? parse_until(c, r, e) : 0;
}

int word_secret(const struct statement *s, struct policy *p, struct err *e)
{
	struct clause c = { .s = s, .p = p, .at = 1 };
	struct secret_rule r = { .optional = s->optional, .origin = s->origin };
	const struct word *name = next(&c, "the name", e);
	struct secret_rule *kept;

	if (!name)
		return -1;
	if (!words_is_variable(name->text))
		return statement_error(s, name, e,
			"expected the name of a variable, found \"%.*s\"",
			WORD_FMT(name->text));
	r.name = name->text;
	if (!keyword(&c, "from", e) || parse_source(&c, &r, e) < 0 ||
	    parse_scopes(&c, &r, e) < 0 || parse_form(&c, &r, e) < 0)
		return -1;
	r.add = accept(&c, SV("add"));
	if (accept(&c, SV("like")) && parse_like(&c, &r, e) < 0)
		return -1;
	if (accept(&c, SV("in")) && parse_place(&c, &r, e) < 0)
		return -1;
	if (parse_bounds(&c, &r, e) < 0 || statement_end(s, c.at, e) < 0)
		return -1;
	if (text_form_secret(&r, &p->arena) < 0)
		return statement_full(s, e);
	kept = arena_push(&p->arena, &p->secrets, &p->secrets_n,
			  &p->secrets_cap);
	if (!kept)
		return statement_full(s, e);
	*kept = r;
	return 0;
}
