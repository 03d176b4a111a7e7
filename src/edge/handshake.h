/* SPDX-License-Identifier: Apache-2.0 */
/* TLS on a connection of the agent, up to its first request. */
#ifndef EDGE_HANDSHAKE_H
#define EDGE_HANDSHAKE_H

#include "conn.h"

/* The first byte of a ClientHello is there. */
void handshake_start(struct conn *c);
bool handshake_step(struct conn *c);
/* After a connection failed or was cut: was it our certificate? */
void handshake_note_distrust(struct conn *c);
/* CERTIFICATE, for all connections that wait for that name. */
int handshake_on_vault(struct channel *c, struct msg *m, struct err *e);
void handshake_on_vault_closed(struct channel *c, const struct err *e);

#endif
