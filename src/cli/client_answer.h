/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client said, in the form in which it is kept: one fact a line.
 *
 *	url URL		it downloads from there, and below
 *	set URL		so it has to be told inside, where its files are not
 *	file PATH	the answer holds while this is as it was
 *	guard PATH	a setting there would change the answer of later runs
 */
#ifndef CLI_CLIENT_ANSWER_H
#define CLI_CLIENT_ANSWER_H

#include "buf.h"
#include "client_program.h"

/* A line that is not there yet; false for what no line can hold. */
bool client_answer_put(struct buf *answer, const char *word, struct sv v);

/* The next line's value, if its word is this one; .p NULL if not.  *rest loses
 * the line. */
struct sv client_answer_next(struct sv *rest, const char *word);

must_check int client_npm(const struct client_program *npm, struct buf *ret,
			  struct err *e);
must_check int client_apt(const struct client_program *apt, struct buf *ret,
			  struct err *e);

#endif
