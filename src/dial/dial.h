/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stockade-dial holds: its channels, and TLS.
 */
#ifndef DIAL_DIAL_H
#define DIAL_DIAL_H

#include "channel.h"
#include "client.h"

struct dial {
	struct loop *loop;
	struct channel warden;
	struct channel resolve;	/* open from DIAL_START on */
	struct channel vault;	/* open only where a policy has secrets */
	struct tls_client *tls;
};

/* To warden; what cannot be sent ends the process. */
void dial_report(struct dial *d, const struct msg *m);

#endif
