/* SPDX-License-Identifier: Apache-2.0 */
/* The explicit proxy, proxy.stockade:3128. */
#ifndef EDGE_PROXY_H
#define EDGE_PROXY_H

#include "call.h"

/* CONNECT: answers it, and what follows must be TLS or HTTP for that host. */
void proxy_connect(struct call *call);
/* Its answer, which nothing is said before. */
void proxy_put_established(struct conn *c);
/* Absolute form: the connection is for the request's host from now on; -1
 * without memory. */
must_check int proxy_retarget(struct call *call);

#endif
