/* SPDX-License-Identifier: Apache-2.0 */
/*
 * via proxy [http://HOST:PORT] [by name] [login USER from SOURCE]
 *
 * Without a URL it is the proxy that stockade's own environment names when the
 * run begins: the one place where a password may stand in the URL itself, since
 * a policy is a file that others read.
 */
#include "filepath.h"
#include "own.h"
#include "proxy_url.h"
#include "text_form.h"
#include "words.h"

enum { USER_MAX = 128 };

/* The word at `at` is that one. */
static bool is_at(const struct statement *s, size_t at, struct sv word)
{
	return at < s->words_n && sv_eq(s->words[at].text, word);
}

static int expect(const struct statement *s, size_t at, struct sv word,
		  const char *what, struct err *e)
{
	const struct word *w = statement_word(s, at, what, e);

	if (!w)
		return -1;
	if (!sv_eq(w->text, word))
		return statement_error(s, w, e, "expected %s, found \"%.*s\"",
				       what, WORD_FMT(w->text));
	return 0;
}

static int parse_url(const struct statement *s, const struct word *w,
		     struct arena *a, struct proxy_rule *r, struct err *e)
{
	struct proxy_url url = { 0 };
	const char *fault = NULL;

	if (sv_find_sv(w->text, SV("://")) == w->text.n)
		fault = "expected http://HOST:PORT, `by name` or `login`";
	else
		fault = proxy_url_parse(w->text, a, &url);
	if (!fault && url.has_login)
		fault = "a password does not belong in a policy: write "
			"`login USER from SOURCE`";
	if (fault)
		return statement_error(s, w, e, "%s", fault);
	r->host = url.host;
	r->port = url.port;
	return 0;
}

static int parse_source(const struct statement *s, size_t at, struct policy *p,
			struct proxy_rule *r, struct err *e)
{
	const struct word *from = statement_word(s, at,
				"the source (env, file or command)", e);
	const struct word *arg;
	struct filepath f;
	const char *fault = NULL;

	arg = from ? statement_word(s, at + 1, "what to take it from", e) : NULL;
	if (!arg || statement_end(s, at + 2, e) < 0)
		return -1;
	r->source_arg = arg->text;
	if (sv_eq(from->text, SV("env"))) {
		r->source = SECRET_ENV;
		if (!words_is_variable(arg->text))
			fault = "expected the name of a variable";
	} else if (sv_eq(from->text, SV("file"))) {
		r->source = SECRET_FILE;
		fault = filepath_clean(arg->text, s->source->base,
				       s->source->home, &p->arena, &f);
		if (!fault && f.is_glob)
			fault = "name one file, without wildcards";
		r->source_arg = f.path;
	} else if (sv_eq(from->text, SV("command"))) {
		r->source = SECRET_COMMAND;
		if (arg->text.n == 0)
			fault = "the command is empty";
	} else {
		return statement_error(s, from, e, "expected env VARIABLE, file "
				       "PATH or command \"CMD\", found \"%.*s\"",
				       WORD_FMT(from->text));
	}
	return fault ? statement_error(s, arg, e, "%s", fault) : 0;
}

/* login USER from SOURCE */
static int parse_login(const struct statement *s, size_t at, struct policy *p,
		       struct proxy_rule *r, struct err *e)
{
	const struct word *user = statement_word(s, at + 1, "the user", e);

	if (!user)
		return -1;
	if (user->text.n == 0 || user->text.n > USER_MAX ||
	    !text_form_is_ascii(user->text) ||
	    sv_find(user->text, ':') < user->text.n)
		return statement_error(s, user, e, "expected a user of at most "
				       "%d visible ASCII characters, without "
				       "a colon", USER_MAX);
	if (r->host.n == 0)
		return statement_error(s, user, e, "the environment's proxy has "
				       "its login there: name the proxy, too");
	r->user = user->text;
	if (expect(s, at + 2, SV("from"), "`from`", e) < 0)
		return -1;
	return parse_source(s, at + 3, p, r, e);
}

static void put_source(struct buf *b, const struct proxy_rule *r,
		       struct arena *a)
{
	const struct filepath f = { .path = r->source_arg };

	switch (r->source) {
	case SECRET_ENV:
		buf_printf(b, "env %.*s", SV_FMT(r->source_arg));
		break;
	case SECRET_FILE:
		buf_puts(b, "file ");
		text_form_word(b, filepath_written(&f, a));
		break;
	case SECRET_COMMAND:
		buf_puts(b, "command ");
		text_form_word(b, r->source_arg);
		break;
	case SECRET_STORE:	/* parse_source() has refused it */
		break;
	}
}

static int set_text(struct proxy_rule *r, struct arena *a)
{
	auto_buf struct buf b = buf_new(POLICY_TEXT_MAX);
	bool six = sv_find(r->host, ':') < r->host.n;

	buf_puts(&b, "via proxy");
	if (r->host.n)
		buf_printf(&b, six ? " http://[%.*s]:%u" : " http://%.*s:%u",
			   SV_FMT(r->host), r->port);
	if (r->by_name)
		buf_puts(&b, " by name");
	if (r->user.n) {
		buf_puts(&b, " login ");
		text_form_word(&b, r->user);
		buf_puts(&b, " from ");
		put_source(&b, r, a);
	}
	r->text = arena_dup(a, buf_sv(&b));
	return b.full || !r->text.p ? -1 : 0;
}

int word_via(const struct statement *s, struct policy *p, struct err *e)
{
	struct proxy_rule r = { .origin = s->origin };
	size_t at = 2;

	if (expect(s, 1, SV("proxy"), "`proxy`", e) < 0)
		return -1;
	if (at < s->words_n && !is_at(s, at, SV("by")) &&
	    !is_at(s, at, SV("login")) &&
	    parse_url(s, &s->words[at++], &p->arena, &r, e) < 0)
		return -1;
	if (is_at(s, at, SV("by"))) {
		if (expect(s, at + 1, SV("name"), "`name`", e) < 0)
			return -1;
		r.by_name = true;
		at += 2;
	}
	if (is_at(s, at, SV("login"))) {
		if (parse_login(s, at, p, &r, e) < 0)
			return -1;
	} else if (statement_end(s, at, e) < 0) {
		return -1;
	}
	if (set_text(&r, &p->arena) < 0)
		return statement_full(s, e);
	if (p->proxy.text.n && !sv_eq(p->proxy.text, r.text)) {
		auto_buf struct buf b = buf_new(256);

		origin_put(&b, &p->proxy.origin);
		return statement_error(s, &s->words[1], e, "another proxy is "
				       "set already (%.*s)", SV_FMT(buf_sv(&b)));
	}
	if (p->proxy.text.n == 0)
		p->proxy = r;
	return 0;
}

/* The environment's proxy is for stockade: its URL may hold a password, and
 * inside there is no way to it. */
int via_check(const struct policy *p, struct err *e)
{
	static const struct sv names[] = {
		SV("http_proxy"), SV("https_proxy"), SV("all_proxy"),
	};

	if (p->proxy.text.n == 0 || p->proxy.host.n)
		return 0;
	for (size_t i = 0; i < p->env_n; i++) {
		const struct env_rule *r = &p->env[i];
		auto_buf struct buf where = buf_new(128);

		for (size_t k = 0; k < countof(names); k++) {
			if (r->kind != ENV_PASS ||
			    !sv_eq_nocase(r->name, names[k]))
				continue;
			origin_put(&where, &r->origin);
			return err_kind(e, ERR_POLICY, "%.*s: `via proxy` takes "
				"this variable, which may hold a password\n"
				"  %.*s\n  ^", SV_FMT(buf_sv(&where)),
				WORD_FMT(r->text));
		}
	}
	return 0;
}
