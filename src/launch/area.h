/* SPDX-License-Identifier: Apache-2.0 */
/* Areas: which trees are visible inside, and which one a path belongs to. */
#ifndef LAUNCH_AREA_H
#define LAUNCH_AREA_H

#include "builder.h"

/* path is below dir, or dir itself. */
bool area_contains(struct sv dir, struct sv path);
bool area_strictly_contains(struct sv dir, struct sv path);
/* "/a/b" of "/a/b/c"; "/" of "/a". */
struct sv area_parent(struct sv path);
struct sv area_base(struct sv path);

struct area *area_add(struct builder *b, enum area_kind kind, struct sv path,
		      struct sv why);
/* Opens path on the host, all links followed, and fills in what it is called
 * in truth, its identity and owner.  -1 with errno in e->code. */
must_check int area_resolve(struct builder *b, struct sv path,
			    struct area *ret, struct err *e);
/* A read area for what path names, and the links that lead to it. */
must_check int area_add_named(struct builder *b, enum area_kind kind,
			      bool write, struct sv path, struct sv why,
			      struct err *e);

/* fd is still what the area was: what is looked through is what is shown. */
must_check int area_check(const struct area *area, int fd, struct err *e);

/* Sorts, joins equal paths, and marks what is redundant. */
void areas_settle(struct builder *b);
/* The innermost area with a mount of its own (not redundant) that contains
 * path, or NULL.  After areas_settle(). */
const struct area *areas_find(const struct builder *b, struct sv path);
/* The innermost one that strictly contains it. */
const struct area *areas_around(const struct builder *b, struct sv path);

#endif
