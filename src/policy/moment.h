/* SPDX-License-Identifier: Apache-2.0 */
/* A moment as RFC 3339 writes it, to the second: 2026-12-31T18:00:00Z, or with an
 * offset in place of the Z.  Kept as seconds since 1970, printed in UTC. */
#ifndef POLICY_MOMENT_H
#define POLICY_MOMENT_H

#include "buf.h"

/* False for what is none, and for one that is not from 1970 to 9999 in UTC. */
bool moment_parse(struct sv v, uint64_t *ret);
void moment_put(struct buf *b, uint64_t moment);

#endif
