/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One statement as words, before it means anything, and the errors that point
 * into it.
 */
#ifndef POLICY_STATEMENT_H
#define POLICY_STATEMENT_H

#include "buf.h"
#include "parse.h"

struct word {
	struct sv text;		/* what it says, without quotes */
	struct sv raw;		/* where it stands in the source's text */
	unsigned line, column;	/* from 1 */
	bool quoted;
};

struct statement {
	const struct policy_source *source;
	struct sv text;		/* the whole text that raw points into */
	struct word *words;	/* words[0] is the statement's own word */
	size_t words_n, words_cap;
	bool optional;		/* a question mark stood behind words[0] */
	const char *form;	/* what may follow words[0], once it is known */
	struct origin origin;
};

/* For printf: "%.*s", WORD_FMT(v), never more than a message can hold. */
#define WORD_FMT(v) (int)((v).n < 60 ? (v).n : 60), (v).p ? (v).p : ""

/*
 * Sets *e to FILE:LINE: message, the line, a caret below w (NULL: behind the
 * last word), and the expected form; returns -1.
 */
int statement_error(const struct statement *s, const struct word *w,
		    struct err *e, const char *fmt, ...) printf_like(4, 5);

/* The i-th word, or NULL and an error that says what is missing. */
const struct word *statement_word(const struct statement *s, size_t i,
				  const char *what, struct err *e);

/* No word may stand behind the n-th. */
must_check int statement_end(const struct statement *s, size_t n,
			     struct err *e);

/* Shows where a statement that was read long ago comes from: "FILE:LINE". */
void origin_put(struct buf *b, const struct origin *o);

/* The end of a file's name, which tells it apart: what a message has room
 * for. */
struct sv name_tail(struct sv name);

/* ERR_LIMIT: the policy's arena is full. */
int statement_full(const struct statement *s, struct err *e);

#endif
