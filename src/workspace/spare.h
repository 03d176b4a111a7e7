/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The empty directories of a run that has held nothing, for the next one.
 *
 *	STORE/.spare/0/upper
 *	STORE/.spare/0/work
 *
 * To make and remove a directory takes a disk's file system a quarter of a
 * millisecond, and a run has four.
 */
#ifndef WORKSPACE_SPARE_H
#define WORKSPACE_SPARE_H

#include "held.h"

/* Gives them that name, if there are any; nobody else has them then. */
bool spare_take(int store_fd, const char *id);
/* Leaves those of h.  false when they are not as new, or there are some already:
 * then they are to be removed. */
bool spare_give(const struct held *h);

#endif
