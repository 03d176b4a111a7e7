/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities: giving all of them up, in a way that cannot be undone. */
#ifndef KERNEL_CAPS_H
#define KERNEL_CAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

/*
 * Empties the ambient, bounding, inheritable, permitted and effective sets,
 * and locks securebits so that uid 0 means nothing (where CAP_SETPCAP allows;
 * without it the bounding set cannot grow back through exec anyway, because
 * no_new_privs is set here too).
 */
must_check int caps_drop_all(struct err *e);
/* The same, but for those in `mask` (1 << CAP_*), which are there and stay. */
must_check int caps_drop_others(uint64_t mask, struct err *e);
must_check int caps_no_new_privs(struct err *e);

/* Takes an id for good, with no supplementary groups.  Before caps_drop_all();
 * needs CAP_SETUID and CAP_SETGID. */
must_check int caps_become(uid_t uid, gid_t gid, struct err *e);

/* Is this capability (CAP_*) effective now? */
bool caps_have(int cap);

#endif
