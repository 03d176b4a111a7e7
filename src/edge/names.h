/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic addresses: the only answer that a name ever gets inside.
 *
 * Name number i is 198.18.0.0 + i and fd53:746f:636b::i for the whole run, so
 * that the address of a captured connection says which name was meant, for any
 * protocol.  A number is never given to another name.
 */
#ifndef EDGE_NAMES_H
#define EDGE_NAMES_H

#include "err.h"
#include "sv.h"

enum {
	NAMES_MAX = 65000,	/* of the 131072 addresses of 198.18.0.0/15 */
	NAMES_PROXY = 1,	/* the number of proxy.stockade */
	NAMES_PROXY_PORT = 3128,
};

struct names;

struct names *names_new(struct err *e);
void names_free(struct names *n);

/* localhost and everything below it: the sandbox's own loopback. */
bool name_is_localhost(struct sv name);

/* The number of a canonical name (target.h), a new one if need be; 0 when full. */
uint32_t names_number(struct names *n, struct sv name);
/* The name with that number; .p is NULL when it was never given out. */
struct sv names_get(const struct names *n, uint32_t number);

void names_v4(uint32_t number, uint8_t ret[4]);
void names_v6(uint32_t number, uint8_t ret[16]);
/* The number that an address stands for, 0 when it is outside the ranges. */
uint32_t names_of_v4(const uint8_t a[4]);
uint32_t names_of_v6(const uint8_t a[16]);

#endif
