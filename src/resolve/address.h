/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses and names of the internet may be dialled.
 *
 * An address is public only when no range of a table claims it, in itself or
 * by an IPv4 address that it carries inside (mapped, translated, tunnelled).
 * Pure: no system call.
 */
#ifndef RESOLVE_ADDRESS_H
#define RESOLVE_ADDRESS_H

#include <sys/socket.h>

#include "sv.h"

enum address_kind {
	ADDRESS_INVALID = 0,	/* not an IP address */
	ADDRESS_PUBLIC,		/* the only kind that may be dialled */
	ADDRESS_UNSPECIFIED,
	ADDRESS_LOOPBACK,
	ADDRESS_PRIVATE,
	ADDRESS_SHARED,		/* carrier-grade NAT */
	ADDRESS_LINK_LOCAL,
	ADDRESS_METADATA,	/* a cloud's: refused in every case */
	ADDRESS_MULTICAST,
	ADDRESS_BROADCAST,
	ADDRESS_DOCUMENTATION,
	ADDRESS_TRANSITION,	/* IPv4 in IPv6 and relays between them */
	ADDRESS_RESERVED,
	ADDRESS_OWN,		/* on an interface of this host */
};

enum { ADDRESS_TEXT = 64, ADDRESSES_MAX = 64 };

struct address {
	uint8_t n;		/* 4 or 16; 0: not an IP address */
	uint8_t bytes[16];
};

struct addresses {
	struct address v[ADDRESSES_MAX];
	size_t n;
};

/* An address of another family comes back with n == 0. */
struct address address_of(const struct sockaddr *sa);
/* text as inet_pton(3) takes it and nothing looser. */
struct address address_parse(struct sv text);
/* The socket address of a with that port; its length, 0 for none. */
socklen_t address_to_socket(const struct address *a, uint16_t port,
			    struct sockaddr_storage *ret);
/* For people: "10.0.0.5", "2001:db8::1". */
const char *address_text(const struct address *a, char ret[ADDRESS_TEXT]);

/* own: the addresses on this host's interfaces. */
enum address_kind address_judge(const struct address *a,
				const struct addresses *own);
/* Where a proxy can be that a person has named: also on this machine, and in its
 * network; never a cloud's metadata service. */
bool address_may_be_proxy(enum address_kind kind);
/* "private", "link-local", ... */
const char *address_kind_name(enum address_kind kind);

/* host is an address in any spelling that some resolver would take. */
bool address_is_literal(struct sv host);
/* A name that never means a public host: localhost, *.internal, ... */
bool address_name_is_special(struct sv host);

#endif
