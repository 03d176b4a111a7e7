/* SPDX-License-Identifier: Apache-2.0 */
/* Text for a person: on a terminal its lines end between words; in a file or a
 * pipe they are what they are, for programs that look for something in them. */
#ifndef CLI_WRAP_H
#define CLI_WRAP_H

#include "buf.h"

/* Of the terminal that fd is; 0 when it is none, or does not know. */
size_t wrap_width(int fd);

/* Words up to the width (0: all on one line), the lines after the first `indent`
 * columns in, as the first is already; what is not to be shown as it is, is
 * escaped.  No line break at the end. */
void wrap_put(struct buf *b, size_t width, size_t indent, struct sv text);

#endif
