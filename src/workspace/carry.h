/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Held changes of a run whose upper layers are in memory (`limit workspace`).
 *
 *	STORE/ID/in-memory	that there is such a run: its ID
 *	STORE/ID/carried/	what is carried out, while it is not whole
 *	STORE/ID/whole/		the same, whole and on the disk
 *
 * To rename the one to the other is the moment from which on the changes are
 * held.  What is in `whole` then takes the place of what was held before.  Killed
 * before, nothing of the run is held, and what was is as it was; afterwards, the
 * next to come completes it.
 *
 *	first run	no `meta` until the end: there is nothing, or all
 *	continued	`meta` is that of the first run
 */
#ifndef WORKSPACE_CARRY_H
#define WORKSPACE_CARRY_H

#include "held.h"

/* From now on what is held is not all: the run's changes are in memory. */
must_check int carry_begin(const struct held *h, const char *run,
			   struct err *e);
/* What is held, into the empty file system layers_fd, as N/upper. */
must_check int carry_in(const struct held *h, int layers_fd, struct err *e);
/* Is nothing in the layers at all? */
bool carry_is_empty(const struct held *h, int layers_fd);
/* The other way.  Nothing writes there any more. */
must_check int carry_out(struct held *h, int layers_fd, struct err *e);
/* After a failure: it is on the disk and will be completed by the next. */
bool carry_is_whole(const struct held *h);
/* Nothing is carried out, and nothing whole: what was held is all again. */
must_check int carry_forget(const struct held *h, struct err *e);

/* Is there still something of such a run? */
bool carry_is_pending(int store_fd, const char *id);
/* After a run that was killed, with the store locked.  ret_run is that run. */
enum carry_end {
	CARRY_NOTHING = 0,	/* it is not over, or has just ended */
	CARRY_COMPLETED,
	CARRY_LOST,		/* a first run's directory is gone with it */
};
must_check int carry_recover(int store_fd, const char *id,
			     char ret_run[HELD_ID_MAX], struct err *e);

#endif
