/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, section 4) and hexadecimal. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "buf.h"

/* 0 to 63; -1: no digit. */
int base64_value(char c);
void buf_put_base64(struct buf *b, struct sv v);
/* Strict: padded, no white space, no stray bits.  False leaves b as it was. */
bool buf_put_unbase64(struct buf *b, struct sv v);
void buf_put_hex(struct buf *b, struct sv v);	/* lower case */

#endif
