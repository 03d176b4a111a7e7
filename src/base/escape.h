/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command prints, without what makes the terminal act for it: answer
 * into the command's input, write the clipboard, the title or a file, print,
 * notify, start something, or read what follows in another way.
 *
 * It knows what a terminal may be told, not what it may not: text, and the
 * sequences that full-screen programs need.  Whatever else begins with an
 * escape is left out as a whole.  What comes out is whole characters and whole
 * sequences, so that nothing that was left out can end, or be continued by,
 * what was not.  Memory is constant, and pieces may be cut anywhere.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "buf.h"

enum {
	ESCAPE_HELD = 4096,	/* the longest sequence that passes */
	ESCAPE_UNIT = 4,	/* a character */
};

enum escape_state {
	ESCAPE_TEXT = 0,
	ESCAPE_BEGUN,		/* ESC */
	ESCAPE_MIDDLE,		/* ESC and an intermediate byte */
	ESCAPE_CONTROL,		/* ESC [ */
	ESCAPE_STRING,		/* ESC ] and others: until their end */
	ESCAPE_STRING_END,	/* ... and ESC, which may be it */
	ESCAPE_PALETTE,		/* ESC ] P: seven digits, and no end */
};

/* Zeroed, it is at the start of the output. */
struct escape_filter {
	enum escape_state state;
	bool refused;		/* what is under way will not pass */
	uint8_t digits;		/* of a palette, to come */
	uint8_t unit_n, unit_whole;
	char unit[ESCAPE_UNIT];	/* a character of which not all is here */
	size_t held_n;
	char held[ESCAPE_HELD];	/* the sequence under way */
};

/* Adds to out at most in.n + ESCAPE_HELD bytes. */
void escape_filter(struct escape_filter *f, struct sv in, struct buf *out);

/* Whether a whole sequence, from its ESC on, may pass. */
bool escape_allows(struct sv sequence);

#endif
