/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts of a limit: 64M, 90s, 1.5 or 500, kept exactly and printed in the
 * largest unit in which they are whole. */
#ifndef POLICY_AMOUNT_H
#define POLICY_AMOUNT_H

#include "buf.h"

enum unit { UNIT_TIME = 1, UNIT_BYTES, UNIT_COUNT, UNIT_CORES };

#define KIB UINT64_C(1024)
#define MIB (KIB << 10)
#define TIB (MIB << 20)
#define DAY_MS UINT64_C(86400000)

/* Milliseconds, bytes, a number, or thousandths of a processor. */
bool amount_parse(struct sv v, enum unit unit, uint64_t *ret);
void amount_put(struct buf *b, enum unit unit, uint64_t amount);

#endif
