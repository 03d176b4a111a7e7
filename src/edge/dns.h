/* SPDX-License-Identifier: Apache-2.0 */
/* Name service: synthetic addresses over UDP, and over captured TCP. */
#ifndef EDGE_DNS_H
#define EDGE_DNS_H

#include "conn.h"

must_check int dns_start(struct edge *g, int fd, struct err *e);
/* A captured connection to port 53. */
bool dns_step(struct conn *c);

#endif
