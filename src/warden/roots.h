/* SPDX-License-Identifier: Apache-2.0 */
/* Handing dial what upstream TLS may trust. */
#ifndef WARDEN_ROOTS_H
#define WARDEN_ROOTS_H

#include "warden.h"

/* dial starts with the first request: what is missing is said before. */
must_check int roots_check(const struct policy *p, struct err *e);
/* Sends a ROOTS message for each file; before DIAL_START. */
must_check int roots_send(struct warden *w, struct err *e);

#endif
