/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for what nobody else may see: pages of its own that are locked, left out
 * of core dumps and of children, and wiped. */
#ifndef KERNEL_LOCKED_H
#define KERNEL_LOCKED_H

#include <stddef.h>

#include "err.h"

/* The pages that n bytes take, in bytes. */
size_t locked_size(size_t n);
/* That many zero bytes at least; NULL with ERR_SYS where they cannot be locked. */
char *locked_new(size_t n, struct err *e);
/* Wipes; n as above, or less where the rest was given back.  Accepts NULL. */
void locked_free(char *p, size_t n);

#endif
