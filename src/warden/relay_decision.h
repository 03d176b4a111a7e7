/* SPDX-License-Identifier: Apache-2.0 */
/* edge asks whether a connection is one whose bytes are not read. */
#ifndef WARDEN_RELAY_DECISION_H
#define WARDEN_RELAY_DECISION_H

#include "warden.h"

/* Decides, records, and has dial connect; answers edge by a VERDICT. */
must_check int relay_on_open(struct warden *w, const struct msg_OPEN *m,
			     struct err *e);

/* EDGE_START's `relays`: for which ports it is worth asking. */
void relay_put_hints(const struct policy *p, struct buf *b);

#endif
