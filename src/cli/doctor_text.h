/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `stockade doctor` for a person: on a terminal its lines end
 * where the terminal does, in a file or a pipe each thing has one line. */
#ifndef CLI_DOCTOR_TEXT_H
#define CLI_DOCTOR_TEXT_H

#include "buf.h"

/* Of standard output; 0 when that is no terminal. */
size_t doctor_width(void);

/* One thing, what came of it, and what helps (or NULL). */
void doctor_put(struct buf *b, size_t width, const char *name,
		const char *state, const char *detail, const char *remedy);

#endif
