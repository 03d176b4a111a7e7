/* SPDX-License-Identifier: Apache-2.0 */
/* Pointing at what is wrong: see statement.h. */
#include "statement.h"


#include <stdarg.h>
#include <stdio.h>

#include "json.h"
#include "lexer.h"

enum {
	SHOWN_NAME = 80,	/* bytes of a file's name in a message */
	SHOWN_WHAT = 180,
	SHOWN_LINE = 60,	/* bytes of the line, around the caret */
	SHOWN_FORM = 90,
};

struct sv name_tail(struct sv name)
{
	return name.n > SHOWN_NAME ? sv_from(name, name.n - SHOWN_NAME) : name;
}

static bool is_continuation_byte(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* The line of text around *at; *at becomes the offset in it. */
static struct sv line_around(struct sv text, size_t *at)
{
	size_t from = *at, to = *at;

	while (from > 0 && text.p[from - 1] != '\n')
		from--;
	while (to < text.n && text.p[to] != '\n' && text.p[to] != '\r')
		to++;
	*at -= from;
	return sv_of(text.p + from, to - from);
}

/* Two lines: what was written, and a caret below offset `at` of it. */
static void put_pointed(struct buf *b, struct sv line, size_t at)
{
	auto_buf struct buf shown = buf_new(SHOWN_LINE + 4);
	size_t from = 0, n;
	bool plain;

	if (line.n > SHOWN_LINE && at > SHOWN_LINE / 2)
		from = at - SHOWN_LINE / 2;
	/* Not into the middle of a character, which has at most 4 bytes. */
	for (int i = 0; i < 3 && from > 0 && from < line.n &&
			is_continuation_byte(line.p[from]); i++)
		from--;
	n = line.n - from > SHOWN_LINE ? SHOWN_LINE : line.n - from;
	for (int i = 0; i < 3 && n > 0 && from + n < line.n &&
			is_continuation_byte(line.p[from + n]); i++)
		n--;
	for (size_t i = from; i < from + n; i++)
		buf_putc(&shown, line.p[i] == '\t' ? ' ' : line.p[i]);
	/* The error may be just that these bytes are not for a terminal. */
	plain = lexer_is_plain(buf_sv(&shown));
	for (size_t i = 0; !plain && i < shown.n; i++)
		if (shown.p[i] < ' ' || shown.p[i] == 0x7f)
			shown.p[i] = '?';
	buf_puts(b, from ? "\n  ..." : "\n  ");
	buf_put(b, buf_sv(&shown));
	buf_puts(b, from + n < line.n ? "...\n  " : "\n  ");
	buf_puts(b, from ? "   " : "");
	for (size_t i = 0; i < shown.n && from + i < at; i++)
		if (!plain || !is_continuation_byte(shown.p[i]))
			buf_putc(b, ' ');
	buf_putc(b, '^');
}

int statement_error(const struct statement *s, const struct word *w,
		    struct err *e, const char *fmt, ...)
{
	const struct word *last = s->words_n ? &s->words[s->words_n - 1] : NULL;
	const char *at = w ? w->raw.p : last ? last->raw.p + last->raw.n :
					       s->text.p;
	unsigned line_no = w ? w->line : last ? last->line : s->origin.line;
	struct sv name = name_tail(s->origin.file);
	char what[SHOWN_WHAT];
	auto_buf struct buf b = buf_new(4 * SHOWN_LINE + SHOWN_FORM);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	if (s->text.p && at) {
		size_t offset = (size_t)(at - s->text.p);
		struct sv line = line_around(s->text, &offset);

		put_pointed(&b, line, offset);
	}
	if (s->form && s->words_n)
		buf_printf(&b, "\n  expected: %.*s %.*s",
			   WORD_FMT(s->words[0].text), SHOWN_FORM, s->form);
	if (s->origin.line == 0)
		return err_kind(e, ERR_POLICY, "%.*s: %s%.*s", SV_FMT(name),
				what, SV_FMT(buf_sv(&b)));
	return err_kind(e, ERR_POLICY, "%.*s:%u: %s%.*s", SV_FMT(name),
			line_no, what, SV_FMT(buf_sv(&b)));
}

const struct word *statement_word(const struct statement *s, size_t i,
				  const char *what, struct err *e)
{
	if (i < s->words_n)
		return &s->words[i];
	(void)statement_error(s, NULL, e, "%s is missing", what);
	return NULL;
}

int statement_end(const struct statement *s, size_t n, struct err *e)
{
	if (s->words_n <= n)
		return 0;
	return statement_error(s, &s->words[n], e,
			       "nothing may follow here, but \"%.*s\" does",
			       WORD_FMT(s->words[n].text));
}

void origin_put(struct buf *b, const struct origin *o)
{
	buf_put_visible(b, name_tail(o->file));
	if (o->line)
		buf_printf(b, ":%u", o->line);
}

int statement_full(const struct statement *s, struct err *e)
{
	return err_kind(e, ERR_LIMIT, "%.*s: the policy is too large",
			SV_FMT(name_tail(s->origin.file)));
}
