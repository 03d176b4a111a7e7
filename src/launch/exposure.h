/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent will be able to read, of all the places in which people and
 * programs keep credentials: vault looks for the secrets' values in it.  A
 * placeholder is no use where the value lies beside it.
 */
#ifndef LAUNCH_EXPOSURE_H
#define LAUNCH_EXPOSURE_H

#include "buf.h"
#include "err.h"

struct builder;

enum {
	EXPOSED_FILE_MAX = 1 << 20,	/* bytes of a file that are looked at */
	EXPOSED_MAX = 256 << 20,	/* bytes of all */
};

struct exposed {
	struct sv name;		/* for messages; the plan's */
	size_t end;		/* of its content, in the text */
};

/* The contents, a NUL behind each. */
struct exposure {
	struct buf text;
	struct exposed *v;	/* owned */
	size_t n, cap;
};

/* Of plan_build(), when it is known what is visible: the files; then the
 * command's environment and its arguments.  Nothing where there is no secret.
 * A file that the user may not open is no error: the agent may not either. */
must_check int exposure_look(struct builder *b, struct err *e);
void exposure_add_words(struct builder *b);
void exposure_free(struct exposure *x);	/* accepts NULL */

/* Whose content that byte of the text is. */
struct sv exposure_at(const struct exposure *x, size_t at);

#endif
