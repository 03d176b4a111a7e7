/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), for the audit chain: the CLI links no OpenSSL. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include "sv.h"

enum { SHA256_SIZE = 32 };

void sha256(struct sv v, uint8_t ret[SHA256_SIZE]);

#endif
