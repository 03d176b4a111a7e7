/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which project policies the user has reviewed.
 *
 * One file for each policy file, in the state directory: named by the SHA-256
 * of its path, holding the SHA-256 of the content that was reviewed, and the
 * path.  So trust is for these bytes in this place; a copy elsewhere, where
 * its relative paths would mean other files, is a new question.
 */
#ifndef CLI_TRUST_H
#define CLI_TRUST_H

#include "err.h"
#include "sv.h"

enum trust { TRUST_NONE = 0, TRUST_CHANGED, TRUST_HOLDS };

/* path is the file's real path.  *ret_trust is TRUST_NONE on failure too. */
must_check int trust_look(struct sv path, struct sv content,
			  enum trust *ret_trust, struct err *e);

#endif
