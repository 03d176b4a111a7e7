/* SPDX-License-Identifier: Apache-2.0 */
/* The two things that are asked of libcrypto: AES-256-GCM, and scrypt. */
#ifndef SEAL_BOX_H
#define SEAL_BOX_H

#include "sealed.h"

/* Before the process is confined: libcrypto loads nothing later. */
must_check int box_start(struct err *e);
must_check int box_random(char *ret, size_t n, struct err *e);

/* What is authenticated, one behind the other. */
struct box_with {
	struct sv parts[3];
};

/* Appends nonce, ciphertext and tag, the nonce drawn for it. */
must_check int box_seal(const char key[SEALED_KEY], const struct box_with *with,
			struct sv plain, struct buf *ret, struct err *e);
/* 1: the plain text is in ret, which has room for box->text.n; 0: the box is not
 * what it was, or of another key, and ret is wiped; -1. */
must_check int box_open(const char key[SEALED_KEY], const struct box_with *with,
			const struct sealed_box *box, char *ret, struct err *e);

must_check int box_derive(struct sv passphrase, struct sv salt,
			  const struct sealed_cost *cost, char ret[SEALED_KEY],
			  struct err *e);

#endif
