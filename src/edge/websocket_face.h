/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WebSocket over HTTP/1: the answer that opens it, behind which the connection is
 * carried as a relay is.
 */
#ifndef EDGE_WEBSOCKET_FACE_H
#define EDGE_WEBSOCKET_FACE_H

#include "face.h"

/* The origin has switched.  May end the connection. */
void websocket_begin(struct call *call, struct http_response *r);

#endif
