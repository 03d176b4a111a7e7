/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of files in statements, lexically: nothing is looked up.
 *
 * A clean path is absolute, without `.`, `..`, empty segments and a slash at
 * its end.  A path with `*`, `?` or `[...]` is a pattern (glob.h); `[*]`, `[?]`
 * and `[[]` are the characters themselves, so that every path can be written.
 */
#ifndef POLICY_FILEPATH_H
#define POLICY_FILEPATH_H

#include "arena.h"

enum { FILEPATH_MAX = 4095 };

struct filepath {
	struct sv path;		/* clean; a pattern when is_glob */
	bool is_glob;
	bool grants;		/* no wildcard takes the dot of a name */
};

/* word relative to base, `~` for home.  NULL, or why it is no path. */
const char *filepath_clean(struct sv word, struct sv base, struct sv home,
			   struct arena *a, struct filepath *ret);

/* The form that filepath_clean() reads back as the same; .p NULL when the
 * arena is full. */
struct sv filepath_written(const struct filepath *f, struct arena *a);

/* The path itself, not what is below it.  A plain path matches as it is. */
bool filepath_match(const struct filepath *f, struct sv path);
/* The path itself or something above it; *ret_n is how much of path. */
bool filepath_covers(const struct filepath *f, struct sv path, size_t *ret_n);
/* The longest clean path that everything which a pattern matches is below. */
struct sv filepath_stem(struct sv pattern);

#endif
