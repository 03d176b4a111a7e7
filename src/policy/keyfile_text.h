/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of placeholders, for clients that read their credentials from one: the
 * least that its format has to have around them.
 */
#ifndef POLICY_KEYFILE_TEXT_H
#define POLICY_KEYFILE_TEXT_H

#include "buf.h"
#include "keyfile_format.h"

struct keyfile_entry {
	struct sv key;
	struct sv user;		/* .n is 0: none is known */
	struct sv value;
	bool base64;		/* USER:VALUE, encoded */
};

/* Why no such entry can be written, or NULL. */
const char *keyfile_text_fault(enum keyfile_format f,
			       const struct keyfile_entry *entry);
/* Two keys that are not both in one file. */
bool keyfile_text_clash(enum keyfile_format f, struct sv a, struct sv b);
/* All entries of one file, which have no fault and do not clash. */
void keyfile_text_put(struct buf *b, enum keyfile_format f,
		      const struct keyfile_entry *v, size_t n);

#endif
