/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders: what the agent holds instead of a secret.
 *
 * They say what they are, so that a person who meets one in a file knows, and
 * carry 128 random bits, so that none is a part of another or appears by
 * chance.  Here they are found where they should not be.
 */
#ifndef HTTP_PLACEHOLDER_H
#define HTTP_PLACEHOLDER_H

#include "sv.h"

#define PLACEHOLDER_PREFIX "stockade_placeholder_"

enum {
	PLACEHOLDER_RANDOM = 16,	/* bytes */
	PLACEHOLDER_SIZE = sizeof(PLACEHOLDER_PREFIX) - 1 +
			   2 * PLACEHOLDER_RANDOM,	/* 53 bytes of text */
};

/* Makes one from random bytes; out gets no NUL. */
void placeholder_make(const uint8_t random[PLACEHOLDER_RANDOM],
		      char out[PLACEHOLDER_SIZE]);
/* Exactly one placeholder, nothing around it. */
bool placeholder_is(struct sv v);
/*
 * Finds the first one in text: raw, percent-encoded, JSON-escaped, or inside
 * base64 at any alignment.  out gets its plain form (no NUL).
 */
bool placeholder_find(struct sv text, char out[PLACEHOLDER_SIZE]);
/* The same of that one, whichever others there are. */
bool placeholder_is_in(struct sv text, struct sv placeholder);

/*
 * The same over a body that comes in pieces, for the raw form and base64 (what
 * a program does by itself; a body that was made to hide a placeholder hides
 * nothing of value).  Zeroed is the start.
 */
struct placeholder_scan {
	char held[128];		/* the end of what came before */
	size_t n;
};
/* True when a placeholder ends in this piece; out gets the first one. */
bool placeholder_scan(struct placeholder_scan *s, struct sv piece,
		      char out[PLACEHOLDER_SIZE]);

#endif
