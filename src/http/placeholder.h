/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders: what the agent holds instead of a secret.
 *
 * Each has a core, by which it is found where it should not be and told from the
 * others: a mark, that a person who meets one in a file knows it by, and random
 * characters, so that none is a part of another or appears by chance.  A plain
 * one is its core; a shaped one has text around it, so that clients take it for
 * a token of their service.
 */
#ifndef HTTP_PLACEHOLDER_H
#define HTTP_PLACEHOLDER_H

#include "sv.h"

enum {
	PLACEHOLDER_NOISE = 256,	/* random bytes for one */
	PLACEHOLDER_MAX = 224,		/* bytes of the longest */
	PLACEHOLDER_CORE_MAX = 53,
};

struct placeholder_core {
	char text[PLACEHOLDER_CORE_MAX];	/* no NUL */
	uint8_t n;
};

struct placeholder {
	char text[PLACEHOLDER_MAX + 1];
	uint8_t n;
	uint8_t core_at, core_n;
};

static inline struct sv placeholder_text(const struct placeholder *p)
{
	return sv_of(p->text, p->n);
}

static inline struct sv placeholder_core(const struct placeholder *p)
{
	return sv_of(p->text + p->core_at, p->core_n);
}

/* placeholder_shape.c: makes one from random bytes.  like is empty for a plain
 * one, else `jwt` or what the service's tokens begin with.  False when that is
 * too long. */
bool placeholder_make(const uint8_t noise[PLACEHOLDER_NOISE], struct sv like,
		      struct placeholder *ret);

/*
 * Finds the core of one in text: raw, percent-encoded, JSON-escaped, or inside
 * base64 at any alignment.  *ret gets its plain form.
 */
bool placeholder_find(struct sv text, struct placeholder_core *ret);
/* The same of that core, whichever others there are. */
bool placeholder_is_in(struct sv text, struct sv core);

/*
 * The same over a body that comes in pieces, for the raw form and base64 (what
 * a program does by itself; a body that was made to hide a placeholder hides
 * nothing of value).  Zeroed is the start.
 */
struct placeholder_scan {
	char held[128];		/* the end of what came before */
	size_t n;
};
/* True when a core ends in this piece; *ret gets one.  Without shaped only plain
 * ones are looked for. */
bool placeholder_scan(struct placeholder_scan *s, bool shaped, struct sv piece,
		      struct placeholder_core *ret);

#endif
