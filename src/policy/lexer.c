/* SPDX-License-Identifier: Apache-2.0 */
/* Text into statements: see lexer.h. */
#include "lexer.h"

#include "json.h"

enum { LEXER_WORDS_MAX = 4096 };

bool lexer_is_plain(struct sv v)
{
	return visible_length(v) == v.n;
}

static int lexer_error(const struct lexer *l, size_t at, struct err *e,
		       const char *what)
{
	struct statement s = {
		.source = l->source, .text = l->text, .origin = l->origin,
	};
	struct word w = {
		.raw = sv_of(l->text.p + at, 0), .line = l->line,
	};

	return statement_error(&s, &w, e, "%s", what);
}

/* Checks the line at l->at and moves behind it. */
static int check_line(struct lexer *l, struct err *e)
{
	struct sv rest = sv_from(l->text, l->at);
	struct sv line = sv_head(rest, sv_find(rest, '\n'));
	size_t next = l->at + line.n + 1;

	if (line.n < rest.n && line.n && line.p[line.n - 1] == '\r')
		line.n--;
	while (line.n) {
		struct sv piece = sv_head(line, sv_find(line, '\t'));
		size_t plain = visible_length(piece);

		if (plain < piece.n)
			return lexer_error(l,
				(size_t)(piece.p - l->text.p) + plain, e,
				"a control, invisible or malformed character");
		line = sv_from(line, piece.n + 1);
	}
	l->at = next;
	l->line++;
	return 0;
}

int lexer_open(struct lexer *ret, const struct policy_source *s,
	       struct sv text, struct arena *a, struct err *e)
{
	struct lexer l = {
		.source = s, .arena = a, .text = text, .line = 1,
		.origin = { .file = s->name, .line = 1, .column = 1 },
	};

	if (text.n > POLICY_TEXT_MAX)
		return err_kind(e, ERR_LIMIT, "%.*s: more than %d bytes",
				WORD_FMT(s->name), POLICY_TEXT_MAX);
	while (l.at < text.n)
		if (check_line(&l, e) < 0)
			return -1;
	l.at = 0;
	l.line = 1;
	*ret = l;
	return 0;
}

static char peek(const struct lexer *l, size_t ahead)
{
	return ahead < l->text.n - l->at ? l->text.p[l->at + ahead] : '\n';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void next_line(struct lexer *l)
{
	l->at++;
	l->line++;
	l->line_at = l->at;
}

/* Blanks, continued lines and a comment: what may stand between words. */
static int skip(struct lexer *l, struct err *e)
{
	for (;;) {
		char c = peek(l, 0);

		if (l->at == l->text.n || c == '\n')
			return 0;
		if (c == '#') {
			while (peek(l, 0) != '\n')
				l->at++;
			return 0;
		}
		if (c == '\\') {
			size_t end = peek(l, 1) == '\r' ? 2 : 1;

			if (peek(l, end) != '\n')
				return lexer_error(l, l->at, e,
					"a backslash outside quotes may only end a line");
			if (l->text.n - l->at <= end)
				return lexer_error(l, l->at, e,
					"the last line cannot be continued");
			l->at += end;
			next_line(l);
		} else if (is_blank(c)) {
			l->at++;
		} else {
			return 0;
		}
	}
}

/* From the opening quote to behind the closing one. */
static int quoted_part(struct lexer *l, struct buf *b, struct err *e)
{
	size_t from = l->at;
	char quote = peek(l, 0);

	l->at++;
	for (; peek(l, 0) != quote; l->at++) {
		if (peek(l, 0) == '\n')
			return lexer_error(l, from, e,
					   "this quote is not closed");
		/* It looks like blanks, and JSON strings have none either. */
		if (peek(l, 0) == '\t')
			return lexer_error(l, l->at, e,
					   "a tab cannot be part of a word");
		if (quote == '"' && peek(l, 0) == '\\') {
			l->at++;
			if (peek(l, 0) != '"' && peek(l, 0) != '\\')
				return lexer_error(l, l->at - 1, e,
					"in double quotes only \\\" and \\\\ are known");
		}
		buf_putc(b, peek(l, 0));
	}
	l->at++;
	return 0;
}

static int read_word(struct lexer *l, struct word *ret, struct err *e)
{
	size_t from = l->at;
	auto_buf struct buf b = buf_new(POLICY_TEXT_MAX);
	struct word w = {
		.line = l->line, .column = (unsigned)(from - l->line_at) + 1,
	};

	while (peek(l, 0) != '\n' && !is_blank(peek(l, 0)) &&
	       peek(l, 0) != '\\') {
		char c = peek(l, 0);

		if (c == '"' || c == '\'') {
			w.quoted = true;
			if (quoted_part(l, &b, e) < 0)
				return -1;
		} else {
			buf_putc(&b, c);
			l->at++;
		}
	}
	w.raw = sv_of(l->text.p + from, l->at - from);
	w.text = arena_dup(l->arena, buf_sv(&b));
	if (b.full || !w.text.p)
		return err_kind(e, ERR_LIMIT, "%.*s: the policy is too large",
				WORD_FMT(l->source->name));
	*ret = w;
	return 0;
}

int lexer_next(struct lexer *l, struct statement *ret, struct err *e)
{
	struct statement s = { .source = l->source, .text = l->text };

	for (;;) {
		struct word *w;

		if (skip(l, e) < 0)
			return -1;
		if (l->at == l->text.n && s.words_n == 0)
			return 0;
		if (l->at == l->text.n || peek(l, 0) == '\n') {
			if (l->at < l->text.n)
				next_line(l);
			if (s.words_n)
				break;
			continue;
		}
		if (s.words_n == LEXER_WORDS_MAX)
			return lexer_error(l, l->at, e, "too many words");
		w = arena_push(l->arena, &s.words, &s.words_n, &s.words_cap);
		if (!w)
			return statement_full(&s, e);
		if (read_word(l, w, e) < 0)
			return -1;
	}
	s.origin = (struct origin){
		.file = l->origin.file, .line = s.words[0].line,
		.column = s.words[0].column,
	};
	*ret = s;
	return 1;
}
