/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotenv: lines NAME=VALUE, with `export` in front or not, comments, and values
 * in quotes, which may go on over lines.
 *
 * Shells and the libraries for it differ in escapes, in variables within a
 * value, and in a `#` within one.  An entry with such a thing is refused.
 */
#include "keyfile.h"

struct dotenv {
	struct sv text;
	struct sv rest;		/* of the text */
	struct err *e;
};

static int fault(const struct dotenv *f, const char *p, const char *what)
{
	return keyfile_fault(f->e, f->text, p, what);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* What an assignment's line says; its value from behind the `=` on. */
static int read_name(const struct dotenv *f, struct sv line, struct sv *ret)
{
	size_t at = sv_find(line, '=');
	struct sv name = sv_trim(sv_head(line, at));

	if (sv_starts(name, SV("export")) && name.n > 6 &&
	    is_blank(name.p[6]))
		name = sv_trim(sv_from(name, 6));
	if (at == line.n || !sv_is_name(name) || name.n == 0)
		return fault(f, line.p, "neither NAME=VALUE nor a comment");
	*ret = name;
	return 0;
}

static int take_bare(const struct dotenv *f, struct sv value, struct buf *ret)
{
	size_t end = 0;

	while (end < value.n &&
	       !(value.p[end] == '#' && end && is_blank(value.p[end - 1])))
		end++;
	if (end && value.p[end - 1] == '\r')
		end--;
	value = sv_trim(sv_head(value, end));
	if (keyfile_has(value, "\"'`\\$#"))
		return fault(f, value.p, "the entry has a quote, a backslash, "
			     "`$`, or a `#` with no blank before it, which "
			     "programs read differently");
	buf_put(ret, value);
	return 0;
}

static int take_quoted(const struct dotenv *f, char quote, struct sv value,
		       struct sv behind, struct buf *ret)
{
	size_t n = 0;

	while (n < behind.n && is_blank(behind.p[n]))
		n++;
	if (n < behind.n && (n == 0 || behind.p[n] != '#'))
		return fault(f, value.p, "the entry goes on behind its quote");
	if (keyfile_has(value, quote == '"' ? "\\$`" : "\\"))
		return fault(f, value.p, quote == '"' ?
			     "the entry has a backslash, `$` or a backquote in "
			     "double quotes, which programs read differently" :
			     "the entry has a backslash, which programs read "
			     "differently");
	buf_put(ret, value);
	return 0;
}

/* A value in quotes, from the opening one on; ret is NULL for another's. */
static int read_quoted(struct dotenv *f, struct sv from, struct buf *ret)
{
	char quote = from.p[0];
	struct sv value = sv_from(from, 1);
	size_t n = 0;

	for (; n < value.n && value.p[n] != quote; n++) {
		if (value.p[n] != '\\')
			continue;
		n++;
		/* A shell has no escapes there, and ends it. */
		if (quote == '\'' && n < value.n && value.p[n] == '\'')
			return fault(f, value.p + n, "a backslash before a "
				     "single quote");
	}
	if (n >= value.n)
		return fault(f, from.p, "a quote that is not closed");
	f->rest = sv_from(value, n + 1);
	from = sv_cut(&f->rest, '\n');
	return ret ? take_quoted(f, quote, sv_head(value, n), from, ret) : 0;
}

/* 1 when it was the one with that name. */
static int read_line(struct dotenv *f, struct sv key, bool found,
		     struct buf *ret)
{
	struct sv all = f->rest, line = sv_cut(&f->rest, '\n');
	struct sv name = { 0 }, value;
	bool is_it;
	int rc;

	while (line.n && is_blank(line.p[0]))
		line = sv_from(line, 1);
	if (line.n == 0 || line.p[0] == '#')
		return 0;
	if (read_name(f, line, &name) < 0)
		return -1;
	is_it = sv_eq(name, key);
	if (is_it && found)
		return fault(f, line.p, KEYFILE_TWICE);
	line = sv_from(line, sv_find(line, '=') + 1);
	value = sv_trim(line);
	if (value.n && (value.p[0] == '"' || value.p[0] == '\''))
		rc = read_quoted(f, sv_from(all, (size_t)(value.p - all.p)),
				 is_it ? ret : NULL);
	else
		rc = is_it ? take_bare(f, line, ret) : 0;
	return rc < 0 ? -1 : is_it;
}

int keyfile_dotenv(struct sv text, struct sv key, struct buf *ret,
		   struct err *e)
{
	struct dotenv f = { .text = text, .rest = text, .e = e };
	bool found = false;

	while (f.rest.n) {
		int got = read_line(&f, key, found, ret);

		if (got < 0)
			return -1;
		found |= got > 0;
	}
	return found;
}
