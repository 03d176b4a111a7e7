/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One entry of the canonical JSON form, and the words that it becomes.
 *
 * Whatever goes wrong is in the entry: the first fault counts, and what follows
 * it does nothing.
 */
#ifndef POLICY_JSON_ENTRY_H
#define POLICY_JSON_ENTRY_H

#include <jansson.h>

#include "statement.h"

enum { ENTRY_WORDS_MAX = 32 };

/* The entry that is being read, for messages and for its statement. */
struct entry {
	struct policy *p;
	const struct policy_source *source;
	const char *section;	/* "rules" */
	size_t index;
	json_t *object;		/* borrowed */
	struct word words[ENTRY_WORDS_MAX];
	size_t words_n;
	bool failed;		/* *e says why */
	struct err *e;
};

/* Sets failed; returns -1. */
int entry_error(struct entry *n, const char *what, const char *key);
/* Only keys of the list, which ends with NULL. */
void check_keys(struct entry *n, const char *const *known);
/* The string behind key; empty when it may be absent and is. */
struct sv text_of(struct entry *n, json_t *object, const char *key,
		  bool required);
bool flag_of(struct entry *n, const char *key);
/* One of these words, which then stands in the entry's statement. */
struct sv word_of(struct entry *n, const char *key, const struct sv *known,
		  size_t known_n);

void add_word(struct entry *n, struct sv text);
/* The word of the statement, with its question mark. */
void add_first(struct entry *n, struct sv word);
/* HOST[:PORT]PATH[?QUERY] of an object, each part unable to become another. */
void put_target(struct entry *n, json_t *object, struct buf *b);
/* The entry's own. */
void add_target(struct entry *n);
/* A key that the word in front of it must, may or may not have. */
void add_clause(struct entry *n, const char *key, bool has, const char *word);

#endif
