/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One text in any of the spellings that web software gives it: raw,
 * percent-encoded, JSON- or HTML-escaped, character by character and mixed.
 */
#ifndef HTTP_SPELLING_H
#define HTTP_SPELLING_H

#include "err.h"
#include "sv.h"

/* Bytes that the longest spelling of one character takes: "\\u00XX"; and of a
 * line's end, between two of base64: "\r\n". */
enum { SPELLING_MAX = 7, SPELLING_BREAK_MAX = 4 };

enum spelled {
	SPELLED_NO = 0,
	SPELLED_PART,		/* in ends before this can be told */
	SPELLED_YES,
};

/*
 * A text and how loosely it is compared.  fold: without regard to the case of
 * ASCII letters.  url64: '-' and '_' stand for '+' and '/' as well, as in the
 * other base64 alphabet, and lines may end anywhere within.
 */
struct spelling {
	struct sv text;
	bool fold;
	bool url64;
	bool special;	/* text has a character that begins an escape */
};
struct spelling spelling_of(struct sv text);

/*
 * Does in begin with the text, in any spelling?  *len is its length there when
 * the answer is YES, the longest if there are several.  With final nothing
 * follows in, so the answer is never PART.
 */
must_check enum spelled spelling_match(const struct spelling *s, struct sv in,
				       bool final, size_t *len);

/*
 * The pairs of bytes that a spelling of the text (of two characters at least)
 * can begin with, and perhaps a few more; returns their number.
 */
enum { SPELLING_OPENINGS = 64 };
size_t spelling_openings(const struct spelling *s,
			 char ret[SPELLING_OPENINGS][2]);

/*
 * Base64 of v as it appears at alignment 0, 1 or 2 inside some longer text:
 * the digits that v alone decides.  Writes at most 4 * (v.n + 2) / 3 bytes and
 * returns their number.
 */
size_t spelling_base64(struct sv v, unsigned alignment, char *out);

#endif
