/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INI, as .npmrc, .pypirc and the AWS tools' credentials have it: lines
 * `name = value`, also in [sections].  The key is `name`, or `section.name`.
 *
 * npm's reader and Python's configparser differ: to Python a deeper line
 * continues the value before, and a section may be indented; npm takes quotes,
 * backslashes and comments out of a value, and replaces ${VARIABLE}.  Where they
 * would not agree on the entry that is asked for, it is refused.
 */
#include "keyfile.h"

struct ini {
	struct sv text, key, section;
	size_t indent;		/* of the entry's line */
	bool in_entry;		/* which a deeper line would continue */
	bool is_ours;
	bool found;
	struct buf *ret;
	struct err *e;
};

static int fault(const struct ini *f, struct sv line, const char *what)
{
	return keyfile_fault(f->e, f->text, line.p, what);
}

/* The key without a section, or SECTION.NAME: whatever dots they have. */
static bool is_key(const struct ini *f, struct sv name)
{
	struct sv key = f->key;

	if (f->section.n) {
		if (!sv_starts(key, f->section))
			return false;
		key = sv_from(key, f->section.n);
		if (key.n == 0 || key.p[0] != '.')
			return false;
		key = sv_from(key, 1);
	}
	return sv_eq(key, name);
}

static int read_header(struct ini *f, struct sv line)
{
	struct sv name = sv_of(line.p + 1, line.n - 1);

	if (name.n < 2 || name.p[name.n - 1] != ']')
		return fault(f, line, "a section's `[` without its `]`");
	name.n--;
	f->section = name;
	f->in_entry = false;
	return 0;
}

static int take(struct ini *f, struct sv value)
{
	if (f->found)
		return fault(f, value, KEYFILE_TWICE);
	if (keyfile_has(value, "\"'\\;#") ||
	    sv_find_sv(value, SV("${")) < value.n)
		return fault(f, value, "the entry has a quote, a backslash, `;`, "
			     "`#` or `${`, which programs read differently");
	f->found = true;
	buf_put(f->ret, value);
	return 0;
}

/* A line that is deeper than the entry before. */
static int continue_entry(const struct ini *f, struct sv line)
{
	size_t at = sv_find(line, '=');

	if (f->is_ours)
		return fault(f, line, "the entry goes on in an indented line");
	if (at < line.n && is_key(f, sv_trim(sv_head(line, at))))
		return fault(f, line, "the entry is in an indented line, which "
			     "programs read differently");
	return 0;
}

static int read_line(struct ini *f, struct sv whole)
{
	struct sv line = sv_trim(whole);
	size_t indent, at;

	if (line.n == 0 || line.p[0] == ';' || line.p[0] == '#')
		return 0;
	indent = (size_t)(line.p - whole.p);
	if (f->in_entry && indent > f->indent)
		return continue_entry(f, line);
	if (line.p[0] == '[')
		return indent ? fault(f, line, "a section in an indented line, "
				      "which programs read differently") :
				read_header(f, line);
	at = sv_find(line, '=');
	if (at == line.n)
		return fault(f, line, "neither `[section]` nor `name = value` nor "
			     "a comment");
	f->in_entry = true;
	f->indent = indent;
	f->is_ours = is_key(f, sv_trim(sv_head(line, at)));
	return f->is_ours ? take(f, sv_trim(sv_from(line, at + 1))) : 0;
}

int keyfile_ini(struct sv text, struct sv key, struct buf *ret, struct err *e)
{
	struct ini f = { .text = text, .key = key, .ret = ret, .e = e };
	struct sv rest = text;

	while (rest.n) {
		struct sv line = sv_cut(&rest, '\n');

		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (read_line(&f, line) < 0)
			return -1;
	}
	return f.found;
}
