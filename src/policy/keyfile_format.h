/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of a file that one entry is taken from: its name says it, so that
 * a policy means the same whatever the file holds.
 */
#ifndef POLICY_KEYFILE_FORMAT_H
#define POLICY_KEYFILE_FORMAT_H

#include "sv.h"

enum { KEYFILE_KEY_MAX = 1024 };

/* Travels to vault, where zero is the whole file. */
enum keyfile_format {
	KEYFILE_WHOLE = 0,
	KEYFILE_JSON, KEYFILE_INI, KEYFILE_NETRC, KEYFILE_DOTENV,
};

/* KEYFILE_WHOLE where no entry can be taken: the name is one of YAML or TOML. */
enum keyfile_format keyfile_format_of(struct sv path);
/* "JSON", "INI", ... */
const char *keyfile_format_name(enum keyfile_format f);
/* What is wrong with a key of such a file, or NULL. */
const char *keyfile_format_fault(enum keyfile_format f, struct sv key);

#endif
