/* SPDX-License-Identifier: Apache-2.0 */
/* Handing dial what upstream TLS may trust. */
#ifndef WARDEN_ROOTS_H
#define WARDEN_ROOTS_H

#include "warden.h"

/* Sends a ROOTS message for each file; before DIAL_START. */
must_check int roots_send(struct warden *w, struct err *e);

#endif
