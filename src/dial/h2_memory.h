/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is wiped when nghttp2 gives it back. */
#ifndef DIAL_H2_MEMORY_H
#define DIAL_H2_MEMORY_H

#include <nghttp2/nghttp2.h>

nghttp2_mem *h2_memory(void);

#endif
