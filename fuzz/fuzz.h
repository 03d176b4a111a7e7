/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every fuzz target shares: its entry, the checks that end it, and a
 * reader that takes decisions off the front of the input.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that must hold for every input. */
#define MUST(condition)                                                      \
	do {                                                                 \
		if (!(condition)) {                                          \
			(void)fprintf(stderr, "%s:%d: not true: %s\n",       \
				      __FILE__, __LINE__, #condition);       \
			abort();                                             \
		}                                                            \
	} while (0)

static inline struct sv fuzz_input(const uint8_t *data, size_t size)
{
	return sv_of((const char *)data, size);
}

/* One byte off the front, 0 when there is none. */
static inline uint8_t fuzz_byte(struct sv *in)
{
	uint8_t byte;

	if (in->n == 0)
		return 0;
	byte = (uint8_t)in->p[0];
	*in = sv_from(*in, 1);
	return byte;
}

#endif
