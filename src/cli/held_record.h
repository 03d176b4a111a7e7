/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a run's held changes, on record in the trail of that run. */
#ifndef CLI_HELD_RECORD_H
#define CLI_HELD_RECORD_H

#include "held_verbs.h"

/* The chosen ones are about to be applied, the others of `left` are not. */
must_check int held_record_apply(const struct held_verb *v, const bool *left,
				 struct err *e);
/* The chosen ones are about to be forgotten. */
must_check int held_record_discard(const struct held_verb *v, struct err *e);
/* All of them, and why nobody can say what they are. */
must_check int held_record_lost(const struct held_verb *v,
				const struct err *why, struct err *e);
/* An apply, on record already, was taken back. */
must_check int held_record_undone(const char *run, struct sv why,
				  struct err *e);

#endif
