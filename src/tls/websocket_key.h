/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of a WebSocket (RFC 6455, 4), as far as it needs cryptography. */
#ifndef TLS_WEBSOCKET_KEY_H
#define TLS_WEBSOCKET_KEY_H

#include "err.h"
#include "sv.h"

enum { WEBSOCKET_KEY_SIZE = 24, WEBSOCKET_ACCEPT_SIZE = 28 };

/* A new key, of random bytes. */
must_check int websocket_make_key(char ret[WEBSOCKET_KEY_SIZE], struct err *e);
/* Sec-WebSocket-Accept for a key. */
must_check int websocket_accept(struct sv key, char ret[WEBSOCKET_ACCEPT_SIZE],
				struct err *e);

#endif
