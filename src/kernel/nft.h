/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One nf_tables rule, by a raw nfnetlink batch: every TCP connection to an
 * address that is neither loopback nor the box's own goes to one listener.
 *
 * The listener, made in the same namespace before its capabilities go:
 *
 *	socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
 *	IPV6_V6ONLY 0; SOL_IPV6/IPV6_TRANSPARENT 1; SOL_IP/IP_TRANSPARENT 1
 *	bind [::]:PORT; listen
 *
 * One such dual-stack socket serves both families.  getsockname() on what it
 * accepts is the address that the agent dialled, IPv4 as ::ffff:a.b.c.d.
 *
 * UDP is not redirected (an answer would need a socket with the original
 * port): a wildcard socket on port 53 takes the DNS queries, and everything
 * else meets no listener and is refused at once.
 */
#ifndef KERNEL_NFT_H
#define KERNEL_NFT_H

#include <stdint.h>

#include "err.h"

enum { NFT_CAPTURE_PORT = 15001 };

/* ERR_UNSUPP without nf_tables or its tproxy expression (4.19). */
must_check int nft_capture(uint16_t port, struct err *e);
/* Behind it: connections to that port of the loopback, 127.0.0.1 and ::1, go
 * there as well, whoever listens at it. */
must_check int nft_capture_local(uint16_t local, uint16_t port, struct err *e);

#endif
