/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store of trusted certificates as Java reads it: PKCS #12 (RFC 7292) with
 * one certificate in each bag, nothing encrypted and no MAC.
 *
 * DER has lengths before what they count, and the outermost counts everything:
 * the bags are collected first, and pkcs12_head() is what comes before them.
 */
#ifndef LAUNCH_PKCS12_H
#define LAUNCH_PKCS12_H

#include "buf.h"

enum { PKCS12_HEAD_MAX = 96 };

/* A bag for each certificate of a PEM text; what is no certificate is left out.
 * False: no room. */
bool pkcs12_put_pem(struct buf *bags, struct sv pem);
/* What comes before n bytes of bags. */
void pkcs12_head(struct buf *head, size_t n);

#endif
