/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink requests, built into one buffer and sent at once.
 *
 * Only the last request asks for an answer: the kernel handles a batch before
 * send() returns, and reports an error also of requests that did not ask.
 */
#ifndef KERNEL_NLMSG_H
#define KERNEL_NLMSG_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nlmsg {
	_Alignas(NLMSG_ALIGNTO) char bytes[4096];
	size_t n;
	size_t at;		/* of the request being built */
	uint32_t seq;
	bool full;
};

/* Starts a request with its family's own header. */
void nlmsg_begin(struct nlmsg *b, uint16_t type, uint16_t flags,
		 const void *header, size_t n);
void nlmsg_attr(struct nlmsg *b, uint16_t type, const void *data, size_t n);
void nlmsg_str(struct nlmsg *b, uint16_t type, const char *s);
/* nf_tables keeps its numbers in network order. */
void nlmsg_be32(struct nlmsg *b, uint16_t type, uint32_t value);
/* Attributes in attributes; returns what nlmsg_close() needs. */
size_t nlmsg_open(struct nlmsg *b, uint16_t type);
void nlmsg_close(struct nlmsg *b, size_t nest);

/*
 * Sends the batch to `protocol` and waits for the answer to the request that
 * has NLM_F_ACK.  On a refusal e->code is the kernel's errno and *failed, if
 * wanted, the number of the request, counted from 1.
 */
must_check int nlmsg_talk(int protocol, struct nlmsg *b, uint32_t *failed,
			  struct err *e);

#endif
