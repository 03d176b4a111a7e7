/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of the sealed file: what its bytes are, before any of it is believed.
 *
 *	magic		8	"stkseal1"
 *	cost		4	log2 of scrypt's N, r, p, and a zero
 *	salt		16
 *	wrap		60	nonce, the file's key under the passphrase's, tag
 *	count		2	of the entries that follow, in the order of names
 *	  name		1 + n
 *	  value		2 + 12 + n + 16: its length, nonce, ciphertext, tag
 *	close		28	nonce and tag of nothing, with all before it
 *
 * Numbers are little-endian.  There is one way to write each content, and what is
 * not written that way is refused: the parser is the writer's inverse.
 *
 * magic, cost and salt are authenticated with the file's key, these and the wrap
 * with each entry, beside its name, and the whole with the close: an entry that is
 * moved, renamed, taken out, or put back as it once was is noticed.  That the whole
 * file is an old one is not.
 */
#ifndef SEAL_SEALED_H
#define SEAL_SEALED_H

#include "buf.h"
#include "secret_text.h"

enum {
	SEALED_KEY = 32, SEALED_NONCE = 12, SEALED_TAG = 16, SEALED_SALT = 16,
	SEALED_ENTRIES_MAX = 256,
	SEALED_SIZE_MAX = 1 << 20,
};

/* What a guess of the passphrase costs. */
struct sealed_cost {
	uint8_t log_n, r, p;
};

struct sealed_box {
	struct sv nonce, text, tag;
};

struct sealed_entry {
	struct sv name;
	struct sv bytes;	/* all of it */
	struct sealed_box box;
};

/* Views of the text. */
struct sealed {
	struct sealed_cost cost;
	struct sv salt;
	struct sv front;	/* what is authenticated with the wrap */
	struct sealed_box wrap;
	struct sv head;		/* with the wrap: goes with each entry */
	struct sealed_entry entries[SEALED_ENTRIES_MAX];
	size_t n;
	struct sv body;		/* all before the close */
	struct sealed_box close;
};

/* Bytes that deriving the passphrase's key takes; 0: nobody does that for a file
 * that somebody else may have written. */
uint64_t sealed_memory(const struct sealed_cost *c);

must_check int sealed_parse(struct sv text, struct sealed *ret, struct err *e);
/* NULL where there is none of that name. */
const struct sealed_entry *sealed_find(const struct sealed *s, struct sv name);

/* Where an entry of that name is, or would be. */
size_t sealed_place(const struct sealed *s, struct sv name, bool *ret_is_there);

/* The parts of a file, in their order; each checks nothing. */
void sealed_put_front(struct buf *b, const struct sealed_cost *c,
		      struct sv salt);
void sealed_put_count(struct buf *b, size_t n);
void sealed_put_name(struct buf *b, struct sv name, size_t value_n);

#endif
