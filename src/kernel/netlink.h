/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of the sandbox, by raw rtnetlink: `lo` alone, up, with one
 * address of each family, and routes that call every address local, so that
 * each connection to anywhere arrives at a listener in this namespace.
 */
#ifndef KERNEL_NETLINK_H
#define KERNEL_NETLINK_H

#include "err.h"

/* The box's own addresses; also the source of what it sends. */
#define NETLINK_BOX_IPV4 { 10, 111, 0, 2 }
#define NETLINK_BOX_IPV6 { 0xfd, 0, 1, 0x11, [15] = 2 }

/* In the calling thread's network namespace, with CAP_NET_ADMIN over it.
 * Only for a namespace of our own: it swallows all routes. */
must_check int netlink_capture(struct err *e);

#endif
