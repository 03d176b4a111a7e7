/* SPDX-License-Identifier: Apache-2.0 */
/* The store: a sealed file in memory, and the key that opens it. */
#ifndef SEAL_STORE_H
#define SEAL_STORE_H

#include "sealed.h"

struct store {
	struct buf text;	/* the file; ciphertext */
	struct sealed sealed;	/* views of it */
	char *key;		/* borrowed; SEALED_KEY locked bytes */
	char *value;		/* borrowed; SECRET_VALUE_MAX locked bytes */
	char *derived;		/* borrowed; SEALED_KEY locked bytes */
	bool loaded, open;
};

must_check int store_load(struct store *s, struct sv text, struct err *e);
/* An empty one, open. */
must_check int store_make(struct store *s, const struct sealed_cost *cost,
			  struct sv passphrase, struct err *e);
/* 1: it is open; 0: that is not its passphrase, or key; -1: nothing opens it. */
must_check int store_unlock(struct store *s, struct sv passphrase,
			    struct err *e);
must_check int store_unlock_by_key(struct store *s, struct sv key,
				   struct err *e);
void store_wipe(struct store *s);

/* Of an open one.  1; 0: there is no such entry; -1.  The value lies in s->value
 * until the next call. */
must_check int store_get(struct store *s, struct sv name, struct sv *ret,
			 struct err *e);
must_check int store_put(struct store *s, struct sv name, struct sv value,
			 struct err *e);
must_check int store_remove(struct store *s, struct sv name, struct err *e);

#endif
