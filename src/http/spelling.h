/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One text in any of the spellings that web software gives it: raw,
 * percent-encoded, JSON- or HTML-escaped, character by character and mixed.
 */
#ifndef HTTP_SPELLING_H
#define HTTP_SPELLING_H

#include "err.h"
#include "sv.h"

/* Bytes that the longest spelling of one character takes: "\\u00XX". */
enum { SPELLING_MAX = 7 };

enum spelled {
	SPELLED_NO = 0,
	SPELLED_PART,		/* in ends before this can be told */
	SPELLED_YES,
};

/*
 * Does in begin with text, in any spelling?  *len is its length there when
 * the answer is YES.  fold: ignore the case of ASCII letters.  url64: '-' and
 * '_' stand for '+' and '/' as well, as in the other base64 alphabet.
 */
struct spelling {
	struct sv text;
	bool fold;
	bool url64;
};
must_check enum spelled spelling_match(const struct spelling *s, struct sv in,
				       size_t *len);

/*
 * Base64 of v as it appears at alignment 0, 1 or 2 inside some longer text:
 * the digits that v alone decides.  Writes at most 4 * (v.n + 2) / 3 bytes and
 * returns their number.
 */
size_t spelling_base64(struct sv v, unsigned alignment, char *out);

#endif
