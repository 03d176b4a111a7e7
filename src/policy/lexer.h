/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text into statements: one per line, `#` starts a comment where a word could
 * start, "..." and '...' hold blanks, a `\` at the end of a line continues it.
 */
#ifndef POLICY_LEXER_H
#define POLICY_LEXER_H

#include "statement.h"

struct lexer {
	const struct policy_source *source;
	struct arena *arena;
	struct origin origin;	/* of the statement that is being read */
	struct sv text;
	size_t at;
	size_t line_at;		/* where the current line starts */
	unsigned line;
};

/*
 * `text` must stay where it is for as long as errors may point into it.  Fails
 * on bytes that a reader of the text would not see, or not see rightly.
 */
must_check int lexer_open(struct lexer *ret, const struct policy_source *s,
			  struct sv text, struct arena *a, struct err *e);

/* 1: a statement of at least one word; 0: the end; -1. */
must_check int lexer_next(struct lexer *l, struct statement *ret,
			  struct err *e);

/* UTF-8 without control, invisible and direction-changing characters. */
bool lexer_is_plain(struct sv v);

#endif
