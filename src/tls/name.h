/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a certificate is made or checked for. */
#ifndef TLS_NAME_H
#define TLS_NAME_H

#include "sv.h"

/*
 * A DNS name in the one form that is compared anywhere: lower case letters,
 * digits, hyphens and underscores, labels of 1 to 63 bytes, 253 in all, no
 * final dot, no wildcard, and not an address.
 */
bool name_is_canonical(struct sv name);

#endif
