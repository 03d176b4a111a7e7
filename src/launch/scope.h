/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group of one's own, from systemd.
 *
 * On a machine with control groups of version 2 an ordinary user may divide only
 * what he was given: the user's service manager has a part of the tree, and
 * makes a scope of it for who asks (org.freedesktop.systemd1(5),
 * StartTransientUnit).  Root asks the system's.
 */
#ifndef LAUNCH_SCOPE_H
#define LAUNCH_SCOPE_H

#include "err.h"

/* Moves this process, and nobody else, into a scope that is the user's to
 * divide; it vanishes with its last process.  ERR_UNSUPP with the reason where
 * there is no service manager, or it will not. */
must_check int scope_enter(struct err *e);

#endif
