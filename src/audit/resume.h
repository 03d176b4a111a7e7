/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to the trail of a run that is over: what became of its changes. */
#ifndef AUDIT_RESUME_H
#define AUDIT_RESUME_H

#include "trail.h"

/*
 * Opens the trail of that run behind its last record, once all of it was
 * verified, or begins it where there is none any more.  The caller sees to it
 * that nobody else writes to it, and calls trail_close(), also after a failure.
 */
must_check int resume_trail(const char *id, struct trail *ret, struct err *e);

#endif
