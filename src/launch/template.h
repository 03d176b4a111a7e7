/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /etc and /dev of every sandbox have in common, kept on the disk.
 *
 * Some forty small files, links and empty places are the same in every run of
 * a user.  The first run makes them, in a directory whose name is a hash of
 * all that went into it; the others mount it, read-only.  When a file of the
 * host's /etc changes, or the plan, the name is another one: nothing that a
 * running sandbox shows is ever changed.
 */
#ifndef LAUNCH_TEMPLATE_H
#define LAUNCH_TEMPLATE_H

#include "builder.h"

/* Which file it is, and which version of it, as bytes in `ret`: others when
 * anything was written to it.  What a COPY step has as its source. */
enum { TEMPLATE_VERSION_SIZE = 7 * sizeof(uint64_t) };
struct stat;
struct sv template_version(const struct stat *st,
			   char ret[TEMPLATE_VERSION_SIZE]);

/*
 * Makes the template, if it is not in the store yet, the source of the steps
 * TEMPLATE, and marks those that it saves: what is STEP_READY is not applied,
 * what is STEP_PLACED has its place.  After areas_mount().
 */
must_check int template_plan(struct builder *b, struct err *e);

#endif
