/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every system call by name: what the kernel of this architecture has or had,
 * whether or not the agent may make it (filter.h).
 */
#ifndef KERNEL_CALLS_H
#define KERNEL_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sv.h"

struct call {
	uint16_t nr;
	/* Bit i: the kernel reads argument i as 32 bits, so that whatever is
	 * in its high half makes no difference. */
	uint8_t ints;
	char name[29];
};

/* NULL behind the last. */
const struct call *call_at(size_t i);
/* NULL when this architecture has none of that name. */
const struct call *call_named(struct sv name);
/* A call of another architecture. */
bool call_is_foreign(struct sv name);

#endif
