/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange that becomes a WebSocket.
 *
 * The request goes out with a key of our own, and whoever answers 101 must have
 * read it: the accept value proves that it is no cache, and no server that was led
 * to say so.  Then the connection is handed to a relay, with what masks credentials
 * and what counts for limits.  Any other answer is a response as to every request.
 */
#ifndef DIAL_UPGRADE_H
#define DIAL_UPGRADE_H

#include "exchange.h"

/* Before credentials are put in: notes what is offered, and adds the key.  Where a
 * credential is used no extension is offered: what is compressed could not be
 * masked. */
must_check int upgrade_prepare(struct exchange *x, struct err *e);
/* The 101 is there, and `rest` came behind it.  On success the stream has a relay,
 * which the caller runs when it has freed the exchange. */
must_check int upgrade_switch(struct exchange *x, struct sv rest,
			      struct err *e);

#endif
