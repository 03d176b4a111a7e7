/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netrc, as curl, git and Python read it: words and their values, between
 * blanks and line ends.  The key is a machine's name, the value its password.
 *
 * A value in double quotes has escapes, on which curl and Python agree but for
 * \n, \r and \t, which no password here can have.  A backslash without quotes
 * is one thing to curl and another to Python.
 */
#include "keyfile.h"

struct netrc {
	struct sv text;
	size_t at;
	struct err *e;
};

/* A word or a value. */
struct token {
	struct sv v;		/* without its quotes, with its escapes */
	bool quoted;
	bool leads;		/* the first one of its line */
};

static int fault(const struct netrc *f, const char *p, const char *what)
{
	return keyfile_fault(f->e, f->text, p, what);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int read_quoted(struct netrc *f, struct token *t)
{
	size_t from = ++f->at;

	for (;; f->at++) {
		char c = f->at < f->text.n ? f->text.p[f->at] : '\n';

		if (c == '\\' && f->at + 1 < f->text.n)
			c = f->text.p[++f->at];
		else if (c == '"')
			break;
		if (c == '\n')
			return fault(f, f->text.p + from,
				     "a quote that is not closed");
	}
	t->quoted = true;
	t->v = sv_of(f->text.p + from, f->at - from);
	f->at++;
	if (f->at < f->text.n && !is_blank(f->text.p[f->at]))
		return fault(f, t->v.p, "no blank behind a closing quote");
	return 1;
}

/* The next one: 1, or 0 at the end. */
static int next(struct netrc *f, struct token *t)
{
	size_t from;

	*t = (struct token){ .leads = f->at == 0 };
	for (; f->at < f->text.n && is_blank(f->text.p[f->at]); f->at++)
		t->leads |= f->text.p[f->at] == '\n';
	if (f->at == f->text.n)
		return 0;
	if (f->text.p[f->at] == '"')
		return read_quoted(f, t);
	from = f->at;
	while (f->at < f->text.n && !is_blank(f->text.p[f->at]))
		f->at++;
	t->v = sv_of(f->text.p + from, f->at - from);
	return 1;
}

static int next_value(struct netrc *f, struct token *t)
{
	const char *word = f->text.p + f->at;
	int got = next(f, t);

	if (got < 0)
		return -1;
	/* At the start of a line curl would take it for a comment. */
	if (got == 0 ||
	    (!t->quoted && t->leads && t->v.p[0] == '#'))
		return fault(f, got ? t->v.p : word, "a word without its value");
	return 0;
}

static void skip_line(struct netrc *f, const char *from)
{
	size_t at = (size_t)(from - f->text.p);

	f->at = at + sv_find(sv_from(f->text, at), '\n');
}

/* Behind macdef: to the next line that is empty. */
static void skip_macro(struct netrc *f)
{
	struct sv rest = sv_from(f->text, f->at);

	(void)sv_cut(&rest, '\n');
	while (rest.n) {
		struct sv line = sv_cut(&rest, '\n');

		if (line.n == 0 || sv_eq(line, SV("\r")))
			break;
	}
	f->at = f->text.n - rest.n;
}

static int take(const struct netrc *f, const struct token *t, struct buf *ret)
{
	struct sv v = t->v;

	if (!t->quoted && keyfile_has(v, "\\"))
		return fault(f, v.p, "the entry has a backslash without quotes, "
			     "which programs read differently");
	for (size_t i = 0; i < v.n; i++) {
		if (t->quoted && v.p[i] == '\\') {
			i++;
			if (keyfile_has(sv_of(v.p + i, 1), "nrt"))
				return fault(f, v.p, "the entry has an escape "
					     "that programs read differently");
		}
		buf_putc(ret, v.p[i]);
	}
	return 0;
}

static bool is_one_of(struct sv v, const struct sv *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sv_eq(v, words[i]))
			return true;
	return false;
}

/* Which machine's entry it is in, and what was there of ours. */
struct place {
	bool in_entry, is_ours, has_machine, has_password;
};

static int read_word(struct netrc *f, const struct token *word, struct sv host,
		     struct place *at, struct buf *ret)
{
	static const struct sv others[] = { SV("login"), SV("user"),
					    SV("account") };
	bool is_password = sv_eq(word->v, SV("password"));
	struct token value;

	if (sv_eq(word->v, SV("default"))) {
		at->in_entry = true;
		at->is_ours = false;
		return 0;
	}
	if (next_value(f, &value) < 0)
		return -1;
	if (sv_eq(word->v, SV("macdef"))) {
		skip_macro(f);
		return 0;
	}
	if (sv_eq(word->v, SV("machine"))) {
		at->in_entry = true;
		at->is_ours = sv_eq_nocase(value.v, host);
		if (at->is_ours && at->has_machine)
			return fault(f, word->v.p, KEYFILE_TWICE);
		at->has_machine |= at->is_ours;
		return 0;
	}
	if (!at->in_entry || (!is_password &&
			      !is_one_of(word->v, others, 3)))
		return fault(f, word->v.p, "not a word of netrc in its place");
	if (!is_password || !at->is_ours)
		return 0;
	if (at->has_password)
		return fault(f, word->v.p, KEYFILE_TWICE);
	at->has_password = true;
	return take(f, &value, ret);
}

int keyfile_netrc(struct sv text, struct sv key, struct buf *ret,
		  struct err *e)
{
	struct netrc f = { .text = text, .e = e };
	struct place at = { 0 };
	struct token word;
	int got;

	while ((got = next(&f, &word)) > 0) {
		if (word.quoted)
			return fault(&f, word.v.p, "a quote in a word's place");
		if (word.v.p[0] == '#' && !word.leads)
			return fault(&f, word.v.p, "a comment that does not "
				     "start its line");
		if (word.v.p[0] == '#')
			skip_line(&f, word.v.p);
		else if (read_word(&f, &word, key, &at, ret) < 0)
			return -1;
	}
	return got < 0 ? -1 : at.has_password;
}
