/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key files: one entry of a file that holds several.
 *
 * Nothing here allocates: the file lies in pages of a secret's kind, is read in
 * place, and the one value is written to the caller's pages.  No message has a
 * byte of the file: it names lines.  Programs do not agree on what some values
 * mean; such a one is refused, not handed out in one of its readings.
 */
#ifndef VAULT_KEYFILE_H
#define VAULT_KEYFILE_H

#include "buf.h"
#include "keyfile_format.h"

enum { KEYFILE_SIZE_MAX = 256 << 10 };

/*
 * Appends the value behind key to *ret.  1; 0 when there is no such entry; -1
 * with an error for what is malformed, there twice, empty, or read in several
 * ways.  *ret never grows beyond what it has room for.
 */
must_check int keyfile_find(enum keyfile_format f, struct sv text,
			    struct sv key, struct buf *ret, struct err *e);

/* The same for one format; an empty value is found. */
typedef int keyfile_reader(struct sv text, struct sv key, struct buf *ret,
			   struct err *e);
keyfile_reader keyfile_json, keyfile_ini, keyfile_netrc, keyfile_dotenv;

/* "line N: " in front of what is wrong at p, which points into text; -1. */
int keyfile_fault(struct err *e, struct sv text, const char *p,
		  const char *what);
/* v has a byte of any. */
bool keyfile_has(struct sv v, const char *any);

/* For keyfile_fault(): an entry that nobody could tell from another. */
#define KEYFILE_TWICE "the entry is there a second time"

#endif
